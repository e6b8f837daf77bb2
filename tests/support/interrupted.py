"""scripts/train.py with a judge that starts a process, says so, and is then asked for ever: for
test_interrupted.py.

python interrupted.py FOLDER RECIPE key=value ...
"""

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import spanreward.training.recipe_rewards
from spanreward.rewards.judges import Failure, MatchJudge, Question, Rating
from spanreward.rewards.judges.judge import RATING_SCALE
from spanreward.training.commands.train import main

FOLDER = Path(sys.argv[1])


class Judge(MatchJudge):
    def start(self) -> None:
        self.process = subprocess.Popen(["sleep", "1000"])

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        (FOLDER / "closed").touch()

    def rate(
        self, questions: Sequence[Question], scale: Sequence[str] = RATING_SCALE
    ) -> list[Rating | Failure]:
        (FOLDER / "asked").write_text(str(self.process.pid))
        time.sleep(1000)
        return super().rate(questions, scale)


if __name__ == "__main__":
    spanreward.training.recipe_rewards.load_judge = lambda *_, **__: Judge()
    sys.argv = ["train.py", *sys.argv[2:]]
    main()
