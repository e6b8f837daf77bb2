"""The gain of spans by their r: pooled over tables, at the panel's level, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.span_credit.curve import points_of, trained_with
from tests.support.command import experiments


def row(
    arm: str, gains: list[float], reward: str = "truth", level: int = 2, rate: float = 2e-4
) -> dict[str, Any]:
    """Of a table. Greedy texts gain the opposite."""
    trained = {"reward": reward, "level": level, "arm": arm, "learning_rate": rate}
    greedy = [-gain for gain in gains]
    gained = {"sampled_difference_per_run": gains, "difference_per_run": greedy}
    return {**trained, "scalar_rate": 2e-4, **gained}


def panel(level: int = 2, **r: float) -> dict[str, Any]:
    sources = {}
    for name, value in r.items():
        found = {"r": value, "low": value - 0.1, "high": value + 0.1}
        sources[name.replace("_", ":")] = {"labels": {"all": found}}
    return {"level": level, "sources": sources}


@pytest.mark.parametrize(
    ("source", "reward", "arm"),
    [
        ("truth", "truth", ""),
        ("truth, 5% flipped", "truth", "-flipped-0.05"),
        ("truth, permuted", "truth", "-permuted"),
        ("posh:transformers:a/judge", "posh:transformers:a/judge", ""),
    ],
)
def test_sources_of_a_panel_are_what_arms_train_with(source: str, reward: str, arm: str) -> None:
    assert trained_with(source) == (reward, f"add_centred-0.5{arm}")


def test_runs_of_several_tables_are_pooled_and_the_best_r_is_first() -> None:
    tables = [
        [row("scalar", [0.0, 0.0]), row("add_centred-0.5", [0.01, 0.03])],
        [row("add_centred-0.5", [0.08]), row("add_centred-0.5", [0.5], reward="posh:match")],
    ]
    measured = panel(posh_match=0.9, truth=0.8, posh_never_trained=0.7)
    strong, weak = points_of(tables, [measured])
    assert (weak["spans"], strong["spans"]) == ("truth", "posh:match")
    assert weak["r"] == pytest.approx({"r": 0.8, "low": 0.7, "high": 0.9})
    assert weak["sampled"]["per_run"] == [0.01, 0.03, 0.08]
    assert weak["sampled"]["mean"] == pytest.approx(0.04)
    assert weak["greedy"]["mean"] == pytest.approx(-0.04)
    assert 0.01 <= weak["sampled"]["low"] < 0.04 < weak["sampled"]["high"] <= 0.08


def test_other_levels_and_rates_are_left_out() -> None:
    table = [row("add_centred-0.5", [0.01], level=3), row("add_centred-0.5", [0.3], rate=1e-4)]
    (point,) = points_of([[*table, row("add_centred-0.5", [0.02])]], [panel(truth=0.8)])
    assert point["sampled"]["per_run"] == [0.02]
    with pytest.raises(ValueError, match=r"no run of add_centred-0\.5 has spans"):
        points_of([table], [panel(truth=0.8)])


def test_spans_without_an_r_are_left_out() -> None:
    measured = panel(truth=0.8, posh_match=0.4)
    measured["sources"]["posh:match"]["labels"]["all"] |= {"r": None, "low": None, "high": None}
    rows = [row("add_centred-0.5", [0.02]), row("add_centred-0.5", [0.02], reward="posh:match")]
    assert [point["spans"] for point in points_of([rows], [measured])] == ["truth"]


def test_two_panels_of_the_same_spans_are_refused() -> None:
    with pytest.raises(ValueError, match="two panels of level 2 have spans of 'truth'"):
        points_of([[row("add_centred-0.5", [0.02])]], [panel(truth=0.8), panel(truth=0.7)])


def test_the_command_prints_and_draws(tmp_path: Path) -> None:
    rows = [row("add_centred-0.5", [0.01, 0.03])]
    rows.append(row("add_centred-0.5", [0.5], reward="posh:match", level=3))
    rows.append(row("add_centred-0.5", [0.2], reward="posh:transformers:a/judge"))
    (tmp_path / "table.json").write_text(json.dumps(rows))
    two = panel(truth=0.8, **{"posh_transformers_a/judge": 0.2})
    (tmp_path / "two.json").write_text(json.dumps(two))
    (tmp_path / "three.json").write_text(json.dumps(panel(level=3, posh_match=0.3)))
    words = f"curve --tables {tmp_path}/table.json --plot {tmp_path}/c.svg --json {tmp_path}/c.json".split()
    done = experiments("credit", *words, "--panels", tmp_path / "two.json", tmp_path / "three.json")
    assert done.code == 0, done.err
    assert "+0.020" in done.out
    assert (tmp_path / "c.svg").read_text().startswith("<?xml")
    assert [point["level"] for point in json.loads((tmp_path / "c.json").read_text())] == [2, 3, 2]
