"""`experiments repeat`: which runs it makes, from which policies, and that it goes on."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch

from experiments.commands import repeat
from experiments.scenes.parts import TINY
from spanreward.training.policy import load_policy
from tests.support.command import experiments


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Runs that leave a policy's file and nothing else; the overrides of each, by its name."""
    made: dict[str, dict[str, str]] = {}

    def launch(command: list[str], **settings: object) -> subprocess.CompletedProcess:
        overrides = dict(part.split("=", 1) for part in command if "=" in part)
        output = Path(overrides["output"])
        made[output.name] = overrides
        output.mkdir(parents=True)
        if overrides["seed"] != "3":
            (output / "model.safetensors").touch()
        return subprocess.CompletedProcess(command, int(overrides["seed"] == "3"))

    monkeypatch.setattr(repeat.subprocess, "run", launch)
    monkeypatch.setattr(repeat, "perturbed", lambda start, _, moved: f"{start} by {moved}")
    return made


def test_a_run_for_every_seed_in_every_environment(runs: Any, tmp_path: Path) -> None:
    words = f"repeat recipe.yaml trainer.x=1 --folder {tmp_path}/out --start base/{{seed}}"
    words += " --environments 0 1e-6 --seeds"
    assert experiments(*words.split(), "0-1").code == 0
    assert sorted(runs) == ["seed0", "seed0~1e-6", "seed1", "seed1~1e-6"]
    assert runs["seed1"]["policy.model"] == "base/1"
    assert runs["seed1~1e-6"]["policy.model"] == "base/1 by 1e-6"
    assert {overrides["trainer.x"] for overrides in runs.values()} == {"1"}
    runs.clear()
    done = experiments(*words.split(), "0-2")
    assert sorted(runs) == ["seed2", "seed2~1e-6"]  # the others are there already
    assert done.out.count("there already") == 4


def test_a_run_that_fails_is_told(runs: Any, tmp_path: Path) -> None:
    done = experiments("repeat", "recipe.yaml", "--folder", tmp_path / "out", "--seeds", "2-3")
    assert "1 of 2 runs" in done.err


def test_weights_move_by_their_last_bits(tmp_path: Path) -> None:
    model, processor = load_policy(TINY, seed=0)
    model.save_pretrained(tmp_path / "start")
    processor.save_pretrained(tmp_path / "start")
    start = str(tmp_path / "start")
    folders = [repeat.perturbed(start, tmp_path / name, "1e-6") for name in ("a", "b")]
    models = [load_policy(str(folder))[0] for folder in folders]
    weights = (one.parameters() for one in (*models, model))
    for weight, again, was in zip(*weights, strict=True):
        assert torch.equal(weight, again)
        assert not torch.equal(weight, was) or not was.any()
        assert torch.allclose(weight, was, rtol=1e-5, atol=0)
