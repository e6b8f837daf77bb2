"""A short DAPO run on Scenes through the command that a user types, with another judge."""

import math
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.scenes.parts import TINY
from spanreward.training.recipe import Recipe, load_recipe
from tests.support.files import read_lines
from tests.support.paths import ROOT

RECIPE = "recipes/quickstart/scenes-dapo.yaml"
HARD_TIMEOUT = 1200  # seconds: far more than it takes, and a hang is an error
SFT_SHRUNK = (
    f"policy.model={TINY}", "data.count=8", "trainer.per_device_train_batch_size=4",
    "trainer.logging_steps=1",
)  # fmt: skip
SHRUNK = (
    *SFT_SHRUNK, "trainer.steps_per_generation=null", "trainer.num_generations=4",
    "trainer.max_completion_length=16", "trainer.soft_overlong_cache=4",
)  # fmt: skip


def quickstart(algorithm: str, output: Path, *changes: str) -> Recipe:
    """The quickstart's recipe of SFT or DAPO with a tiny policy and few rows."""
    small = SHRUNK if algorithm == "dapo" else SFT_SHRUNK
    path = ROOT / f"recipes/quickstart/scenes-{algorithm}.yaml"
    return load_recipe(path, [*small, f"output={output}", *changes])


def logged_steps(
    launch: Sequence[str], changes: Sequence[str], environment: Mapping[str, str], output: Path
) -> list[dict[str, Any]]:
    """Returns the run's logged steps. launch: the interpreter and what starts the ranks."""
    done = subprocess.run(
        [*launch, "scripts/train.py", RECIPE, "--set", f"output={output}", *SHRUNK, *changes],
        cwd=ROOT,
        env={**environment, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=HARD_TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    return [line for line in read_lines(output / "metrics.jsonl") if "loss" in line]


def check_judged(steps: Sequence[Mapping[str, Any]], count: int) -> None:
    """Checks that a judge has scored every completion of `count` steps."""
    assert [step["step"] for step in steps] == list(range(1, count + 1))
    for step in steps:
        assert step["judge/failed_fraction"] == 0
        assert step["judge/questions"] > 0
        assert step["judge/prompt_tokens"] > 0 or step["judge/cached"] > 0
        # step["reward"] also holds the punishment of overlong texts
        assert 0 <= step["rewards/posh/mean"] <= 1
        assert math.isfinite(step["loss"])
