"""The arms of the credit experiment side by side: how many steps, how far, with intervals over runs
and prompts.

    curves = load_curves(Path("outputs/credit"))  # (reward, level, arm, learning rate) -> Curves
    comparison = compare(scalar, spans)                           # both of the same runs
    comparison["sampled_difference"]["mean"], comparison["sampled_difference"]["low"]

Truth F1 is measured twice: of what the policy samples in every step, on pictures that it has not
seen before, which is what training raises; and of its greedy texts about held-out pictures every
few steps. `sampled` is the mean of the last ten steps, `sampled_area` of all; `final` and `area`
are those of the greedy texts. A run is a seed and, in another numerical environment, the
perturbation of its start: "3", "3~1e-06". The area of the greedy texts leaves the first measurement
out, which is the base's. A run has reached the scalar's level (its `sampled`, over all runs) at the
first step whose mean with the two before it is as high; one that never is counts as having reached
it at its last step (censored). Intervals are 95 % percentiles of a bootstrap that draws runs and,
for all arms alike, prompts.
"""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from textwrap import wrap
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

Array = NDArray[np.float64]
Key = tuple[str, int, str, float]  # reward, level, arm, learning rate

WINDOW = 3  # measurements or steps of a moving average
LAST = 10  # steps whose mean is `sampled`
RESAMPLES = 2000
TITLE = 44  # characters of a panel's title in a line
OBJECTS = {1: "1 to 3", 2: "3 to 5", 3: "6 to 9", 4: "12 to 16"}
# of the arms; the scalar is grey
COLOURS = ("#1b7f4b", "#c77c11", "#a33b3b", "#3566a8", "#7d4aa0", "#2a9aa3")


@dataclass(frozen=True, slots=True)
class Curves:
    """Runs of one arm. steps: (measurements,). f1: (runs, measurements, prompts). sampled: (runs,
    training steps). Others: (runs, measurements).
    """

    runs: tuple[str, ...]
    steps: Array
    f1: Array
    precision: Array
    recall: Array
    sampled: Array


def load_curves(folder: Path) -> dict[Key, Curves]:
    """All runs of a folder, by seed.

    Raises ValueError for runs of one arm that were not measured alike.
    """
    runs: dict[Key, list[dict[str, Any]]] = defaultdict(list)
    for path in sorted(folder.glob("level*.json")):
        run = json.loads(path.read_text())
        runs[run["reward"], run["level"], run["arm"]["name"], run["learning_rate"]].append(run)
    curves = {}
    for key, of_arm in sorted(runs.items()):
        of_arm.sort(key=lambda run: (run["seed"], run["perturbation"]))
        steps = [[measured["step"] for measured in run["evaluations"]] for run in of_arm]
        if any(row != steps[0] for row in steps):
            raise ValueError(
                f"the runs of level {key[1]}, {key[2]} were measured at different steps: {steps}"
            )
        measures = {
            name: np.array(
                [[measured[name] for measured in run["evaluations"]] for run in of_arm], dtype=float
            )
            for name in ("f1", "precision", "recall")
        }
        sampled = np.array(
            [[step["truth_f1"] for step in run["steps"]] for run in of_arm], dtype=float
        )
        names = tuple(map(run_name, of_arm))
        curves[key] = Curves(names, np.array(steps[0], dtype=float), **measures, sampled=sampled)
    return curves


def run_name(run: Mapping[str, Any]) -> str:
    return f"{run['seed']}~{run['perturbation']:g}" if run["perturbation"] else f"{run['seed']}"


def moving_average(curve: Array) -> Array:
    """Means of WINDOW measurements in a row, over the last axis but for prompts: (runs,
    measurements - WINDOW + 1).
    """
    return np.lib.stride_tricks.sliding_window_view(curve, WINDOW, axis=1).mean(axis=-1)


def steps_to_reach(sampled: Array, target: float) -> Array:
    """Per run of `sampled`, (runs, training steps), the first step whose moving average is
    `target`, else the last.
    """
    reached = moving_average(sampled) >= target
    return WINDOW + np.where(reached.any(axis=1), reached.argmax(axis=1), reached.shape[1] - 1)


def of_each_run(curves: Curves) -> dict[str, Array]:
    """The figures of every run, each (runs,)."""
    greedy = curves.f1.mean(axis=2)
    return {
        "sampled": curves.sampled[:, -LAST:].mean(axis=1),
        "sampled_area": curves.sampled.mean(axis=1),
        "final": moving_average(greedy)[:, -1],
        "area": greedy[:, 1:].mean(axis=1),
    }


def measure(scalar: Curves, other: Curves) -> dict[str, float]:
    """The means over the runs, and the differences of `other` to the scalar."""
    ours, theirs = (
        {name: float(of_run.mean()) for name, of_run in of_each_run(c).items()}
        for c in (scalar, other)
    )
    steps = [
        float(steps_to_reach(curves.sampled, ours["sampled"]).mean()) for curves in (scalar, other)
    ]
    return {
        "sampled": theirs["sampled"],
        "sampled_difference": theirs["sampled"] - ours["sampled"],
        "sampled_area": theirs["sampled_area"],
        "sampled_area_difference": theirs["sampled_area"] - ours["sampled_area"],
        "steps": steps[1],
        "ratio": steps[1] / steps[0],
        "final": theirs["final"],
        "difference": theirs["final"] - ours["final"],
        "area": theirs["area"],
        "area_difference": theirs["area"] - ours["area"],
    }


def compare(scalar: Curves, other: Curves, rng_seed: int = 0) -> dict[str, Any]:
    """`measure` of all runs, each figure with its interval, and the runs' own differences.

    Raises ValueError for arms of different runs or steps.
    """
    if scalar.runs != other.runs or not np.array_equal(scalar.steps, other.steps):
        raise ValueError(
            f"arms are compared on the same runs and steps, got {scalar.runs} and {other.runs}"
        )
    count, prompts = len(scalar.runs), scalar.f1.shape[2]
    generator = np.random.default_rng(rng_seed)

    draws = []
    for _ in range(RESAMPLES):
        runs = generator.integers(0, count, size=(count,))
        drawn = generator.integers(0, prompts, size=(prompts,))
        draws.append(measure(*(drawn_of(curves, runs, drawn) for curves in (scalar, other))))
    ours, theirs = of_each_run(scalar), of_each_run(other)
    return {
        name: {
            "mean": value,
            "low": float(np.percentile([draw[name] for draw in draws], 2.5)),
            "high": float(np.percentile([draw[name] for draw in draws], 97.5)),
        }
        for name, value in measure(scalar, other).items()
    } | {
        "runs": list(scalar.runs),
        "difference_per_run": (theirs["final"] - ours["final"]).tolist(),
        "area_difference_per_run": (theirs["area"] - ours["area"]).tolist(),
        "sampled_difference_per_run": (theirs["sampled"] - ours["sampled"]).tolist(),
    }


def compare_all(curves: Mapping[Key, Curves]) -> list[dict[str, Any]]:
    """Every arm against every scalar of its reward and level, on the runs that both have.

    A scalar of another learning rate is there for arms whose best rates differ.
    """
    rows = []
    for (reward, level, arm, rate), other in curves.items():
        for key, scalar in curves.items():
            shared = [run for run in scalar.runs if run in other.runs]
            if key[:3] == (reward, level, "scalar") and shared:
                figures = compare(of_runs(scalar, shared), of_runs(other, shared))
                names = {
                    "reward": reward,
                    "level": level,
                    "arm": arm,
                    "learning_rate": rate,
                    "scalar_rate": key[3],
                }
                rows.append(names | figures)
    return rows


def of_runs(curves: Curves, runs: list[str]) -> Curves:
    """These runs alone."""
    return drawn_of(
        curves, np.array([curves.runs.index(run) for run in runs]), np.arange(curves.f1.shape[2])
    )


def drawn_of(curves: Curves, runs: NDArray[np.int64], prompts: NDArray[np.int64]) -> Curves:
    """The runs and prompts with these numbers, some perhaps several times."""
    kept = (curves.precision, curves.recall, curves.sampled)
    names = tuple(curves.runs[run] for run in runs)
    return Curves(
        names, curves.steps, curves.f1[runs][:, :, prompts], *(values[runs] for values in kept)
    )


def draw_curves(curves: Mapping[Key, Curves], learning_rate: float, path: Path) -> None:
    """Two panels per reward and level: truth F1 over steps, sampled above, greedy below; the mean
    and each run.
    """
    panels = sorted(
        {key[:2] for key in curves if key[3] == learning_rate},
        key=lambda panel: (panel[0] != "truth", panel),
    )
    figure, axes = plt.subplots(
        2, len(panels), figsize=(4.2 * len(panels), 6), squeeze=False, sharex=True
    )
    for (above, below), (reward, level) in zip(axes.T, panels, strict=True):
        arms = sorted(
            key[2] for key in curves if key[:2] == (reward, level) and key[3] == learning_rate
        )
        others = iter(cycle(COLOURS))
        for arm in sorted(arms, key=lambda arm: (arm != "scalar", arm)):
            of_arm = curves[reward, level, arm, learning_rate]
            colour = "#666666" if arm == "scalar" else next(others)
            label = f"{arm}, {len(of_arm.runs)} runs"
            smooth = moving_average(of_arm.sampled)
            draw_arm(above, np.arange(smooth.shape[1], dtype=float) + WINDOW, smooth, colour, label)
            draw_arm(below, of_arm.steps, of_arm.f1.mean(axis=2), colour, label)
        title = [*wrap(f"reward {reward}", TITLE), f"{OBJECTS[level]} objects a picture"]
        above.set_title("\n".join(title), fontsize=9)
        above.legend(fontsize=8, frameon=False, loc="lower right")
        below.set_xlabel("step")
    axes[0][0].set_ylabel("truth F1, sampled, mean of 3 steps")
    axes[1][0].set_ylabel("truth F1, held out, greedy")
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)


def draw_arm(axis: Axes, steps: Array, curves: Array, colour: str, label: str) -> None:
    """curves: (runs, steps)."""
    axis.plot(steps, curves.T, color=colour, alpha=0.2, linewidth=0.8)
    axis.plot(steps, curves.mean(axis=0), color=colour, linewidth=2, label=label)
    axis.grid(alpha=0.3)
