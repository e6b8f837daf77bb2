"""A judge writes the criteria of a row. Repeated criteria are refused, and so are criteria that do
not distinguish good texts from others.

kept, refused = write_criteria(CriteriaReward(judge), [(sample, "A dog runs.")])[0]
# a text on another row
kept, refused  # ["Says that it is red."], {"Names a thing.": "every text that was tried meets it"}
"""

from collections.abc import Sequence
from pathlib import Path

from spanreward.rewards.base.verdict import NotApplicable, Sample, Status
from spanreward.rewards.criteria.reward import CriteriaReward, ask_criterion
from spanreward.rewards.files.templates import read_texts
from spanreward.rewards.judges.judge import Failure, Question, answer_questions
from spanreward.rewards.pairwise.questions import beginning_of_prompt, shown_evidence
from spanreward.rewards.text.quoting import fill_masked, marks_in
from spanreward.rewards.text.written_list import WORD_BEHIND, read_list, without_list_signs

WRITING_PROMPTS = read_texts(None, Path(__file__).with_name("criteria_writing.yaml"))
MAX_CRITERIA_TOKENS = 384  # of an answer
RATING_NOT_MET = 3  # a criterion is met by a rating above this, as in the part `met`

KeptAndRefused = tuple[list[str], dict[str, str]]  # kept criteria; refused ones, with reasons


def write_criteria(
    reward: CriteriaReward, rows: Sequence[tuple[Sample, str]]
) -> list[KeptAndRefused | Failure]:
    """Returns the criteria that the judge writes for each row: the criteria that are kept, and the
    refused criteria with reasons. A row is a Failure if the row has no evidence, if the judge
    writes no list, or if a rating fails.

    rows: each sample with a reference of another row, or with "" if there is no such reference. To
    sift the criteria, the judge rates the row's references and the other row's reference by each
    criterion.
    """
    questions = [_writing_question(reward, sample) for sample, _ in rows]
    answers = answer_questions(reward.judge.write, questions, MAX_CRITERIA_TOKENS)
    written = []
    for answer, (sample, other) in zip(answers, rows, strict=True):
        written.append(_sift_criteria(reward, answer, sample, other))
    return written


def _writing_question(reward: CriteriaReward, sample: Sample) -> Question | Failure:
    """Returns the question that asks for a row's criteria; a Failure for a row without evidence."""
    try:
        evidence = shown_evidence(sample, reward.evidence)
    except NotApplicable as reason:
        return Failure(Status.NOT_APPLICABLE, str(reason))
    marks = marks_in(*reward.pair.values(), *WRITING_PROMPTS.values())
    template = WRITING_PROMPTS["reference"]
    pieces = []
    for reference in sample.references:
        pieces.append(fill_masked(template, marks, reference=without_list_signs(reference)))
    pieces.append(WRITING_PROMPTS["ask"])
    prompts = {**reward.pair, **WRITING_PROMPTS}
    before = beginning_of_prompt(WRITING_PROMPTS["instructions"], prompts, evidence)
    content = before + "\n\n".join(pieces)
    message = {"role": "user", "content": content}
    return Question([message], evidence.images)


def _sift_criteria(
    reward: CriteriaReward, answer: str | Failure, sample: Sample, other: str
) -> KeptAndRefused | Failure:
    """Returns the criteria in an answer that are kept, and the reason for each refused criterion.

    answer: the judge's answer; if it has no list of criteria, the result is a Failure. other: a
    reference of another row, or "".
    """
    if isinstance(answer, Failure):
        return answer
    texts = _listed_criteria(answer)
    if texts is None:
        return Failure(Status.UNPARSED, f"the judge wrote no list of criteria: {answer[:80]!r}")
    criteria = _without_repeated(texts)
    refused = {text: "it is there already" for text in texts if text not in criteria}
    # The texts by which each criterion is tried: the row's references, and then the other row's
    # reference.
    references = list(dict.fromkeys(sample.references))
    tried = list(references)
    is_another_text = other != "" and other not in references
    if references and is_another_text:
        tried.append(other)
    met_by_criterion = _met_by_texts(reward, sample, criteria, tried)
    if isinstance(met_by_criterion, Failure):
        return met_by_criterion
    for criterion, met_by_tried in zip(criteria, met_by_criterion, strict=True):
        reason = _why_refused(met_by_tried, len(references))
        if reason:
            refused[criterion] = reason
    good = [criterion for criterion in criteria if criterion not in refused]
    return good, refused


def _met_by_texts(
    reward: CriteriaReward,
    sample: Sample,
    criteria: Sequence[str],
    texts: Sequence[str],
) -> list[list[bool]] | Failure:
    """Returns for each criterion a list: for each text, whether the text meets the criterion by the
    judge's rating. If a rating fails, the result is its Failure.

    Example: [[True, False]] if the first of two texts meets the only criterion.

    sample: the row, whose picture or context the judge sees.
    """
    evidence = shown_evidence(sample, reward.evidence)
    questions: list[Question] = []
    for criterion in criteria:
        for text in texts:
            questions.append(ask_criterion(reward.prompts, reward.pair, evidence, text, criterion))
    met: list[bool] = []
    for rating in reward.judge.rate(questions):
        if isinstance(rating, Failure):
            return rating
        met.append(rating.mean > RATING_NOT_MET)
    met_by_criterion = []
    for number in range(len(criteria)):
        start = number * len(texts)  # the criterion's first answer in `met`
        met_by_criterion.append(met[start : start + len(texts)])
    return met_by_criterion


def _listed_criteria(answer: str) -> list[str] | None:
    """Returns the criteria in a judge's answer, or None if the answer is no list of texts with
    words. '["Says red.", "Says oak."]' gives ["Says red.", "Says oak."].
    """
    texts = read_list(answer)
    if not texts:
        return None
    for text in texts:
        if not isinstance(text, str) or not WORD_BEHIND.search(text):
            return None
    return texts


def _without_repeated(texts: Sequence[str]) -> list[str]:
    """Returns the criteria without those that differ from an earlier one only in punctuation and
    capitals. ["Says red.", "says RED"] gives ["Says red."].
    """
    first_by_words: dict[str, str] = {}
    for text in texts:
        words = " ".join(WORD_BEHIND.findall(text.casefold()))
        first_by_words.setdefault(words, text)
    return list(first_by_words.values())


def _why_refused(met_by_tried: Sequence[bool], reference_count: int) -> str:
    """Returns the reason why a criterion is refused, or "" for a criterion that is kept.

    A criterion is refused if no reference meets it, or if all of the tried texts meet it: such a
    criterion does not distinguish good texts from others. Without a reference nothing is tried, and
    every criterion is kept.

    met_by_tried: for each tried text, whether it meets the criterion. The references come first.
    """
    if met_by_tried and not any(met_by_tried[:reference_count]):
        return "no reference meets it"
    if len(met_by_tried) > 1 and all(met_by_tried):
        return "every text that was tried meets it"
    return ""
