"""One of two ranks, started by torchrun in test_resume.py: rank 1 alone gets SIGTERM, as its judge
judges first.

    torchrun --nproc_per_node 2 stopped.py FOLDER RECIPE key=value ... [--resume]

Each rank leaves FOLDER/RANK.json, how scripts/train.py ended there, and FOLDER/RANK.closed from its
judge.
"""

import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import spanreward.training.recipe_rewards
from spanreward.rewards.judges import Failure, MatchJudge, Question, Rating
from spanreward.rewards.judges.judge import RATING_SCALE
from spanreward.training.commands.train import main

FOLDER = Path(sys.argv[1])
RANK = os.environ["RANK"]


class Judge(MatchJudge):
    def __init__(self) -> None:
        super().__init__()
        self.asked = False

    def start(self) -> None:
        pass

    def close(self) -> None:
        (FOLDER / f"{RANK}.closed").touch()

    def rate(
        self, questions: Sequence[Question], scale: Sequence[str] = RATING_SCALE
    ) -> list[Rating | Failure]:
        first, self.asked = not self.asked, True
        if first and RANK == "1" and "--resume" not in sys.argv:
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)  # as from a scheduler and from the launcher
        return super().rate(questions, scale)


if __name__ == "__main__":
    spanreward.training.recipe_rewards.load_judge = lambda *_, **__: Judge()
    sys.argv = ["train.py", *sys.argv[2:]]
    code: object = 0
    try:
        main()
    except SystemExit as end:
        code = end.code
        raise
    finally:
        (FOLDER / f"{RANK}.json").write_text(json.dumps(code))
