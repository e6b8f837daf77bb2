"""A judge that writes what a function of the prompt says, and rates by another one."""

from collections.abc import Callable, Sequence
from typing import Any

from spanreward.rewards.judges.judge import Failure, Judge, Question, Rating
from tests.support.fakes import certain, prompt_of


class WritingJudge(Judge):
    """write: a text or Failure, or a function of the prompt. rates: a level from 1 to 5, or a
    Failure, from the probe.

    Attributes:
        asked: every question that it was to write about.
    """

    name = "writer"

    def __init__(
        self, writes: Any, rates: Callable[[Any], int | Failure] = lambda probe: 5
    ) -> None:
        self.writes, self.rates = writes, rates
        self.asked: list[Question] = []

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        levels = [self.rates(question.probe) for question in questions]
        return [level if isinstance(level, Failure) else certain(level) for level in levels]

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        self.asked += questions
        if not callable(self.writes):
            return [self.writes] * len(questions)
        return [self.writes(prompt_of(question)) for question in questions]
