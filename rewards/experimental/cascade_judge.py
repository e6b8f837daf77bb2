"""A judge of two judges: a student rates what it is sure of, and a teacher rates the rest and
audits the student.

    judge = load_judge("cascade", student="encoder:FOLDER", teacher="vllm:MODEL", sure=0.9)
    judge.usage.teacher, judge.usage.audited, judge.usage.agreed  # after judge.rate(questions)

If a policy learns to exploit the student's mistakes, student and teacher agree less and less in the
audits, and training/health.py reports it. A hash of the question and of the seed decides whether a
question is audited, so equal runs audit the same questions.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from spanreward.rewards.judges.judge import (
    Failure,
    Judge,
    OuterJudge,
    Question,
    Rating,
    answers_or_failures,
)
from spanreward.rewards.judges.question import question_keys
from spanreward.rewards.judges.usage import Usage


class CascadeJudge(OuterJudge):
    """A cascade of two judges (FrugalGPT, Chen, Zaharia and Zou 2023, arXiv 2305.05176), with an
    audit.

    The teacher rates the questions that the student is not sure of or cannot rate, and the
    questions of the audit. If the teacher fails at an audit, the student's rating counts. The
    teacher also writes all texts.

    Args:
        student, teacher: the two judges; `load_judge` also takes their names.
        sure: the student's rating counts if its largest probability is at least this. Above 1 the
            student's rating never counts.
        audit: the share, in [0, 1], of the questions that the student is sure of and the teacher
            rates anyway.
        seed: decides which questions are audited.

    Raises:
        ValueError: for a `sure` below 0, an `audit` outside [0, 1], and a value that is no number.
    """

    def __init__(
        self,
        student: Judge,
        teacher: Judge,
        sure: float = 0.9,
        audit: float = 0.02,
        seed: int = 0,
    ) -> None:
        for name, value, most in (("sure", sure, math.inf), ("audit", audit, 1)):
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or not 0 <= value <= most:
                raise ValueError(f"a cascade's {name} is {value!r}: give a number from 0 to 1.")
        super().__init__(student, teacher)
        self.student = student
        self.teacher = teacher
        self.sure = sure
        self.audit = audit
        self.seed = seed
        self._counted = Usage()

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns what pickle needs to make the judge again: its class and its arguments, without
        its counts.
        """
        arguments = (self.student, self.teacher, self.sure, self.audit, self.seed)
        return type(self), arguments

    @property
    def name(self) -> str:
        """The settings and both judges' names, which decide the answers."""
        settings = f"sure={self.sure} audit={self.audit} seed={self.seed}"
        return f"cascade {settings} student=({self.student.name}) teacher=({self.teacher.name})"

    @property
    def usage(self) -> Usage:
        """The sum of both judges' usage and of the cascade's own counts.

        `questions` are the cascade's. `unparsed` and `timeouts` are the teacher's alone, because
        the teacher answers the questions at which the student failed.
        """
        of_student = self.student.usage
        of_teacher = self.teacher.usage
        total = self._counted.plus(of_student).plus(of_teacher)
        return replace(
            total,
            questions=self.questions,
            unparsed=of_teacher.unparsed,
            timeouts=of_teacher.timeouts,
        )

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        """Returns the teacher's answer to each question that the teacher was asked, and the
        student's answer to each other question. If the teacher fails at an audit, the student's
        answer is returned.
        """
        with self:
            # The student rates all questions.
            answers = answers_or_failures(
                len(questions), partial(self.student.rate, questions, scale)
            )
            sure = [self._is_sure(answer) for answer in answers]
            numbers = self._numbers_for_teacher(questions, sure)
            for_teacher = [questions[number] for number in numbers]
            teacher_answers = answers_or_failures(
                len(numbers), partial(self.teacher.rate, for_teacher, scale)
            )
        self._count(student=len(answers) - len(numbers))
        # The teacher's answers replace the student's, except after a failed audit.
        for number, by_teacher in zip(numbers, teacher_answers, strict=True):
            by_student = answers[number]
            if sure[number] and isinstance(by_teacher, Failure):
                self._count(student=1, audits_failed=1)
                continue
            answers[number] = by_teacher
            self._count(teacher=1)
            if not sure[number]:
                continue
            if isinstance(by_student, Rating) and isinstance(by_teacher, Rating):  # an audit
                self._count(audited=1, agreed=ratings_agree(by_student, by_teacher, scale))
        return answers

    def _numbers_for_teacher(
        self, questions: Sequence[Question], sure: Sequence[bool]
    ) -> list[int]:
        """Returns the numbers of the questions that the teacher rates. The teacher rates all
        questions whose rating the student is not sure of, and the share `audit` of the others.

        sure: for each question whether the student is sure of its rating.
        """
        numbers: list[int] = []
        for number, key in enumerate(question_keys(questions, {"audit": self.seed})):
            # A key is an evenly spread number below 16 ** 32. So a share `audit` of all keys is
            # below audit * 16 ** 32.
            is_audited = int(key, 16) < self.audit * 16**32
            if is_audited or not sure[number]:
                numbers.append(number)
        return numbers

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """Returns the teacher's texts."""
        self._count(teacher=len(questions))
        with self:
            return answers_or_failures(
                len(questions), partial(self.teacher.write, questions, max_tokens)
            )

    def _is_sure(self, answer: Rating | Failure) -> bool:
        """Returns whether the student's answer is a rating that counts without the teacher."""
        if isinstance(answer, Failure):
            return False
        return max(answer.probabilities.values()) >= self.sure

    def _count(self, **counts: int) -> None:
        """Adds to the cascade's own counts. counts: numbers to add, by the name of a field of
        Usage.
        """
        self._counted = self._counted.plus(Usage(**counts))


def ratings_agree(first: Rating, second: Rating, scale: Sequence[str]) -> bool:
    """Returns whether two ratings agree.

    On a scale of numbers two ratings agree if both means are above the middle of the scale, or if
    neither is. On a scale of letters they agree if their likeliest entries are equal.
    """
    if all(entry.isdecimal() for entry in scale):
        middle = (float(scale[0]) + float(scale[-1])) / 2
        first_is_high = first.mean > middle
        second_is_high = second.mean > middle
        return first_is_high == second_is_high
    return _likeliest_entry(first, scale) == _likeliest_entry(second, scale)


def _likeliest_entry(rating: Rating, scale: Sequence[str]) -> str:
    """Returns the entry of the scale with the highest probability; of several such entries the
    first.
    """
    return max(scale, key=lambda entry: rating.probabilities.get(entry, 0.0))
