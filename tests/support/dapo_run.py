"""A short DAPO run on Scenes through the command that a user types, with another judge."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.scenes.parts import TINY
from tests.support.paths import ROOT

RECIPE = "recipes/quickstart/scenes-dapo.yaml"
HARD_TIMEOUT = 1200  # seconds: far more than it takes, and a hang is an error
SHRUNK = (
    f"policy.model={TINY}", "data.count=8", "trainer.per_device_train_batch_size=4",
    "trainer.steps_per_generation=null", "trainer.logging_steps=1", "trainer.num_generations=4",
    "trainer.max_completion_length=16", "trainer.soft_overlong_cache=4",
)  # fmt: skip


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
    lines = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if "loss" in line]
