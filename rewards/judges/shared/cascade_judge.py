"""A judge of two: a student answers where it is sure, and a teacher answers the rest and audits the student.

    judge = CascadeJudge("encoder:FOLDER", "vllm:MODEL", sure=0.9, audit=0.02)
    judge.rate(questions)
    judge.usage.teacher, judge.usage.audited, judge.usage.agreed

The student rates all questions (a cascade as in FrugalGPT, Chen, Zaharia and Zou 2023, arXiv 2305.05176). The teacher
answers where the student's largest probability is below `sure`, where the student refuses or fails, and all that is to
be written. It also answers a random share `audit` of what the student is sure of. So a policy that farms the student's
mistakes is seen, because the two agree less and less (training/callbacks/audits.py).

A hash of the question and of the seed chooses what is audited. Equal runs ask the same audits.
"""

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Self

from spanreward.rewards.judges.by_name import as_judge, closing
from spanreward.rewards.judges.judge import RATING_SCALE, Failure, Judge, Question, Rating
from spanreward.rewards.judges.shared.cached_judge import question_keys
from spanreward.rewards.judges.shared.rank0_judge import Rank0Judge
from spanreward.rewards.judges.usage import Usage


class CascadeJudge(Judge):
    """A judge that asks a student, and a teacher where the student is not sure, and sometimes where it is.

    The usage is that of both. Its `questions` are those to the cascade, and what only the student left unanswered is
    neither unparsed nor timed out.

    Args:
        student, teacher: judges or their names.
        sure: the student's rating counts where its largest probability is at least this; above 1 it never counts.
        audit: share, in [0, 1], of the questions which the student is sure of that the teacher answers all the same.
        seed: chooses the audited questions.

    Raises:
        ValueError: for another value, and for a Rank0Judge, which must be outside of the cascade.
    """

    def __init__(
        self, student: Judge | str, teacher: Judge | str, sure: float = 0.9, audit: float = 0.02, seed: int = 0
    ) -> None:
        for name, value, most in (("sure", sure, math.inf), ("audit", audit, 1)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
                raise ValueError(f"a cascade's {name} is {value!r}: give a number from 0 to 1.")
        self.student, self.teacher = as_judge(student), as_judge(teacher)
        if isinstance(self.student, Rank0Judge) or isinstance(self.teacher, Rank0Judge):
            raise ValueError(
                "a cascade's student or teacher has the placement rank0: give the placement to the whole cascade."
            )
        self.sure, self.audit, self.seed = sure, audit, seed
        deadlines = [judge.deadline for judge in (self.student, self.teacher) if judge.deadline is not None]
        self.deadline = sum(deadlines) if deadlines else None
        self.reads_source = self.student.reads_source or self.teacher.reads_source
        self.remote = self.student.remote and self.teacher.remote
        self._counted = Usage()
        self._awake: list[ExitStack] = []  # one for each `with`

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.student, self.teacher, self.sure, self.audit, self.seed)

    @property
    def name(self) -> str:
        """Both judges and the settings."""
        settings = f"sure={self.sure} audit={self.audit} seed={self.seed}"
        return f"cascade {settings} student=({self.student.name}) teacher=({self.teacher.name})"

    @property
    def usage(self) -> Usage:  # type: ignore[override]  # nothing but this judge sets it
        teacher, own = self.teacher.usage, self._counted
        both = own.plus(self.student.usage).plus(teacher)
        return replace(both, questions=own.questions, unparsed=teacher.unparsed, timeouts=teacher.timeouts)

    def start(self) -> None:
        self.student.start()
        self.teacher.start()

    def close(self) -> None:
        with closing([self.student, self.teacher]):
            pass

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self.student)
            stack.enter_context(self.teacher)
            self._awake.append(stack.pop_all())
        return self

    def __exit__(self, *error: Any) -> None:
        self._awake.pop().__exit__(*error)

    def rate(self, questions: Sequence[Question], scale: Sequence[str] = RATING_SCALE) -> list[Rating | Failure]:
        """Returns the teacher's answer where it was asked, else the student's rating."""
        with self:
            answers = list(self.student.rate(questions, scale)) if questions else []
            sure = [is_sure(answer, self.sure) for answer in answers]
            audited = [now and chosen for now, chosen in zip(sure, self.chosen(questions), strict=True)]
            asked = [place for place in range(len(questions)) if audited[place] or not sure[place]]
            found = self.teacher.rate([questions[place] for place in asked], scale) if asked else []
        for place, answer in zip(asked, found, strict=True):
            student = answers[place]
            if audited[place] and isinstance(student, Rating) and isinstance(answer, Rating):
                self._counted.audited += 1
                self._counted.agreed += agree(student, answer, scale)
            answers[place] = answer
        self._count(len(questions), len(asked))
        return answers

    def write(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """Returns the teacher's texts."""
        with self:
            texts = self.teacher.write(questions, max_tokens) if questions else []
        self._count(len(questions), len(questions))
        return texts

    def chosen(self, questions: Sequence[Question]) -> list[bool]:
        """Returns whether each question is audited if the student is sure of it."""
        if not self.audit:
            return [False] * len(questions)
        return [int(key, 16) < self.audit * 16 ** len(key) for key in question_keys(questions, {"audit": self.seed})]

    def _count(self, questions: int, teacher: int) -> None:
        self._counted.questions += questions
        self._counted.teacher += teacher
        self._counted.student += questions - teacher


def is_sure(answer: Rating | Failure, sure: float) -> bool:
    return isinstance(answer, Rating) and max(answer.probabilities.values(), default=0.0) >= sure


def agree(first: Rating, second: Rating, scale: Sequence[str]) -> bool:
    """Whether both means lie above the scale's middle, or neither. On a scale of letters: whether both hold the same
    entry for the likeliest.
    """
    if not all(entry.isdecimal() for entry in scale):
        one, other = (max(scale, key=lambda entry: rating.probabilities.get(entry, 0.0)) for rating in (first, second))
        return one == other
    middle = (float(scale[0]) + float(scale[-1])) / 2
    return (first.mean > middle) == (second.mean > middle)
