"""DAPO on Scenes with a judge that sees, in vLLM's real engine and behind its server."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.dapo_run import check_judged, logged_steps
from tests.support.tiny_rater import rater_folder, served_rater
from tests.support.torchvision_on_cpu import with_torchvision

pytestmark = pytest.mark.vllm
STEPS = 4


@pytest.fixture(scope="module")
def rater(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rater_folder(tmp_path_factory)


@pytest.fixture(scope="module")
def served(rater: Path) -> Iterator[str]:
    with served_rater(rater) as url:
        yield f"{url}#{rater}"


def steps_with(judge: str, evidence: str, output: Path) -> list[dict[str, Any]]:
    changes = (
        f"rewards.0.judge={judge}",
        f"rewards.0.options.evidence={evidence}",
        f"trainer.max_steps={STEPS}",
        "trainer.per_device_train_batch_size=8",  # two pictures: each has decoys of the other
        "trainer.span_coef=0.5",
    )
    return logged_steps([sys.executable], changes, with_torchvision(), output)


def check_steps(steps: list[dict[str, Any]]) -> None:
    check_judged(steps, STEPS)
    rates = [step["posh/yes_rate"] for step in steps if "posh/yes_rate" in step]
    assert rates
    assert 0 <= min(rates) <= max(rates) <= 1


@pytest.mark.parametrize("evidence", ["picture", "both"])
def test_through_the_engine(rater: Path, tmp_path: Path, evidence: str) -> None:
    options = "options: {dtype: float32, memory: 100000000, min_mass: 0.0}"
    judge = f"{{name: 'vllm:{rater}', cache: false, {options}}}"
    check_steps(steps_with(judge, evidence, tmp_path / "out"))


def test_through_a_server(served: str, tmp_path: Path) -> None:
    judge = f"{{name: 'chat:{served}', cache: false, options: {{min_mass: 0.0}}}}"
    check_steps(steps_with(judge, "both", tmp_path / "out"))
