"""The map of where span credit pays: simple curves, whose gain is known, and a folder of runs."""

import json
from pathlib import Path

import numpy as np
import pytest

from experiments.span_credit.map import cells_of, measure
from experiments.span_credit.report import LAST
from tests.support.command import experiments

SLOW = [0.0] * 10 + [0.2] * 10 + [0.4] * 10  # truth F1 of 30 steps
FAST = [0.0] * 10 + [0.4] * 10 + [0.5] * 10


def write(folder: Path, arm: str, seed: int, curve: list[float], completions: int) -> None:
    evaluation = {"step": 0, "f1": [0.1, 0.2], "precision": 0.1, "recall": 0.1, "length": 9.0}
    run = {"arm": {"name": arm}, "reward": "truth", "level": 4, "seed": seed, "perturbation": 0.0}
    run |= {"learning_rate": 2e-4, "completions": completions, "evaluations": [evaluation]}
    run["steps"] = [{"truth_f1": value} for value in curve]
    folder.mkdir(exist_ok=True)
    (folder / f"level4-truth-{arm}-seed{seed}.json").write_text(json.dumps(run))


def test_the_gain_and_the_share_of_the_steps() -> None:
    gain, share = measure(np.array([SLOW, SLOW]), np.array([FAST, FAST]))
    assert gain == pytest.approx(0.1)
    assert share == 20 / 30  # the mean of ten steps is .4 at step 20
    assert measure(np.array([SLOW]), np.array([SLOW])) == (0.0, 1.0)
    assert measure(np.array([FAST]), np.array([SLOW])) == (pytest.approx(-0.1), 1.0)  # it never is
    # the scalar is as high as at its end after 18 steps
    peak = [0.0] * 10 + [0.5] * 10 + [0.4] * 10
    assert measure(np.array([peak]), np.array([FAST]))[1] == 20 / 18
    assert len(SLOW) == 3 * LAST


def test_cells_are_of_the_runs_that_both_have(tmp_path: Path) -> None:
    for completions, seeds in ((16, (0, 1, 2)), (128, (0,))):
        folder = tmp_path / f"n{completions}"
        for seed in seeds:
            write(folder, "scalar", seed, SLOW, completions)
            if seed < 2:
                write(folder, "add_centred-0.5", seed, FAST, completions)
    few, many = cells_of([tmp_path / "n16", tmp_path / "n128"])
    assert (few["completions"], few["runs"], few["gain_per_run"]) == (16, ["0", "1"], [0.1, 0.1])
    assert (many["completions"], many["runs"], many["level"]) == (128, ["0"], 4)
    assert few["share"] == dict.fromkeys(("mean", "low", "high"), 20 / 30)


def test_the_command_draws_and_writes_the_map(tmp_path: Path) -> None:
    write(tmp_path / "n16", "scalar", 0, SLOW, 16)
    words = (
        f"credit map {tmp_path}/n16 --plot {tmp_path}/map.svg --json {tmp_path}/map.json".split()
    )
    write(tmp_path / "n16", "add_centred-0.5", 0, FAST, 16)
    done = experiments(*words)
    assert (done.code, done.err) == (0, "")
    assert "+0.100" in done.out
    assert (tmp_path / "map.svg").read_text().startswith("<?xml")
    assert json.loads((tmp_path / "map.json").read_text())[0]["share"]["mean"] == 20 / 30
    write(tmp_path / "n32", "scalar", 0, SLOW, 32)
    write(tmp_path / "n32", "add_centred-0.5", 0, SLOW, 32)
    # the runs of the first folder are on another machine: its cell stays
    words[2] = str(tmp_path / "n32")
    assert experiments(*words).code == 0
    few, more = json.loads((tmp_path / "map.json").read_text())
    assert (few["completions"], few["gain"]["mean"]) == (16, pytest.approx(0.1))
    assert (more["completions"], more["gain"]["mean"]) == (32, 0.0)
