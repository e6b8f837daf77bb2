"""Judges that `spanreward serve` is started with, so that an attack can reach a weak place.

spanreward serve posh --judge experiments/attack/judges.py:fragile
"""

import time
from collections.abc import Sequence

from spanreward import FunctionJudge, MatchJudge
from spanreward.rewards.judges.judge import Failure, Question, Rating

POISON = "poison"  # a word on which `fragile` raises
SLOW = "slowly"  # a word on which `slow` takes SECONDS
SECONDS = 120.0
SECRET = "sk-secret-0123456789"  # stands for what an exception may carry


class Fragile(MatchJudge):
    """Judges as `match`, and raises for a whole call in which one question has POISON."""

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        for question in questions:
            text = question.messages[-1]["content"]
            if POISON in text:
                raise RuntimeError(f"{SECRET} cannot read {text}")
        return super().rate_each(questions, scale)


class Slow(MatchJudge):
    """Judges as `match`, and sleeps where a question has SLOW."""

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        for question in questions:
            if SLOW in question.messages[-1]["content"]:
                time.sleep(SECONDS)
                break
        return super().rate_each(questions, scale)


def rated(text: str) -> int:
    """Returns a rating that depends on the text alone."""
    return 1 + len(text) % 5


fragile = Fragile()
slow = Slow()
text_only = FunctionJudge("text only", rated)


class Seeing(FunctionJudge):
    """Is shown pictures, and does not look at them."""

    sees_pictures = True


seeing = Seeing("seeing", rated)
