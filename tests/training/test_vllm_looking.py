"""DAPO on Scenes with PoSh that looks at the pictures: four steps with a judge that sees, in vLLM's
real engine and behind its server.
"""

import importlib.util
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT
from tests.support.tiny_rater import save_rater
from tests.support.torchvision_on_cpu import FOLDER, with_torchvision
from tests.support.vllm_server import vllm_server
from tests.training.test_vllm_training import HARD_TIMEOUT, RECIPE, SHRUNK

pytestmark = pytest.mark.vllm
STEPS = 4


@pytest.fixture(scope="module")
def rater(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("vllm") is None or not FOLDER.is_dir():
        pytest.skip("needs vllm and torchvision: make test-vllm")
    folder = tmp_path_factory.mktemp("rater")
    save_rater(folder)
    return folder


@pytest.fixture(scope="module")
def served(rater: Path) -> Iterator[str]:
    options = ("--dtype", "float32", "--max-model-len", "1024", "--block-size", "32")
    limits = ("--limit-mm-per-prompt", '{"video": 0}')
    with vllm_server(str(rater), *options, *limits, environment=with_torchvision()) as url:
        yield f"{url}#{rater}"


def logged_steps(judge: str, evidence: str, output: Path) -> list[dict[str, Any]]:
    changes = (
        f"rewards.0.judge={judge}",
        f"rewards.0.options.evidence={evidence}",
        f"trainer.max_steps={STEPS}",
        "trainer.per_device_train_batch_size=8",  # two pictures: each has decoys of the other
        "trainer.span_coef=0.5",
        f"output={output}",
    )
    done = subprocess.run(
        [sys.executable, "scripts/train.py", RECIPE, "--set", *SHRUNK, *changes],
        cwd=ROOT,
        env={**with_torchvision(), "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=HARD_TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    lines = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if "loss" in line]


def check_steps(steps: list[dict[str, Any]]) -> None:
    assert [step["step"] for step in steps] == list(range(1, STEPS + 1))
    for step in steps:
        assert step["judge/failed_fraction"] == 0
        assert step["judge/questions"] > 0
        assert 0 <= step["rewards/posh/mean"] <= 1
        assert math.isfinite(step["loss"])
    rates = [step["posh/yes_rate"] for step in steps if "posh/yes_rate" in step]
    assert rates
    assert 0 <= min(rates) <= max(rates) <= 1


@pytest.mark.parametrize("evidence", ["picture", "both"])
def test_through_the_engine(rater: Path, tmp_path: Path, evidence: str) -> None:
    options = "options: {dtype: float32, memory: 100000000, min_mass: 0.0}"
    judge = f"{{name: 'vllm:{rater}', cache: false, {options}}}"
    check_steps(logged_steps(judge, evidence, tmp_path / "out"))


def test_through_a_server(served: str, tmp_path: Path) -> None:
    judge = f"{{name: 'chat:{served}', cache: false, options: {{min_mass: 0.0}}}}"
    check_steps(logged_steps(judge, "both", tmp_path / "out"))
