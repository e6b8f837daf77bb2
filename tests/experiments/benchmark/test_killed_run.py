"""A run that is killed after its first checkpoint and resumed ends as one that was not killed."""

import argparse
from pathlib import Path

import pytest

from experiments.benchmark import kills
from experiments.benchmark.kills_compare import compare
from tests.support.dapo_run import SHRUNK
from tests.support.paths import ROOT

HANGS = 400  # seconds: far more than a launch takes
CHANGES = (
    *SHRUNK,
    "trainer.max_steps=6",
    "trainer.save_strategy=steps",
    "trainer.save_steps=2",
    "trainer.dynamic_sampling=true",
    "rewards.0.judge={name: match, cache: true}",
)


def test_a_killed_run_ends_as_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    parser = argparse.ArgumentParser()
    kills.add_arguments(parser)
    arguments = parser.parse_args([str(ROOT / "recipes/quickstart/scenes-dapo.yaml"), *CHANGES])
    whole, killed = (kills.prepare(arguments, tmp_path, name) for name in ("whole", "killed0"))

    run = kills.Run(arguments, whole, [], tmp_path / "whole.log")
    assert run.process.wait(HANGS) == 0, (tmp_path / "whole.log").read_text()
    assert run.end() == 0

    assert kills.how_to_go_on(killed, processes=1) == []
    run = kills.Run(arguments, killed, [], tmp_path / "killed0.log")
    kills.await_checkpoint(run, tmp_path / "killed0")
    for one in run.processes:
        kills.kill(one)
    assert run.process.wait(HANGS) != 0
    run.end()
    assert kills.last_checkpoint(tmp_path / "killed0") is not None
    assert "model.safetensors differs" in compare(tmp_path, "whole", "killed0")

    assert kills.how_to_go_on(killed, processes=1) == ["--resume"]
    run = kills.Run(arguments, killed, ["--resume"], tmp_path / "killed0.log")
    assert run.process.wait(HANGS) == 0, (tmp_path / "killed0.log").read_text()
    assert run.end() == 0
    assert compare(tmp_path, "whole", "killed0") == []
