"""Curves of several trainings: the steps that have a loss, from each run's file."""

import json
from pathlib import Path

from experiments.commands.curves import logged
from tests.support.command import experiments


def run(folder: Path, *rewards: float) -> Path:
    folder.mkdir()
    lines = [{"step": step, "loss": 0.1, "reward": one} for step, one in enumerate(rewards, 1)]
    lines.append({"train_runtime": 9})
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_the_last_line_of_a_run_is_no_step(tmp_path: Path) -> None:
    assert logged(run(tmp_path / "a", 0.2, 0.4), ["reward"]) == {"reward": [0.2, 0.4]}


def test_a_picture_of_two_arms(tmp_path: Path) -> None:
    one, two = run(tmp_path / "a", 0.2, 0.4), run(tmp_path / "b", 0.3, 0.5)
    other = run(tmp_path / "c", 0.1, 0.1)
    words = f"curves DAPO={one},{two} SFT={other} --keys reward loss --picture {tmp_path}/a.svg"
    assert experiments(*words.split()).code == 0
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
