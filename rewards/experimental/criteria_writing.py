"""A judge writes the criteria of a row. Refused are repeated ones, and those that tell no text from
another.

kept, refused = write_criteria(CriteriaReward(judge), [(sample, "A dog runs.")])[0]
# a text on another row
kept, refused  # ["Says that it is red."], {"Names a thing.": "every text that was tried meets it"}
"""

from collections.abc import Sequence
from pathlib import Path

from spanreward.rewards.base.verdict import NotApplicable, Sample, Status
from spanreward.rewards.criteria.reward import CriteriaReward, ask_criterion
from spanreward.rewards.files.templates import read_texts
from spanreward.rewards.judges.judge import Failure, Question, Rating, answered
from spanreward.rewards.pairwise.questions import head, show
from spanreward.rewards.text.quoting import fill_masked, marks_in
from spanreward.rewards.text.written_list import WORD_BEHIND, read_list, unlisted

PROMPTS = read_texts(None, Path(__file__).with_name("criteria_writing.yaml"))
TOKENS = 384  # of an answer, at most
MET = 3  # ratings above it, as in the part `met`

Written = tuple[list[str], dict[str, str]]  # the criteria that are kept, and why the others are not


def write_criteria(
    reward: CriteriaReward, rows: Sequence[tuple[Sample, str]]
) -> list[Written | Failure]:
    """Returns the criteria of each row. rows: each with a reference of another row, "" where there
    is none.

    Where a row has references, the judge rates them, and the other row's, by each criterion.
    """
    questions = [_question(reward, sample) for sample, _ in rows]
    answers = answered(reward.judge.write, questions, TOKENS)
    return [_sifted(reward, answer, *row) for answer, row in zip(answers, rows, strict=True)]


def _question(reward: CriteriaReward, sample: Sample) -> Question | Failure:
    try:
        shown = show(sample, reward.evidence)
    except NotApplicable as reason:
        return Failure(Status.NOT_APPLICABLE, str(reason))
    marks = marks_in(*reward.pair.values(), *PROMPTS.values())
    pieces = []
    for reference in sample.references:
        pieces.append(fill_masked(PROMPTS["reference"], marks, reference=unlisted(reference)))
    pieces.append(PROMPTS["ask"])
    before = head(PROMPTS["instructions"], {**reward.pair, **PROMPTS}, shown)
    content = before + "\n\n".join(pieces)
    return Question([{"role": "user", "content": content}], shown.images)


def _sifted(
    reward: CriteriaReward, answer: str | Failure, sample: Sample, other: str
) -> Written | Failure:
    if isinstance(answer, Failure):
        return answer
    texts = read_list(answer)
    if not texts or not all(isinstance(text, str) and WORD_BEHIND.search(text) for text in texts):
        return Failure(Status.UNPARSED, f"the judge wrote no list of criteria: {answer[:80]!r}")
    words = {" ".join(WORD_BEHIND.findall(text.casefold())): text for text in reversed(texts)}
    criteria = [text for text in dict.fromkeys(texts) if text in words.values()]
    refused = {text: "it is there already" for text in texts if text not in criteria}
    own, shown = dict.fromkeys(sample.references), show(sample, reward.evidence)
    tried = [*own, *({other} - {"", *own})] if own else []
    asked = [
        ask_criterion(reward.prompts, reward.pair, shown, text, one)
        for one in criteria
        for text in tried
    ]
    ratings = reward.judge.rate(asked)
    if failed := next((rating for rating in ratings if isinstance(rating, Failure)), None):
        return failed
    met = (rating.mean > MET for rating in ratings if isinstance(rating, Rating))
    for one in criteria:
        meets = [next(met) for _ in tried]
        if tried and not any(meets[: len(own)]):
            refused[one] = "no reference meets it"
        elif len(tried) > 1 and all(meets):
            refused[one] = "every text that was tried meets it"
    return [one for one in criteria if one not in refused], refused
