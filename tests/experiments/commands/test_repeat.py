"""`experiments repeat`: which runs it makes, from which policies, and that it goes on."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from experiments.commands import repeat
from experiments.scenes.parts import TINY
from spanreward.training.policy import load_policy


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
    monkeypatch.setattr(
        repeat, "perturbed", lambda start, output, environment: f"{start} by {environment}"
    )
    return made


def run(monkeypatch: pytest.MonkeyPatch, *arguments: Any) -> None:
    monkeypatch.setattr(sys, "argv", ["repeat.py", "recipe.yaml", *map(str, arguments)])
    repeat.main()


def test_a_run_for_every_seed_in_every_environment(
    runs: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [*f"trainer.x=1 --folder {tmp_path}/out --start".split(), "base/{seed}"]
    arguments += ["--environments", "0", "1e-6"]
    run(monkeypatch, *arguments, "--seeds", "0-1")
    assert sorted(runs) == ["seed0", "seed0~1e-6", "seed1", "seed1~1e-6"]
    assert runs["seed1"]["policy.model"] == "base/1"
    assert runs["seed1~1e-6"]["policy.model"] == "base/1 by 1e-6"
    assert {overrides["trainer.x"] for overrides in runs.values()} == {"1"}
    runs.clear()
    run(monkeypatch, *arguments, "--seeds", "0-2")
    assert sorted(runs) == ["seed2", "seed2~1e-6"]  # the others are there already
    assert capsys.readouterr().out.count("there already") == 4


def test_a_run_that_fails_is_told(
    runs: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(SystemExit, match="1 of 2 runs"):
        run(monkeypatch, "--folder", tmp_path / "out", "--seeds", "2-3")


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
