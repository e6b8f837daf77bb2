"""What goes wrong on one of two ranks, for recipes that test_two_ranks_lost.py launches.

    spanreward train RECIPE --set data.source=tests/support/lost_ranks.py:unordered
    spanreward train RECIPE --set rewards.0.judge=tests/support/lost_ranks.py:Silent

The judges fail on rank 1 alone.
"""

import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

from experiments.scenes.rows import Split, scenes
from spanreward.rewards.judges import MatchJudge
from spanreward.rewards.judges.judge import Failure, Question, Rating


def unordered(count: int, split: Split = "train") -> Iterator[dict[str, Any]]:
    """Scenes in the order of a set of texts, which every process has for itself."""
    rows = {row["reference"][0]: row for row in scenes(split, count=count, references=1)}
    for text in set(rows):
        yield rows[text]


class FaultyJudge(MatchJudge):
    """Has a fault on rank 1."""

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        if os.environ["RANK"] == "1":
            self.fail()
        return super().rate_each(questions, scale)

    def fail(self) -> None:
        raise NotImplementedError


class Silent(FaultyJudge):
    """Raises."""

    def fail(self) -> None:
        raise OSError("its engine is gone")


class Stalled(FaultyJudge):
    """Answers nothing, and does not end."""

    def fail(self) -> None:
        time.sleep(3600)
