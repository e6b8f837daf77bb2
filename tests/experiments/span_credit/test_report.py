"""The credit experiment's figures, on curves that show them at sight."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.span_credit import report
from tests.support.command import experiments

STEPS = np.array([0.0, 5.0, 10.0, 15.0, 20.0])


def curves(*rows: list[float], runs: tuple[str, ...] | None = None) -> report.Curves:
    """Runs with the same truth F1 on four prompts, and half of it in ten samples a step."""
    sampled = np.repeat(np.array(rows) / 2, 10, axis=1)
    f1 = np.repeat(np.array(rows)[:, :, None], 4, axis=2)
    names = runs or tuple(map(str, range(len(rows))))
    return report.Curves(names, STEPS, f1, np.array(rows), np.array(rows), sampled)


def test_moving_average_by_hand() -> None:
    assert report.moving_average(np.array([[0.0, 0.3, 0.6, 0.9]])) == pytest.approx(
        np.array([[0.3, 0.6]])
    )


def test_steps_to_reach() -> None:
    # moving averages 0.3 at step 3, 0.6 at 4, 0.8 at 5
    rising = np.array([[0.0, 0.3, 0.6, 0.9, 0.9]])
    assert report.steps_to_reach(rising, 0.3) == [3]
    assert report.steps_to_reach(rising, 0.31) == [4]
    assert report.steps_to_reach(rising, 0.8 - 1e-9) == [5]
    assert report.steps_to_reach(rising, 0.95) == [5]  # never: censored at the end
    both = np.array([rising[0], [1.0] * 5])
    assert report.steps_to_reach(both, 0.5).tolist() == [4, 3]


def test_an_arm_against_the_scalar() -> None:
    scalar = curves([0.0, 0.3, 0.6, 0.6, 0.6], [0.0, 0.3, 0.6, 0.6, 0.6])
    spans = curves([0.0, 0.6, 0.9, 0.9, 0.9], [0.3, 0.6, 0.9, 0.9, 0.9])
    figures = report.compare(scalar, spans)
    assert figures["final"]["mean"] == pytest.approx(0.9)
    assert figures["difference"]["mean"] == pytest.approx(0.3)
    assert figures["difference"]["low"] == pytest.approx(0.3)
    assert figures["difference_per_run"] == pytest.approx([0.3, 0.3])
    assert figures["sampled"]["mean"] == pytest.approx(0.45)
    assert figures["sampled_difference_per_run"] == pytest.approx([0.15, 0.15])
    assert figures["sampled_area"]["mean"] == pytest.approx((0.33 + 0.36) / 2)
    assert figures["sampled_area_difference"]["mean"] == pytest.approx((0.33 + 0.36) / 2 - 0.21)
    # 0.3 is the target, which the scalar samples from step 21 on and the spans from step 11 on
    assert figures["steps"]["mean"] == 13
    assert figures["ratio"]["mean"] == pytest.approx(13 / 23)


def test_the_scalar_against_itself() -> None:
    arm = curves([0.0, 0.2, 0.4, 0.5, 0.6], [0.1, 0.2, 0.3, 0.7, 0.8])
    figures = report.compare(arm, arm)
    assert figures["difference"] == {"mean": 0.0, "low": 0.0, "high": 0.0}
    assert figures["ratio"] == {"mean": 1.0, "low": 1.0, "high": 1.0}


def test_arms_of_other_runs_are_refused() -> None:
    with pytest.raises(ValueError, match="same runs"):
        report.compare(curves([0.0] * 5), curves([0.0] * 5, runs=("3",)))


def run_file(
    folder: Path, arm: str, seed: int, f1: list[float], steps: list[int], **more: Any
) -> None:
    made = {"reward": "truth", "learning_rate": 2e-4, "perturbation": 0.0, **more}
    measured = []
    for step, value in zip(steps, f1, strict=True):
        scores = {"f1": [value] * 4, "precision": value, "recall": value}
        measured.append({"step": step, "length": 9.0, **scores})
    run = {"arm": {"name": arm}, "level": 2, "seed": seed, **made, "evaluations": measured}
    run["steps"] = [{"step": step + 1, "truth_f1": f1[-1] / 2} for step in range(10)]
    name = f"level2-{arm}-{seed}-{'-'.join(map(str, made.values()))}.json"
    (folder / name).write_text(json.dumps(run))


def test_only_runs_that_both_have_are_compared(tmp_path: Path) -> None:
    for seed in (0, 1, 2):
        run_file(tmp_path, "scalar", seed, [0.1, 0.2, 0.3], [0, 5, 10])
    run_file(tmp_path, "spans", 1, [0.1, 0.3, 0.5], [0, 5, 10])
    # of another reward: not compared
    run_file(tmp_path, "scalar", 1, [0.4, 0.4, 0.4], [0, 5, 10], reward="posh")
    compared = report.compare_all(report.load_curves(tmp_path))
    rows = {row["arm"]: row for row in compared if row["reward"] == "truth"}
    assert rows["spans"]["runs"] == ["1"]
    assert rows["scalar"]["runs"] == ["0", "1", "2"]
    assert rows["spans"]["difference"]["mean"] == pytest.approx(0.1)


def test_another_environment_is_another_run(tmp_path: Path) -> None:
    for perturbation, last in ((0.0, 0.3), (1e-6, 0.4)):
        run_file(tmp_path, "scalar", 10, [0.1, 0.2, last], [0, 5, 10], perturbation=perturbation)
        run_file(tmp_path, "scalar", 2, [0.1, 0.2, last], [0, 5, 10], perturbation=perturbation)
    (row,) = report.compare_all(report.load_curves(tmp_path))
    assert row["runs"] == ["2", "2~1e-06", "10", "10~1e-06"]


def test_arms_are_compared_with_scalars_of_all_rates(tmp_path: Path) -> None:
    for rate, last in ((1e-4, 0.3), (2e-4, 0.5)):
        run_file(tmp_path, "scalar", 0, [last] * 3, [0, 5, 10], learning_rate=rate)
    run_file(tmp_path, "spans", 0, [0.6] * 3, [0, 5, 10], learning_rate=1e-4)
    found = {}
    for row in report.compare_all(report.load_curves(tmp_path)):
        trained = (row["arm"], row["learning_rate"], row["scalar_rate"])
        found[trained] = row["difference"]["mean"]
    spans = {key[2]: value for key, value in found.items() if key[0] == "spans"}
    assert spans == pytest.approx({1e-4: 0.3, 2e-4: 0.1})
    assert found["scalar", 2e-4, 1e-4] == pytest.approx(0.2)


def test_runs_measured_at_other_steps_are_told(tmp_path: Path) -> None:
    run_file(tmp_path, "scalar", 0, [0.1, 0.2], [0, 5])
    run_file(tmp_path, "scalar", 1, [0.1, 0.2], [0, 7])
    with pytest.raises(ValueError, match="different steps"):
        report.load_curves(tmp_path)


def test_the_command_prints_and_draws(tmp_path: Path) -> None:
    for arm, last in (("scalar", 0.5), ("spans", 0.6)):
        for seed in (0, 1):
            run_file(tmp_path, arm, seed, [0.1, 0.2, 0.3, last], [0, 5, 10, 15])
    words = f"--output {tmp_path} table --plot {tmp_path}/c.svg --json {tmp_path}/c.json".split()
    done = experiments("credit", *words)
    assert done.code == 0
    assert "+0.033" in done.out
    assert (tmp_path / "c.svg").read_text().startswith("<?xml")
    arms = {row["arm"] for row in json.loads((tmp_path / "c.json").read_text())}
    assert arms == {"scalar", "spans"}
