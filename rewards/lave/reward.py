"""LAVE as a reward: how right an answer to a visual question is, given the answers of several people.

    reward = LaveReward(MatchJudge())
    sample = Sample("What color is it?", "Answer: dark red", question="What color is it?", answers=("red",) * 10)
    verdict = reward.assess([sample])[0]
    verdict.score, verdict.parts["rating"], verdict.spans[0].note        # 1.0, 3.0, the judge's rationale

The judge writes a rationale and a rating from 1 to 3, or with rationale=False rates at once, which is one token in
place of some thirty. The candidate is the answer in the completion (candidate.py), and its characters are the verdict's
span, whose credit is the whole score. A judge with a short context may read less of them, and what it did not read
counts as wrong; of a rationale it does not say so. A completion without an answer is EMPTY with score 0; a rationale
that does not end in a rating is UNPARSED. A row without a question or without answers is NOT_APPLICABLE, which is no
failure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple

from rewards.cost import Cost, tokens_in
from rewards.filler import beside, charge_filler, find_filler
from rewards.judges.judge import Failure, Judge, Question, Rating
from rewards.judges.probe import AnswerProbe
from rewards.lave.candidate import JUDGED_CHARACTERS, compile_pattern, find_candidate, whole_candidate
from rewards.lave.prompts import RATINGS, LaveExample, load_prompts, quote
from rewards.lave.rating import read_rating, score_of
from rewards.lave.references import is_binary, keep_references
from rewards.length import judged_length
from rewards.memo import Memo
from rewards.naming import check_mode
from rewards.reward import Reward
from rewards.verdict import Sample, Span, Status, Verdict

SCALE = tuple(map(str, RATINGS))
RATIONALE_TOKENS = 128
PEOPLE = 10  # whose answers `cost` assumes, as in VQAv2


@dataclass(frozen=True, slots=True)
class Asked:
    """A question on its way to the judge, and the candidate's characters [start, end) in the completion.

    read: where the part of it that the judge is shown ends. shown: that part, as the judge sees it.
    """

    question: Question
    start: int
    read: int
    end: int
    shown: str


class _Rated(NamedTuple):
    """What is kept of a Rating: its value, 1 to 3, and how many characters of the candidate the judge did not read."""

    value: float
    cut: int


class LaveReward(Reward):
    """LAVE as a reward (LAVE, section 4), with any judge. Needs the dataset columns `question` and `answers`.

    Args:
        judge: who rates the answer from 1 to 3.
        rationale: a reason before the rating, as published. False reads the rating's token alone and takes the
            likeliest rating.
        smooth: with rationale=False, the expectation in place of the likeliest rating.
        demonstrations: a YAML file, or the same data, in place of ours.
        filter_references: answers given less than this share as often as the most frequent one are left out, those at
            exactly this share are kept; 0 keeps all.
        answer_pattern: a regular expression whose last match (its first group, if it has one) is the answer.
        candidate: "answer" rates the answer in the completion (candidate.py), up to JUDGED_CHARACTERS of it; "whole"
            the completion, as far as metrics read one (rewards/length.py).
        context: whether a row's `context`, a description of the picture, is shown where there is one; None is True in
            default mode and False in published mode, as the paper's final method shows none (section 5.4).
        mode: "default" charges for words that say nothing (rewards/filler.py), anywhere in the completion;
            "published" does not.
        name: of the reward in logs.
    """

    columns = ("question", "answers")
    main_parts = ("score",)

    def __init__(
        self,
        judge: Judge,
        rationale: bool = True,
        smooth: bool = False,
        demonstrations: str | Path | Mapping[str, Any] | None = None,
        filter_references: float = 0.25,
        answer_pattern: str | None = None,
        candidate: Literal["answer", "whole"] = "answer",
        context: bool | None = None,
        mode: Literal["default", "published"] = "default",
        name: str = "lave",
    ) -> None:
        super().__init__(name)
        if smooth and rationale:
            raise ValueError("smooth=True reads the rating token's distribution, so it needs rationale=False")
        if not isinstance(filter_references, (int, float)) or not 0 <= filter_references <= 1:
            raise ValueError(f"filter_references is a share from 0 to 1, got {filter_references!r}")
        if candidate not in ("answer", "whole"):
            raise ValueError(f'candidate is "answer" or "whole", got {candidate!r}')
        if candidate == "whole" and answer_pattern is not None:
            raise ValueError('answer_pattern finds the answer in a completion, and candidate="whole" takes all of it')
        check_mode(mode)
        self.mode = mode
        self.candidate = candidate
        self.context = mode == "default" if context is None else context
        self.judge = judge
        self.judges = (judge,)
        self.rationale = rationale
        self.smooth = smooth
        self.filter_references = filter_references
        self.pattern = compile_pattern(answer_pattern)
        self.prompts = load_prompts(demonstrations)
        self.wording = sha256(repr(self.prompts).encode()).hexdigest()[:16]
        self._memo = Memo()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_memo": Memo()}

    def cost(self, words: float, references: int) -> Cost:
        """One question, about the answer in the completion, which is short however long that is."""
        example = LaveExample("What is in the picture?", ("answer",) * PEOPLE, "answer", "")
        read = tokens_in(self.prompts.text(example, False, self.rationale))
        if self.rationale:
            return Cost(1, read, RATIONALE_TOKENS, exact=True, how="a rationale with its rating, written")
        return Cost(1, read, 1, exact=True, how="one rating")

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        """One call to the judge for all samples; equal questions are asked once, and not again by the next call."""
        prepared = [self._prepare(sample) for sample in samples]
        asked = [one for one in prepared if isinstance(one, Asked)]
        self._memo.begin()
        answers = iter(self._ask([one.question for one in asked]) if asked else [])
        return [
            self._verdict(sample, one, next(answers)) if isinstance(one, Asked) else one
            for sample, one in zip(samples, prepared, strict=True)
        ]

    def _prepare(self, sample: Sample) -> Asked | Verdict:
        """What to ask of a sample, or its verdict where there is nothing to ask."""
        question = sample.question or ""
        references = keep_references([answer for answer in sample.answers if answer.strip()], self.filter_references)
        if not question.strip() or not references:
            lacking = "question" if not question.strip() else "answers"
            return Verdict(None, Status.NOT_APPLICABLE, note=f"this row has no {lacking}")
        if self.candidate == "whole":
            start, end = whole_candidate(sample.completion)
            read = min(end, max(start, judged_length(sample.completion)))
        else:
            start, end = find_candidate(sample.completion, self.pattern)
            read = min(end, start + JUDGED_CHARACTERS)
        candidate = sample.completion[start:read]
        shown = quote(candidate)
        if shown == quote(""):
            return Verdict(0.0, Status.EMPTY, {"score": 0.0}, note="the completion holds no answer")
        context = sample.context or "" if self.context else ""
        example = LaveExample(question, tuple(references), candidate, context)
        prompt = self.prompts.text(example, is_binary(references), self.rationale)
        messages = [{"role": "user", "content": prompt}]
        probe = AnswerProbe(question, candidate, tuple(references))
        place = self.prompts.candidate_in(prompt, example, self.rationale)
        return Asked(Question(messages, probe=probe, description=place), start, read, end, shown)

    def _ask(self, questions: Sequence[Question]) -> Sequence[str | _Rated | Failure]:
        """What the judge wrote, or its ratings."""
        if self.rationale:
            return self._memo.complete(questions, self._write)
        return self._memo.complete(questions, self._rate)

    def _write(self, questions: list[Question]) -> Sequence[str | Failure]:
        return self.judge.write(questions, max_tokens=RATIONALE_TOKENS)

    def _rate(self, questions: list[Question]) -> list[_Rated | Failure]:
        ratings = self.judge.rate(questions, SCALE)
        return [_Rated(self._value(one), one.cut) if isinstance(one, Rating) else one for one in ratings]

    def _value(self, rating: Rating) -> float:
        """The expectation, or the likeliest rating, of equals the lowest."""
        if self.smooth:
            return rating.mean
        return float(max(SCALE, key=lambda entry: (rating.probabilities[entry], -int(entry))))

    def _verdict(self, sample: Sample, asked: Asked, answer: str | _Rated | Failure) -> Verdict:
        if isinstance(answer, Failure):
            return Verdict(None, answer.status, note=answer.message)
        if isinstance(answer, _Rated):
            read = replace(asked, read=asked.read - answer.cut)
            verdict = verdict_of(answer.value, f"rated {answer.value:.2f} of 3", read)
        else:
            rating = read_rating(answer, asked.shown)
            if rating is None:
                return Verdict(None, Status.UNPARSED, note=f"the judge's answer ends in no rating: ...{answer[-80:]!r}")
            verdict = verdict_of(float(rating), answer.strip(), asked)
        if self.mode == "published":
            return verdict
        found = find_filler(sample.completion, beside(sample), ends=False)
        return charge_filler(verdict, sample.completion, found, charged)


def charged(parts: dict[str, float], kept: float) -> dict[str, float]:
    """The score shrinks, the judge's rating stays what it was."""
    return {**parts, "score": parts["score"] * kept}


def verdict_of(rating: float, note: str, asked: Asked) -> Verdict:
    """The rating as a verdict with the candidate as its span.

    What was not read of a long candidate is wrong: the score is multiplied by the share that was.
    """
    score = min(max(score_of(rating), 0.0), 1.0)
    spans = [Span(asked.start, asked.read, score, score, "answer", note, 0)]
    total = score * (asked.read - asked.start) / (asked.end - asked.start)
    if asked.read < asked.end:
        unread = f"not judged: past {asked.read - asked.start} characters"
        spans.append(Span(asked.read, asked.end, 0.0, total - score, "unread", unread, 1))
    return Verdict(total, parts={"score": total, "rating": rating}, spans=tuple(spans))
