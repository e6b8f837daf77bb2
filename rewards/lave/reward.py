"""LAVE as a reward: rates how right an answer to a visual question is, given several people's
answers.

    reward = LaveReward(MatchJudge())
    asked = "What color is it?"
    sample = Sample(asked, "Answer: dark red", question=asked, answers=("red",) * 10)
    verdict = reward.assess([sample])[0]
    verdict.score, verdict.parts["rating"], verdict.spans[0].note  # 1.0, 3.0, the judge's rationale

The judge writes a rationale and a rating from 1 to 3. With rationale=False it only rates, which
takes one token instead of about thirty. The candidate is the answer in the completion
(`find_answer`). It becomes the verdict's span, whose credit is the whole score. A judge with a
short context may read only part of it; the rest then counts as wrong. With a rationale the judge
does not report what it cut.

A completion without an answer is EMPTY with score 0. A rationale that does not end in a rating is
UNPARSED. A row without a question or without answers is NOT_APPLICABLE.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from spanreward.rewards.base.checks import MODES, Mode, check_choice
from spanreward.rewards.base.cost import Cost, tokens_in
from spanreward.rewards.base.verdict import Sample, Span, Status, Unread, Verdict
from spanreward.rewards.judges.by_name import as_judge
from spanreward.rewards.judges.judge import Failure, Judge, Question, Rating
from spanreward.rewards.judges.probe import AnswerProbe
from spanreward.rewards.judges.written_rating import find_written_rating
from spanreward.rewards.language.answer_text import normalise
from spanreward.rewards.language.answer_tokens import comparable_form, shown_answer
from spanreward.rewards.lave.answer import PUBLISHED_RULES, find_answer
from spanreward.rewards.lave.compared import found_answer, label_of, options_for, with_option
from spanreward.rewards.lave.options import options_written
from spanreward.rewards.lave.prompts import (
    RATINGS,
    LaveExample,
    candidate_in,
    load_lave_prompts,
    quote,
)
from spanreward.rewards.reward.answer_cache import AnswerCache, Rated
from spanreward.rewards.reward.plain_text_reward import PlainTextReward, outside
from spanreward.rewards.text.filler import Filler, beside, find_filler, penalise_filler
from spanreward.rewards.text.judged_part import check_part
from spanreward.rewards.text.length import judged_length
from spanreward.rewards.text.padding import find_padding
from spanreward.rewards.text.written import read_text

RATING_ENTRIES = tuple(map(str, RATINGS))
RATIONALE_TOKENS = {"default": 128, "published": 100}  # at most
PEOPLE_OF_ROW = 10  # answers of a row, as `cost` assumes; VQAv2 has 10
OUTSIDE_ANSWER = "outside the answer"  # a kind of what is not read
CANDIDATE_CHARACTERS = 500  # of a candidate; the rest counts as wrong
_RATING_END = r"[\s*_'\"`.!)\]]*\Z"
_SIGNED_RATING = re.compile(rf"rating[\s*_]*[=:][\s*_'\"`]*([123]){_RATING_END}", re.IGNORECASE)
_UNSIGNED_RATING = re.compile(rf"(\brating(?:\s+is)?\W+([123])){_RATING_END}", re.IGNORECASE)
# [^\n] keeps many line breaks from taking quadratic time
_RATING_ALONE = re.compile(rf"(?:\A|\n)[^\w\n]*(([123])){_RATING_END}")
# What `quote` does not leave in a candidate.
_BEGINS_SIGNED = re.compile(r"\Arating[\"\s*_]*[=:]", re.IGNORECASE)
_NEXT_EXAMPLE = re.compile(r"\n[^\S\n]*(?:Question|Image description):")


@dataclass(frozen=True, slots=True)
class CandidateQuestion:
    """A question to ask, and the candidate's characters [start, end) in the completion.

    read: the offset where the part that the judge is shown ends, start <= read <= end. quoted: that
    part as the judge sees it.
    """

    question: Question
    start: int
    read: int
    end: int
    quoted: str


@dataclass(frozen=True, slots=True)
class People:
    """What people answered to the question of a row.

    answers: all of them. references: those that count, with repeats. options: the question's, by
    label, {} where the answers name none. texts: the references as a judge that reads sees them.
    labels: as `match` compares them.
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
        smooth: with rationale=False, whether the expectation replaces the likeliest rating.
        demonstrations: a YAML file or the same data. None is ours.
        prompts: a file like prompts.yaml. None is ours.
        filter_references: answers are dropped that people gave less than this share as often as the
            most frequent answer. An answer at exactly this share is kept in default mode. 0 keeps
            all.
        candidate: "answer" rates the answer in the completion (`find_answer`), up to
            CANDIDATE_CHARACTERS of it. "whole" rates the judged part of the completion
            (rewards/text/length.py).
        evidence: "context" shows the judge the row's `context`, a description of the picture, if it
            has one. "none" does not. None is "context" in default mode, and "none" in published
            mode as in the paper's final method (section 5.4).
        mode: "default" penalises filler anywhere in the completion (rewards/text/filler.py).
            "published" does not, counts references as the published code does (`keep_references`),
            and gives a rationale 100 tokens, not 128.
        name: the reward's name in logs.
        judged_part: a tag, a JSON key or /a regular expression/ (rewards/text/judged_part.py): only
            the answer in this part of a completion is judged.
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
        if not isinstance(filter_references, (int, float)) or not 0 <= filter_references <= 1:
            raise ValueError(f"filter_references is a share from 0 to 1, got {filter_references!r}")
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
        self.wording = sha256(repr(self.prompts).encode()).hexdigest()[:16]
        self._answers = AnswerCache()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_answers": AnswerCache()}

    def cost(self, words: float, references: int) -> Cost:
        """Returns the cost of one question.

        The answer in a completion is short, however long the completion is.
        """
        example = LaveExample("What is it that is seen?", ("answer",) * PEOPLE_OF_ROW, "answer", "")
        text = self.prompts.text(example, False, self.rationale)
        read = tokens_in(text)
        # an engine computes what is before the question once, as it is always the same
        computed = tokens_in(text[text.index(example.question) :])
        if not self.rationale:
            return Cost(1, read, 1, True, "one rating", computed)
        how = "a rationale with its rating, written"
        return Cost(1, read, RATIONALE_TOKENS[self.mode], True, how, computed)

    def _assess_whole(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns one Verdict per sample, from one call to the judge.

        Equal questions are asked once, also later.
        """
        rows: dict[tuple[Any, ...], People] = {}  # completions of a group share their row
        prepared: list[CandidateQuestion | Verdict] = []
        for sample in samples:
            row = (sample.question, sample.answers, *options_written(sample.columns))
            if row not in rows:
                rows[row] = self._people(sample)
            prepared.append(self._prepare(sample, rows[row]))
        questions = [entry.question for entry in prepared if isinstance(entry, CandidateQuestion)]
        self._answers.begin()
        answers = iter(self._answers.complete(questions, self._ask))
        verdicts = []
        for sample, entry in zip(samples, prepared, strict=True):
            if isinstance(entry, Verdict):
                verdicts.append(entry)
            else:
                verdicts.append(self._verdict(sample, entry, next(answers)))
        return verdicts

    def _people(self, sample: Sample) -> People:
        """Returns what all completions of the sample's row are rated against."""
        answers = [answer for answer in sample.answers if answer.strip()]
        references = keep_references(answers, self.filter_references, self.mode)
        options: dict[str, str] = {}
        if self.mode == "default" and references:
            options = options_for(references, sample.question or "", sample.columns)
        # each distinct answer is compared with the options once
        texts = {answer: with_option(answer, options) for answer in set(references)}
        labels = {answer: label_of(answer, options) for answer in set(references)}
        return People(
            answers,
            references,
            options,
            tuple(texts[answer] for answer in references),
            tuple(labels[answer] for answer in references),
        )

    def _prepare(self, sample: Sample, people: People) -> CandidateQuestion | Verdict:
        """Returns the question about a sample, or its verdict if there is nothing to ask."""
        question = sample.question or ""
        if not question.strip():
            note = "this row has no question"
            return Verdict(None, Status.NOT_APPLICABLE, note=note)
        if not people.references:
            return Verdict(None, Status.NOT_APPLICABLE, note="this row has no answers")
        start, read, end = self._candidate_range(sample.completion, people)
        candidate = sample.completion[start:read]
        if self.mode == "default":
            candidate = shown_answer(candidate)
        if quote(candidate) == quote(""):
            return Verdict(0.0, Status.EMPTY, {"score": 0.0}, note="the completion holds no answer")
        context = sample.context or "" if self.evidence == "context" else ""
        text = with_option(candidate, people.options, question)
        example = LaveExample(question, people.texts, text, context)
        prompt = self.prompts.text(example, is_binary(people.references), self.rationale)
        label = label_of(candidate, people.options, question)
        to_judge = Question(
            [{"role": "user", "content": prompt}],
            probe=AnswerProbe(question, label, people.labels),
            description=candidate_in(prompt),
        )
        return CandidateQuestion(to_judge, start, read, end, quote(text))

    def _candidate_range(self, completion: str, people: People) -> tuple[int, int, int]:
        """Returns where the candidate starts, where the part that is judged ends, and where the
        candidate ends.
        """
        if self.candidate == "whole":
            start = len(completion) - len(completion.lstrip())
            end = len(completion.rstrip())
            return start, min(end, max(start, judged_length(completion))), end
        if self.mode == "published":
            start, end = find_answer(completion, people.answers, PUBLISHED_RULES)
        else:
            start, end = found_answer(completion, people.answers, people.options)
        return start, min(end, start + CANDIDATE_CHARACTERS), end

    def _ask(self, questions: list[Question]) -> Sequence[Any]:
        """Returns the judge's texts, or Rated values, or a Failure."""
        if self.rationale:
            return self.judge.write(questions, max_tokens=RATIONALE_TOKENS[self.mode])
        answers: list[Rated | Failure] = []
        for rating in self.judge.rate(questions, RATING_ENTRIES):
            if isinstance(rating, Rating):
                answers.append(Rated(self._value(rating), rating.cut))
            else:
                answers.append(rating)
        return answers

    def _value(self, rating: Rating) -> float:
        """Returns the expectation, or the likeliest rating, which is the lowest of equals."""
        if self.smooth:
            return rating.mean
        return float(
            max(RATING_ENTRIES, key=lambda entry: (rating.probabilities[entry], -int(entry)))
        )

    def _verdict(
        self, sample: Sample, candidate: CandidateQuestion, answer: str | Rated | Failure
    ) -> Verdict:
        if isinstance(answer, Failure):
            return Verdict(None, answer.status, note=answer.message)
        if isinstance(answer, Rated):
            read = replace(candidate, read=candidate.read - answer.cut)
            verdict = _verdict_of(answer.value, f"rated {answer.value:.2f} of 3", read)
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


def _less_filler(verdict: Verdict, sample: Sample) -> Verdict:
    """Returns the verdict less the filler of what is read of the completion, and less padding."""
    text = sample.completion
    reading = read_text(text, answers=True)
    filler = find_filler(reading.plain, beside(sample), ends=False)
    pieces = []
    characters = 0  # of filler, as written
    for plain_start, plain_end, kind in filler.pieces:
        start, end = reading.written(plain_start, plain_end)
        pieces.append((start, end, kind))
        characters += end - start
    length = characters / filler.share if pieces else 1.0
    as_written = Filler(filler.share, tuple(pieces))
    verdict = penalise_filler(verdict, length, as_written, {"score": 0.0})
    padding = find_padding(text, reading.unread)
    if not padding.pieces:
        return verdict
    return penalise_filler(verdict, len(text), padding, {"score": 0.0})


def unread_parts(completion: str, candidate: CandidateQuestion) -> list[Unread]:
    """Returns what of a completion the judge was not shown: the markup in the answer, and what
    stands around the answer.
    """
    parts = outside(completion, 0, candidate.start, OUTSIDE_ANSWER)
    for start, end, kind in read_text(completion[candidate.start : candidate.read]).unread:
        parts.append(Unread(candidate.start + start, candidate.start + end, kind))
    return parts + outside(completion, candidate.end, len(completion), OUTSIDE_ANSWER)


def _verdict_of(rating: float, note: str, candidate: CandidateQuestion) -> Verdict:
    """Returns the verdict for a rating.

    The unread part of a candidate counts as wrong, so it lowers the score.
    """
    score = min(max((rating - 1) / 2, 0.0), 1.0)
    spans = [Span(candidate.start, candidate.read, score, score, "answer", note, 0)]
    total = score * (candidate.read - candidate.start) / (candidate.end - candidate.start)
    if candidate.read < candidate.end:
        unread = f"not judged: past {candidate.read - candidate.start} characters"
        spans.append(Span(candidate.read, candidate.end, 0.0, total - score, "unread", unread, 1))
    return Verdict(total, parts={"score": total, "rating": rating}, spans=tuple(spans))


def keep_references(answers: Sequence[str], share: float, mode: Mode = "default") -> list[str]:
    """Returns the answers, sorted, that people gave at least `share` times as often as the most
    frequent one.

    Answers are compared in normalised form, or as they are if that is empty ("?"). In published
    mode they are compared as they are, and one at exactly this share is dropped too, unless it is a
    most frequent one. share 0 keeps all.
    """
    forms = list(answers)
    if mode == "default":
        forms = [comparable_form(answer) or answer for answer in answers]
    counts = Counter(forms)
    most = max(counts.values(), default=0)
    floor = share * most
    also = floor if mode == "default" else most
    frequent = []
    for answer, form in zip(answers, forms, strict=True):
        if counts[form] > floor or counts[form] == also:
            frequent.append(answer)
    return sorted(frequent)


def is_binary(references: Sequence[str]) -> bool:
    """Returns whether yes or no is a most frequent reference."""
    counts = Counter(map(normalise, references))
    if not counts:
        return False
    return max(counts["yes"], counts["no"]) == max(counts.values())


def read_rating(output: str, candidate: str = "") -> int | None:
    """Returns the rating that ends the judge's output, or None if it ends otherwise.

    Ratings are read as from any judge (`find_written_rating`), and a rating here is whole. A next
    example that the judge adds by itself is not read. candidate: as the judge saw it (`quote`). A
    rating that also occurs in the candidate may be a quotation, so it does not count, unless it has
    a sign as in "rating=3", which `quote` takes out.

        read_rating("The people say red. So rating=1"), read_rating("The people say")      # 1, None
    """
    answer = _NEXT_EXAMPLE.split(output, maxsplit=1)[0]
    written = find_written_rating(answer, RATING_ENTRIES)
    if written is None or not written.ends_text or written.entry not in RATINGS:
        return None
    words = answer[written.start : written.end]
    if not _BEGINS_SIGNED.match(words.lstrip("\"'")) and words_in_lower_case(
        words
    ) in words_in_lower_case(candidate):
        return None
    return int(written.entry)


def read_published_rating(output: str, candidate: str = "") -> int | None:
    """Returns the rating at the end of the judge's output as published mode reads it.

    The rating is `rating=3` as in the demonstrations, "Rating 3", "The rating is 3", or a last line
    "3". The guards are those of `read_rating`.
    """
    answer = _NEXT_EXAMPLE.split(output, maxsplit=1)[0]
    signed = _SIGNED_RATING.search(answer)
    if signed:
        return int(signed[1])
    unsigned = _UNSIGNED_RATING.search(answer) or _RATING_ALONE.search(answer)
    if unsigned is None or words_in_lower_case(unsigned[1]) in words_in_lower_case(candidate):
        return None
    return int(unsigned[2])


def words_in_lower_case(text: str) -> str:
    """Returns the text's words in lower case, with single spaces between them."""
    return " ".join(re.findall(r"\w+", text.lower()))
