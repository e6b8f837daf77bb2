"""The checks of a recipe's run: what is compared with what, on lines written by hand."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT
from tests.support.run_checks import CUT, EXEMPT, FAILED, PADDED, holds, run_checks

QUICKSTART = ROOT / "recipes/quickstart"
DAPO, SFT = QUICKSTART / "scenes-dapo.yaml", QUICKSTART / "scenes-sft.yaml"
NAN = float("nan")


def run_of(folder: Path, **columns: list[float]) -> Path:
    """A run's folder whose steps have logged these values, and its closing line."""
    names = list(columns)
    lines: list[dict[str, float]] = [
        {"step": step, **dict(zip(names, values, strict=True))}
        for step, values in enumerate(zip(*columns.values(), strict=True), start=1)
    ]
    lines.append({"step": len(lines), "train_loss": 9.0, "train_runtime": 1.0})
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


@pytest.mark.parametrize(
    ("key", "values", "held"),
    [
        # tenths of twenty steps are two each: .5, .45
        ("reward", [0.0, 1.0, *[9.0] * 16, 0.4, 0.5], False),
        ("reward", [0.0, 1.0, *[9.0] * 16, 0.4, 0.7], True),
        ("reward", [0.1, 0.2, 0.9, 0.1, 0.3], True),
        ("reward", [0.5, 0.5], False),
        ("reward", [0.5], None),
        ("reward", [], None),
        ("reward", [0.1, NAN], False),
        ("loss", [2.0, 1.5, 1.6], True),
        ("loss", [2.0, 1.5, 2.1], False),
        ("loss", [2.0, 2.0], False),
        (FAILED, [0.11, *[0.0] * 9], False),  # over the whole run
        (FAILED, [0.1, *[0.0] * 9], True),
        (FAILED, [NAN, 0.0], False),
        (FAILED, [], None),
        (CUT, [1, 1, 1, 1, 0.05], True),
        (CUT, [0, 0, 0, 0, 0.06], False),
        (PADDED, [*[0.9] * 9, 0.05], True),
        (PADDED, [*[0.0] * 9, 0.06], False),
        (PADDED, [0.05], True),
    ],
)
def test_what_holds(key: str, values: list[float], held: bool | None) -> None:
    assert holds(key, values) is held


def test_a_recipe_asks_by_its_algorithm(tmp_path: Path) -> None:
    columns: Any = {"reward": [0.1, 0.2], "loss": [1.0, 2.0], FAILED: [0.0, 0.0], CUT: [1.0, 0.0]}
    run_of(tmp_path, **columns)
    assert run_checks(DAPO, tmp_path) == {"reward": True, FAILED: True, CUT: True, PADDED: None}
    assert run_checks(SFT, tmp_path) == {"loss": False}
    pairwise = QUICKSTART / "scenes-pairwise-dapo.yaml"
    assert run_checks(pairwise, tmp_path) == {FAILED: True, CUT: True, PADDED: None}
    assert all((ROOT / "recipes" / name).is_file() for name in EXEMPT)


@pytest.mark.parametrize(("loss", "code"), [([2.0, 1.0], 0), ([1.0, 2.0], 1), ([1.0], 1)])
def test_the_command_of_the_quickstart(loss: list[float], code: int, tmp_path: Path) -> None:
    """`make quickstart STRICT=--strict` ends with it."""
    run = str(run_of(tmp_path, loss=loss))
    command = [sys.executable, "-m", "tests.support.run_checks", str(SFT), run]
    assert subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == code
