"""LAVE as a reward: rates how right an answer to a visual question is, given several people's
answers.

    reward = LaveReward(MatchJudge())
    asked = "What color is it?"
    sample = Sample(asked, "Answer: dark red", question=asked, answers=("red",) * 10)
    verdict = reward.assess([sample])[0]
    verdict.score, verdict.parts["rating"], verdict.spans[0].note  # 1.0, 3.0, the judge's rationale

The judge writes a rationale and a rating from 1 to 3. With rationale=False the judge only rates,
which takes one token instead of about thirty. The candidate is the answer in the completion
(`find_answer`). The candidate becomes the verdict's span, whose credit is the whole score. A judge
with a short context may read only the first part of the candidate. The rest then counts as wrong. A
judge that writes a rationale does not report that it read only a part.

A completion without an answer is EMPTY with score 0. A rationale that does not end in a rating is
UNPARSED. A row without a question or without answers is NOT_APPLICABLE.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple

from spanreward.rewards.base.checks import MODES, Mode, check_choice
from spanreward.rewards.base.cost import Cost, tokens_in
from spanreward.rewards.base.verdict import Sample, Span, Status, Unread, Verdict
from spanreward.rewards.judges.by_name import as_judge
from spanreward.rewards.judges.judge import Failure, Judge, Question, Rating
from spanreward.rewards.judges.probe import AnswerProbe
from spanreward.rewards.judges.written_rating import find_written_rating
from spanreward.rewards.language.answer_text import normalise_answer
from spanreward.rewards.language.answer_tokens import comparable_form, shown_answer
from spanreward.rewards.lave.answer import PUBLISHED_RULES, find_answer
from spanreward.rewards.lave.compared import found_answer, label_of, options_for, with_option
from spanreward.rewards.lave.options import options_written
from spanreward.rewards.lave.prompts import (
    RATINGS,
    LaveExample,
    candidate_in,
    load_lave_prompts,
    quoted_line,
)
from spanreward.rewards.reward.answer_cache import AnswerCache, Rated
from spanreward.rewards.reward.plain_text_reward import PlainTextReward, unread_outside
from spanreward.rewards.text.filler import (
    Filler,
    find_filler,
    penalise_filler,
    text_beside_completion,
)
from spanreward.rewards.text.judged_part import check_part
from spanreward.rewards.text.length import judged_length
from spanreward.rewards.text.padding import find_padding
from spanreward.rewards.text.written import Reading, read_text

RATING_ENTRIES = tuple(map(str, RATINGS))
RATIONALE_TOKENS = {"default": 128, "published": 100}  # most tokens of a rationale
PEOPLE_OF_ROW = 10  # answers of a row, as `cost` assumes; VQAv2 has 10
OUTSIDE_ANSWER = "outside the answer"  # the kind of unread text around the answer
CANDIDATE_CHARACTERS = 500  # longest candidate; the rest counts as wrong
_RATING_END = r"[\s*_'\"`.!)\]]*\Z"
_SIGNED_RATING = re.compile(rf"rating[\s*_]*[=:][\s*_'\"`]*([123]){_RATING_END}", re.IGNORECASE)
_UNSIGNED_RATING = re.compile(rf"(\brating(?:\s+is)?\W+([123])){_RATING_END}", re.IGNORECASE)
# [^\n] keeps many line breaks from taking quadratic time
_RATING_ALONE = re.compile(rf"(?:\A|\n)[^\w\n]*(([123])){_RATING_END}")
# A rating with a sign ("rating=3"), which a candidate cannot have after `quoted_line`.
_BEGINS_SIGNED = re.compile(r"\Arating[\"\s*_]*[=:]", re.IGNORECASE)
_NEXT_EXAMPLE = re.compile(r"\n[^\S\n]*(?:Question|Image description):")


class CandidateRange(NamedTuple):
    """The characters of a candidate in the completion.

    Attributes:
        start: where the candidate starts.
        read: where the part that the judge is shown ends, start <= read <= end.
        end: where the candidate ends.
    """

    start: int
    read: int
    end: int


@dataclass(frozen=True, slots=True)
class CandidateQuestion:
    """A question for the judge, and the candidate's characters [start, end) in the completion.

    Args:
        question: the question for the judge.
        start: where the candidate starts.
        read: where the part that the judge is shown ends, start <= read <= end.
        end: where the candidate ends.
        quoted: the shown part in the form that the judge sees (`quoted_line`).
    """

    question: Question
    start: int
    read: int
    end: int
    quoted: str


@dataclass(frozen=True, slots=True)
class People:
    """People's answers to the question of a row.

    Args:
        answers: all answers except blank answers.
        references: the answers that count, with repeats (`keep_references`).
        options: the question's options, by label; {} if the answers name no options.
        texts: the references in the form for a judge that reads text, such as "A (a kettle)".
        labels: the references in the form that `match` compares, such as "A".
    """

    answers: list[str]
    references: list[str]
    options: dict[str, str]
    texts: tuple[str, ...]
    labels: tuple[str, ...]


class LaveReward(PlainTextReward):
    """Reward that scores an answer with LAVE (LAVE, section 4). Needs the dataset columns
    `question` and `answers`.

    Args:
        judge: the judge that rates the answer from 1 to 3.
        rationale: whether the judge writes a reason before the rating, as published. False reads
            only the rating's token and takes the likeliest rating.
        smooth: with rationale=False, whether the rating is the expectation over the three ratings
            instead of the likeliest rating.
        demonstrations: a YAML file or the same data. None takes our own file.
        prompts: a file like prompts.yaml. None takes our own file.
        filter_references: a share from 0 to 1. An answer is dropped if its count is less than this
            share of the count of the most frequent answer. An answer at exactly this share is kept
            in default mode. 0 keeps all.
        candidate: "answer" rates the answer in the completion (`find_answer`), up to
            CANDIDATE_CHARACTERS of it. "whole" rates the judged part of the completion
            (rewards/text/length.py).
        evidence: "context" shows the judge the row's `context`, a description of the picture, if
            the row has a context. "none" does not. None is "context" in default mode. In published
            mode None is "none", as in the paper's final method (section 5.4).
        mode: "default" penalises filler anywhere in the completion (rewards/text/filler.py).
            "published" does not, counts references as the published code does (`keep_references`),
            and gives a rationale 100 tokens, not 128.
        name: the reward's name in logs.
        judged_part: a tag, a JSON key or /a regular expression/ (rewards/text/judged_part.py): only
            the answer in this part of a completion is judged.

    Raises:
        ValueError: smooth with a rationale, a filter_references outside [0, 1], another invalid
            option, or an invalid file of prompts or demonstrations.
        OSError: a file that cannot be read.
    """

    columns = ("question", "answers")
    main_parts = ("score",)

    def __init__(
        self,
        judge: Judge | str,
        *,
        rationale: bool = True,
        smooth: bool = False,
        demonstrations: str | Path | Mapping[str, Any] | None = None,
        prompts: str | Path | None = None,
        filter_references: float = 0.25,
        candidate: Literal["answer", "whole"] = "answer",
        evidence: Literal["context", "none"] | None = None,
        mode: Mode = "default",
        name: str = "lave",
        judged_part: str | None = None,
    ) -> None:
        super().__init__(name)
        self.judged_part = check_part(judged_part)
        if smooth and rationale:
            raise ValueError(
                "smooth=True reads the rating token's distribution, so it needs rationale=False"
            )
        _check_share(filter_references)
        check_choice("candidate", candidate, ("answer", "whole"))
        if evidence is not None:
            check_choice("evidence", evidence, ("context", "none"))
        check_choice("mode", mode, MODES)
        self.mode = mode
        self.candidate = candidate
        self.evidence = evidence or ("context" if mode == "default" else "none")
        self.judge = as_judge(judge)
        self.judges = (self.judge,)
        self.rationale = rationale
        self.smooth = smooth
        self.filter_references = filter_references
        self.prompts = load_lave_prompts(demonstrations, prompts)
        texts = repr(self.prompts)
        self.wording = sha256(texts.encode()).hexdigest()[:16]
        self._answers = AnswerCache()

    def __getstate__(self) -> dict[str, Any]:
        """Returns the state to pickle, without the judge's answers in memory."""
        return {**self.__dict__, "_answers": AnswerCache()}

    def cost(self, words: float, references: int) -> Cost:
        """Returns the cost of one question.

        The arguments do not matter: the answer in a completion is short, however long the
        completion is.
        """
        answers = ("answer",) * PEOPLE_OF_ROW
        example = LaveExample("What is it that is seen?", answers, "answer", "")
        text = self.prompts.text(example, False, self.rationale)
        read = tokens_in(text)
        # an inference engine computes the text before the question once, because it never changes
        question_start = text.index(example.question)
        computed = tokens_in(text[question_start:])
        if not self.rationale:
            return Cost(1, read, 1, True, "one rating", computed)
        how = "a rationale with its rating, written"
        return Cost(1, read, RATIONALE_TOKENS[self.mode], True, how, computed)

    def _assess_whole(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns one Verdict per sample, from one call to the judge.

        Equal questions are asked once, also in later calls of this method.
        """
        people_of_rows: dict[tuple[Any, ...], People] = {}  # completions of a group share their row
        prepared: list[CandidateQuestion | Verdict] = []
        for sample in samples:
            row = (sample.question, sample.answers, *options_written(sample.columns))
            if row not in people_of_rows:
                people_of_rows[row] = self._people_of_row(sample)
            prepared.append(self._question_or_verdict(sample, people_of_rows[row]))
        questions = [entry.question for entry in prepared if isinstance(entry, CandidateQuestion)]
        self._answers.begin()
        answers = iter(self._answers.complete(questions, self._ask))
        # only the entries that are questions have an answer of the judge
        verdicts = []
        for sample, entry in zip(samples, prepared, strict=True):
            if isinstance(entry, Verdict):
                verdicts.append(entry)
            else:
                verdicts.append(self._verdict(sample, entry, next(answers)))
        return verdicts

    def _people_of_row(self, sample: Sample) -> People:
        """Returns people's answers to the row's question. All completions of the row are rated by
        these answers.
        """
        answers = [answer for answer in sample.answers if answer.strip()]
        references = keep_references(answers, self.filter_references, self.mode)
        options: dict[str, str] = {}
        if self.mode == "default" and references:
            options = options_for(references, sample.question or "", sample.columns)
        # each distinct answer is compared with the options once
        text_of_answer: dict[str, str] = {}
        label_of_answer: dict[str, str] = {}
        for answer in set(references):
            text_of_answer[answer] = with_option(answer, options)
            label_of_answer[answer] = label_of(answer, options)
        return People(
            answers,
            references,
            options,
            texts=tuple(text_of_answer[answer] for answer in references),
            labels=tuple(label_of_answer[answer] for answer in references),
        )

    def _question_or_verdict(self, sample: Sample, people: People) -> CandidateQuestion | Verdict:
        """Returns the question about a sample, or its verdict if there is nothing to ask.

        people: people's answers to the row's question.
        """
        question = sample.question or ""
        if not question.strip():
            return Verdict(None, Status.NOT_APPLICABLE, note="this row has no question")
        if not people.references:
            return Verdict(None, Status.NOT_APPLICABLE, note="this row has no answers")
        # the candidate, in the form that the judge sees
        start, read, end = self._candidate_range(sample.completion, people)
        candidate = sample.completion[start:read]
        if self.mode == "default":
            candidate = shown_answer(candidate)
        # true also for white space and invisible characters, which the judge cannot see
        if quoted_line(candidate) == quoted_line(""):
            note = "the completion holds no answer"
            return Verdict(0.0, Status.EMPTY, {"score": 0.0}, note=note)
        text = with_option(candidate, people.options, question)
        prompt = self._prompt(sample, people, text)
        # judges that read text use the prompt, and the judge `match` uses the labels
        label = label_of(candidate, people.options, question)
        to_judge = Question(
            [{"role": "user", "content": prompt}],
            probe=AnswerProbe(question, label, people.labels),
            description=candidate_in(prompt),
        )
        return CandidateQuestion(to_judge, start, read, end, quoted_line(text))

    def _prompt(self, sample: Sample, people: People, candidate: str) -> str:
        """Returns the prompt about a candidate, with the description of the picture if the row has
        one and `evidence` is "context".

        candidate: the answer to rate, with its option: "A (a kettle)".
        """
        context = ""
        if self.evidence == "context":
            context = sample.context or ""
        example = LaveExample(sample.question or "", people.texts, candidate, context)
        return self.prompts.text(example, is_binary(people.references), self.rationale)

    def _candidate_range(self, completion: str, people: People) -> CandidateRange:
        """Returns the range of the candidate in a completion, and where the part ends that the
        judge reads. The rest of a candidate that is too long is not read.

        The candidate is the answer in the completion, or with candidate="whole" the completion
        without the white space around it.

        people: people's answers to the row's question.
        """
        if self.candidate == "whole":
            start = len(completion) - len(completion.lstrip())
            end = len(completion.rstrip())
            longest_read = max(start, judged_length(completion))
            return CandidateRange(start, read=min(end, longest_read), end=end)
        if self.mode == "published":
            start, end = find_answer(completion, people.answers, PUBLISHED_RULES)
        else:
            start, end = found_answer(completion, people.answers, people.options)
        longest_read = start + CANDIDATE_CHARACTERS
        return CandidateRange(start, read=min(end, longest_read), end=end)

    def _ask(self, questions: list[Question]) -> Sequence[Any]:
        """Returns an answer per question: the judge's text with a rationale, otherwise a Rated. The
        answer is a Failure if the judge failed.
        """
        if self.rationale:
            return self.judge.write(questions, max_tokens=RATIONALE_TOKENS[self.mode])
        answers: list[Rated | Failure] = []
        for rating in self.judge.rate(questions, RATING_ENTRIES):
            if isinstance(rating, Rating):
                answers.append(Rated(self._rating_value(rating), rating.cut))
            else:
                answers.append(rating)
        return answers

    def _rating_value(self, rating: Rating) -> float:
        """Returns the expectation of the rating if `smooth`, otherwise the likeliest rating. Of
        equally likely ratings the lowest is returned.
        """
        if self.smooth:
            return rating.mean
        # the entries ascend, and `max` returns the first of equals
        likeliest = max(RATING_ENTRIES, key=lambda entry: rating.probabilities[entry])
        return float(likeliest)

    def _verdict(
        self, sample: Sample, candidate: CandidateQuestion, answer: str | Rated | Failure
    ) -> Verdict:
        """Returns the verdict on a sample. In default mode, filler in the completion lowers the
        score.

        answer: an entry of the result of `_ask`: a rating, or a rationale that ends in a rating.
        """
        if isinstance(answer, Failure):
            return Verdict(None, answer.status, note=answer.message)
        if isinstance(answer, Rated):
            # `read` is where the part that the judge read ends. The last `cut` characters did not
            # fit into the judge's context, so the judge did not read them.
            shortened = replace(candidate, read=candidate.read - answer.cut)
            note = f"rated {answer.value:.2f} of 3"
            verdict = _verdict_of(answer.value, note, shortened)
        else:
            if self.mode == "published":
                rating = read_published_rating(answer, candidate.quoted)
            else:
                rating = read_rating(answer, candidate.quoted)
            if rating is None:
                note = f"the judge's answer ends in no rating: ...{answer[-80:]!r}"
                return Verdict(None, Status.UNPARSED, note=note)
            verdict = _verdict_of(float(rating), answer.strip(), candidate)
        if self.mode == "published":
            return verdict
        verdict = replace(verdict, unread=tuple(unread_parts(sample.completion, candidate)))
        return _less_filler(verdict, sample)


def _check_share(share: Any) -> None:
    """Raises ValueError unless `share` is a number from 0 to 1."""
    if not isinstance(share, (int, float)) or not 0 <= share <= 1:
        raise ValueError(f"filter_references is a share from 0 to 1, got {share!r}")


def _less_filler(verdict: Verdict, sample: Sample) -> Verdict:
    """Returns the verdict after penalties for filler in the read text of the completion, and for
    padding.
    """
    text = sample.completion
    lowest = {"score": 0.0}
    reading = read_text(text, answers=True)
    # filler is searched in the text without markup, and spans are on the text as written
    filler = find_filler(reading.plain, text_beside_completion(sample), ends=False)
    as_written = _filler_as_written(filler, reading)
    # `penalise_filler` takes (characters of a piece) / length as the piece's share of the text. The
    # shares of all pieces must sum to `filler.share`, which was measured without markup. The pieces
    # have their markup, so the length of the text would give other shares.
    length = 1.0  # for no pieces
    if as_written.pieces:
        characters_of_filler = sum(end - start for start, end, _ in as_written.pieces)
        length = characters_of_filler / filler.share
    verdict = penalise_filler(verdict, length, as_written, lowest)
    padding = find_padding(text, reading.unread)
    if not padding.pieces:
        return verdict
    return penalise_filler(verdict, len(text), padding, lowest)


def _filler_as_written(filler: Filler, reading: Reading) -> Filler:
    """Returns the filler of a text without markup as pieces of the text as written. The share stays
    the same.

    filler: pieces [start, end) of `reading.plain`.
    """
    pieces = []
    for plain_start, plain_end, kind in filler.pieces:
        start, end = reading.written(plain_start, plain_end)
        pieces.append((start, end, kind))
    return Filler(filler.share, tuple(pieces))


def unread_parts(completion: str, candidate: CandidateQuestion) -> list[Unread]:
    """Returns the parts of a completion that the judge was not shown: the markup in the answer, and
    the text around the answer.

    The end of an answer that is too long was not shown either: the characters from `candidate.read`
    to `candidate.end`. These are already a span of the verdict (`_verdict_of`), so they are not
    listed.
    """
    before = unread_outside(completion, 0, candidate.start, OUTSIDE_ANSWER)
    markup = []
    shown = completion[candidate.start : candidate.read]
    for start, end, kind in read_text(shown).unread:
        markup.append(Unread(candidate.start + start, candidate.start + end, kind))
    behind = unread_outside(completion, candidate.end, len(completion), OUTSIDE_ANSWER)
    return before + markup + behind


def _verdict_of(rating: float, note: str, candidate: CandidateQuestion) -> Verdict:
    """Returns the verdict for a rating from 1 to 3.

    The unread part of a candidate counts as wrong, so it lowers the score: the rating 3 gives the
    score 0.8 if the judge read 80 of 100 characters. The read part then has the credit 1.0, and the
    unread part has the credit -0.2, so that the credits sum to the verdict's score.
    """
    score_of_read = (rating - 1) / 2
    score_of_read = min(max(score_of_read, 0.0), 1.0)
    characters_read = candidate.read - candidate.start
    score = score_of_read * characters_read / (candidate.end - candidate.start)
    read_part = Span(
        candidate.start,
        candidate.read,
        score=score_of_read,
        credit=score_of_read,
        kind="answer",
        note=note,
        component=0,
    )
    spans = [read_part]
    if candidate.read < candidate.end:
        unread_part = Span(
            candidate.read,
            candidate.end,
            score=0.0,
            credit=score - score_of_read,
            kind="unread",
            note=f"not judged: past {characters_read} characters",
            component=1,
        )
        spans.append(unread_part)
    parts = {"score": score, "rating": rating}
    return Verdict(score, parts=parts, spans=tuple(spans))


def keep_references(answers: Sequence[str], share: float, mode: Mode = "default") -> list[str]:
    """Returns the answers that enough people gave, sorted. The count of an answer must be at least
    `share` of the count of the most frequent answer. With share 0.25 and eight times "red", a
    single "crimson" is dropped. share 0 keeps all.

    Answers are compared in normalised form, or as written if that form is empty ("?"). Published
    mode compares answers as written. Published mode also drops an answer at exactly this share,
    unless no answer is more frequent.
    """
    forms = list(answers)
    if mode == "default":
        forms = [comparable_form(answer) or answer for answer in answers]
    # how often people gave the answer, in its form
    counts = Counter(forms)
    highest_count = max(counts.values(), default=0)
    floor = share * highest_count
    frequent = []
    for answer, form in zip(answers, forms, strict=True):
        count = counts[form]
        if mode == "default":
            is_frequent = count >= floor
        else:
            # with share 1, the highest count is not above the floor, but is kept
            is_frequent = count > floor or count == highest_count
        if is_frequent:
            frequent.append(answer)
    # sorted: rows whose answers differ only in order have the same prompt, which is asked once
    return sorted(frequent)


def is_binary(references: Sequence[str]) -> bool:
    """Whether yes or no is a most frequent reference. False without references."""
    counts = Counter(map(normalise_answer, references))
    if not counts:
        return False
    binary_count = max(counts["yes"], counts["no"])
    return binary_count == max(counts.values())


def read_rating(output: str, candidate: str = "") -> int | None:
    """Returns the rating at the end of the judge's output: 3 for "The people say red. So rating=3".
    Returns None if the output does not end in a rating.

    Ratings are read as from any judge (`find_written_rating`), but must be whole numbers. Another
    example that the judge adds behind its rating is not read.

    A rating that also occurs in the candidate may be a quotation of the candidate, so the rating
    does not count. A rating with a sign, as in "rating=3", always counts: `quoted_line` removes the
    sign from candidates.

    candidate: the candidate in the form that the judge saw (`quoted_line`).
    """
    answer = _NEXT_EXAMPLE.split(output, maxsplit=1)[0]
    written = find_written_rating(answer, RATING_ENTRIES)
    if written is None or not written.ends_text or written.entry not in RATINGS:
        return None
    words = answer[written.start : written.end]  # "rating=3"
    has_sign = _BEGINS_SIGNED.match(words.lstrip("\"'")) is not None
    is_in_candidate = words_in_lower_case(words) in words_in_lower_case(candidate)
    if is_in_candidate and not has_sign:
        return None
    return int(written.entry)


def read_published_rating(output: str, candidate: str = "") -> int | None:
    """Returns the rating at the end of the judge's output as published mode reads it. None without
    a rating.

    A rating with a sign, as in "rating=3" or "Rating: 3", always counts: `quoted_line` removes the
    sign from candidates. A rating without a sign is "Rating 3", "The rating is 3" or a last line
    "3". It does not count if it also occurs in the candidate, because the judge may have quoted the
    candidate. Another example that the judge adds behind its rating is not read.

    candidate: the candidate in the form that the judge saw (`quoted_line`).
    """
    answer = _NEXT_EXAMPLE.split(output, maxsplit=1)[0]
    signed = _SIGNED_RATING.search(answer)
    if signed:
        return int(signed[1])
    unsigned = _UNSIGNED_RATING.search(answer) or _RATING_ALONE.search(answer)
    if unsigned is None:
        return None
    if words_in_lower_case(unsigned[1]) in words_in_lower_case(candidate):
        return None
    return int(unsigned[2])


def words_in_lower_case(text: str) -> str:
    """Returns the text's words in lower case, with single spaces between them."""
    return " ".join(re.findall(r"\w+", text.lower()))
