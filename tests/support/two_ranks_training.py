"""One of two ranks, started by torchrun in test_two_ranks.py: in the second step the judge cannot
be woken on rank 1.

    torchrun --nproc_per_node 2 two_ranks.py FOLDER RECIPE key=value ...

Each rank leaves FOLDER/RANK.json, how scripts/train.py ended there, and FOLDER/RANK.closed from its
judge.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any, Self

import spanreward.training.recipe_rewards
import spanreward.training.run
from spanreward.rewards.judges import MatchJudge
from spanreward.training.commands.train import main

FOLDER = Path(sys.argv[1])
RANK = int(os.environ["RANK"])


class Judge(MatchJudge):
    """Counts some of each thing in every step, twice as much on rank 1."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = self.depth = 0

    def start(self) -> None:
        pass

    def close(self) -> None:
        (FOLDER / f"{RANK}.closed").touch()

    def __enter__(self) -> Self:
        if self.depth == 0:
            self.steps += 1
            if RANK == 1 and self.steps == 2:
                raise OSError("its engine is gone")
            self.usage.retries += 1 + RANK
            self.usage.wake_seconds += 10.0 * (1 + RANK)
            self.usage.peak_memory_bytes = 1_000_000_000 * (1 + RANK)
        self.depth += 1
        return self

    def __exit__(self, *error: Any) -> None:
        self.depth -= 1


def train(trainer: Any, *rest: Any) -> None:
    ended = {"error": "", "kind": ""}
    try:
        run_train(trainer, *rest)
    except BaseException as error:
        ended = {"error": str(error), "kind": type(error).__name__}
        raise
    finally:
        found = {**ended, "log": trainer.state.log_history}
        (FOLDER / f"{RANK}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    run_train = spanreward.training.run.train_and_write
    spanreward.training.run.train_and_write = train  # type: ignore[assignment]
    spanreward.training.recipe_rewards.load_judge = lambda *_, **__: Judge()
    sys.argv = ["train.py", *sys.argv[2:]]
    main()
