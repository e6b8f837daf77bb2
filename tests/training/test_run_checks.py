"""Checks of a run: what is compared with what, on lines written by hand."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from experiments.scenes.parts import SCENES, TINY
from spanreward.training.recipe import Recipe, RecipeError, check_recipe
from spanreward.training.run_checks import check_run, failed_checks, print_checks

DAPO = {"reward_rises": True, "max_failed_fraction": 0.01, "max_truncated_fraction": 0.05}


def recipe(algorithm: str = "dapo", **check: Any) -> Recipe:
    return check_recipe(
        {
            "algorithm": algorithm,
            "output": "unused",
            "policy": {"model": TINY},
            "data": {"source": SCENES},
            "rewards": [{"metric": "posh"}] if algorithm == "dapo" else [],
            "check": check or None,
        }
    )


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


def passed(folder: Path, recipe: Recipe) -> dict[str, bool | None]:
    return {result.name: result.passed for result in check_run(folder, recipe)}


def test_a_good_run(tmp_path: Path) -> None:
    steps = [0.1, 0.2, 0.9, 0.1, 0.3]
    run_of(
        tmp_path, reward=steps, **{"judge/failed_fraction": [0.0] * 5, "completions/clipped_ratio": [1, 1, 1, 1, 0.05]}
    )
    results = check_run(tmp_path, recipe(**DAPO))
    assert [(result.name, result.found, result.passed) for result in results] == [
        ("reward_rises", "reward 0.1 -> 0.3 over 5 logged steps", True),
        ("max_failed_fraction", "0", True),
        ("max_truncated_fraction", "0.05", True),
    ]
    written = json.loads((tmp_path / "check.json").read_text())
    assert [entry["passed"] for entry in written] == [True, True, True]
    assert written[0]["found"] == results[0].found


def test_tenths_of_twenty_steps_are_two_each(tmp_path: Path) -> None:
    rising = [0.0, 1.0, *[9.0] * 16, 0.4, 0.5]  # 0.5 at first, 0.45 at last
    assert passed(run_of(tmp_path, reward=rising), recipe(reward_rises=True)) == {"reward_rises": False}
    rising[-1] = 0.7
    assert passed(run_of(tmp_path, reward=rising), recipe(reward_rises=True)) == {"reward_rises": True}


def test_a_reward_that_stays_does_not_rise(tmp_path: Path) -> None:
    assert passed(run_of(tmp_path, reward=[0.5, 0.5]), recipe(reward_rises=True)) == {"reward_rises": False}


def test_failures_count_over_the_whole_run(tmp_path: Path) -> None:
    run_of(tmp_path, **{"judge/failed_fraction": [0.11] + [0.0] * 9})
    assert passed(tmp_path, recipe(max_failed_fraction=0.01)) == {"max_failed_fraction": False}
    assert passed(tmp_path, recipe(max_failed_fraction=0.02)) == {"max_failed_fraction": True}


def test_the_loss_of_sft_falls(tmp_path: Path) -> None:
    assert passed(run_of(tmp_path, loss=[2.0, 1.5, 1.6]), recipe("sft", loss_falls=True)) == {"loss_falls": True}
    assert passed(run_of(tmp_path, loss=[2.0, 1.5, 2.1]), recipe("sft", loss_falls=True)) == {"loss_falls": False}


@pytest.mark.parametrize("columns", [{}, {"reward": [0.5]}])
def test_what_was_not_logged_cannot_be_said(columns: Any, tmp_path: Path) -> None:
    assert set(passed(run_of(tmp_path, **columns), recipe(**DAPO)).values()) == {None}


def test_a_reward_that_is_no_number_does_not_hold(tmp_path: Path) -> None:
    run_of(tmp_path, reward=[0.1, float("nan")], **{"judge/failed_fraction": [float("nan"), 0.0]})
    assert passed(tmp_path, recipe(reward_rises=True, max_failed_fraction=1.0)) == {
        "reward_rises": False,
        "max_failed_fraction": False,
    }


def test_without_checks_nothing_is_written(tmp_path: Path) -> None:
    assert check_run(tmp_path, recipe()) == []
    assert not list(tmp_path.iterdir())


def test_the_table(tmp_path: Path) -> None:
    shown = Console(file=StringIO(), width=200)
    run_of(tmp_path, reward=[0.5, 0.4], **{"judge/failed_fraction": [0.0, 0.0]})
    print_checks(check_run(tmp_path, recipe(**DAPO)), shown)
    text = shown.file.getvalue()
    assert "reward 0.5 -> 0.4 over 2 logged steps" in text
    assert text.count("does not hold") == 1
    assert text.count("cannot be said") == 1
    last = text.rstrip().splitlines()[-1]
    assert last.startswith("CHECK FAILED: reward_rises is reward 0.5 -> 0.4 over 2 logged steps, wanted more at last")
    red = Console(file=StringIO(), width=400, force_terminal=True)
    print_checks(check_run(tmp_path, recipe(**DAPO)), red)
    assert "\x1b[1;31mCHECK FAILED" in red.file.getvalue()
    assert [result.name for result in failed_checks(tmp_path)] == ["reward_rises"]
    assert failed_checks(tmp_path / "elsewhere") == []
    nothing = Console(file=StringIO())
    print_checks([], nothing)
    assert nothing.file.getvalue() == ""


def test_padded_completions_fail_their_check_by_the_last_tenth(tmp_path: Path) -> None:
    padded = recipe(max_degenerate_fraction=0.05)
    run_of(tmp_path, **{"health/degenerate_fraction": [0.9] * 9 + [0.05]})
    assert passed(tmp_path, padded) == {"max_degenerate_fraction": True}
    run_of(tmp_path, **{"health/degenerate_fraction": [0.0] * 9 + [0.06]})
    assert passed(tmp_path, padded) == {"max_degenerate_fraction": False}
    run_of(tmp_path, reward=[0.1, 0.2])
    assert passed(tmp_path, padded) == {"max_degenerate_fraction": None}


@pytest.mark.parametrize(
    ("algorithm", "check", "message"),
    [
        ("sft", {"reward_rises": True}, "check.reward_rises says nothing of a sft run: use check.loss_falls."),
        ("sft", {"max_failed_fraction": 0.0}, "check.max_failed_fraction says nothing of a sft run"),
        ("dapo", {"loss_falls": True}, "check.loss_falls says nothing of a dapo run: use check.reward_rises."),
        ("dapo", {"reward_rise": True}, "'?check.reward_rise'?: did you mean 'reward_rises'"),
        ("dapo", {"max_failed_fraction": 2}, "check.max_failed_fraction: .* got 2"),
    ],
)
def test_a_check_that_says_nothing_is_refused(algorithm: str, check: Any, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        recipe(algorithm, **check)
