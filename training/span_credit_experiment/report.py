"""The arms of the credit experiment side by side: how many steps, how far, with intervals over runs and prompts.

    curves = load_curves(Path("outputs/credit"))                # (reward, level, arm, learning rate) -> Curves
    comparison = compare(scalar, spans)                           # both of the same runs
    comparison["area"]["mean"], comparison["difference"]["low"]

A run is a seed and, in another numerical environment, the perturbation of its start: "3", "3~1e-06".
The area is the mean truth F1 of all measurements after the first step. The moving average is over three measurements.
The scalar's final truth F1 is that of its last three; a run reaches it at the first measurement whose moving
average is as high, and is counted at its last step where none is (censored).
Intervals are 95 % percentiles of a bootstrap that draws runs and, for all arms alike, prompts.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Key = tuple[str, int, str, float]  # reward, level, arm, learning rate

WINDOW = 3  # measurements of a moving average
RESAMPLES = 2000
OBJECTS = {1: "1 to 3", 2: "3 to 5", 3: "6 to 9"}
COLOURS = ("#1b7f4b", "#c77c11", "#a33b3b", "#3566a8", "#7d4aa0", "#2a9aa3")  # of the arms; the scalar is grey


@dataclass(frozen=True, slots=True)
class Curves:
    """Runs of one arm. steps: (measurements,). f1: (runs, measurements, prompts). Others: (runs, measurements)."""

    runs: tuple[str, ...]
    steps: Array
    f1: Array
    precision: Array
    recall: Array


def load_curves(folder: Path) -> dict[Key, Curves]:
    """All runs of a folder, by seed. Raises ValueError for runs of one arm that were not measured alike."""
    runs: dict[Key, list[dict[str, Any]]] = defaultdict(list)
    for path in sorted(folder.glob("level*.json")):
        run = json.loads(path.read_text())
        runs[run["reward"], run["level"], run["arm"]["name"], run["learning_rate"]].append(run)
    curves = {}
    for key, of_arm in sorted(runs.items()):
        of_arm.sort(key=lambda run: (run["seed"], run["perturbation"]))
        steps = [[measured["step"] for measured in run["evaluations"]] for run in of_arm]
        if any(row != steps[0] for row in steps):
            raise ValueError(f"the runs of level {key[1]}, {key[2]} were measured at different steps: {steps}")
        measures = {
            name: np.array([[measured[name] for measured in run["evaluations"]] for run in of_arm], dtype=float)
            for name in ("f1", "precision", "recall")
        }
        curves[key] = Curves(tuple(map(run_name, of_arm)), np.array(steps[0], dtype=float), **measures)
    return curves


def run_name(run: Mapping[str, Any]) -> str:
    return f"{run['seed']}~{run['perturbation']:g}" if run["perturbation"] else f"{run['seed']}"


def moving_average(curve: Array) -> Array:
    """Means of WINDOW measurements in a row, over the last axis but for prompts: (runs, measurements - WINDOW + 1)."""
    return np.lib.stride_tricks.sliding_window_view(curve, WINDOW, axis=1).mean(axis=-1)


def steps_to_reach(steps: Array, curve: Array, target: float) -> Array:
    """Per run of `curve`, (runs, measurements), the first step whose moving average is `target`, else the last."""
    reached = moving_average(curve) >= target
    first = np.where(reached.any(axis=1), reached.argmax(axis=1), reached.shape[1] - 1)
    return steps[WINDOW - 1 :][first]


def measure(scalar: Curves, other: Curves, runs: Sequence[int], prompts: Sequence[int]) -> dict[str, float]:
    """The figures of one draw of runs and prompts."""
    base = scalar.f1[list(runs)][:, :, list(prompts)].mean(axis=2)
    curve = other.f1[list(runs)][:, :, list(prompts)].mean(axis=2)
    target = float(moving_average(base)[:, -1].mean())
    final = float(moving_average(curve)[:, -1].mean())
    scalar_steps = float(steps_to_reach(scalar.steps, base, target).mean())
    steps = float(steps_to_reach(other.steps, curve, target).mean())
    areas = [float(curves[:, 1:].mean()) for curves in (base, curve)]
    return {
        "final": final,
        "difference": final - target,
        "area": areas[1],
        "area_difference": areas[1] - areas[0],
        "steps": steps,
        "ratio": steps / scalar_steps,
    }


def compare(scalar: Curves, other: Curves, rng_seed: int = 0) -> dict[str, Any]:
    """`measure` of all runs, each figure with its interval, and the runs' own differences of the final truth F1.

    Raises ValueError for arms of different runs or steps.
    """
    if scalar.runs != other.runs or not np.array_equal(scalar.steps, other.steps):
        raise ValueError(f"arms are compared on the same runs and steps, got {scalar.runs} and {other.runs}")
    count, prompts = len(scalar.runs), scalar.f1.shape[2]
    generator = np.random.default_rng(rng_seed)

    def draw(size: int) -> list[int]:
        drawn: list[int] = generator.integers(0, size, size).tolist()
        return drawn

    draws = [measure(scalar, other, draw(count), draw(prompts)) for _ in range(RESAMPLES)]
    found = measure(scalar, other, range(count), range(prompts))
    finals = [moving_average(curves.f1.mean(axis=2))[:, -1] for curves in (scalar, other)]
    areas = [curves.f1.mean(axis=2)[:, 1:].mean(axis=1) for curves in (scalar, other)]
    return {
        name: {
            "mean": value,
            "low": float(np.percentile([draw[name] for draw in draws], 2.5)),
            "high": float(np.percentile([draw[name] for draw in draws], 97.5)),
        }
        for name, value in found.items()
    } | {
        "runs": list(scalar.runs),
        "difference_per_run": (finals[1] - finals[0]).tolist(),
        "area_difference_per_run": (areas[1] - areas[0]).tolist(),
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
                names = {"reward": reward, "level": level, "arm": arm, "learning_rate": rate, "scalar_rate": key[3]}
                rows.append(names | figures)
    return rows


def of_runs(curves: Curves, runs: list[str]) -> Curves:
    """These runs alone."""
    rows = [curves.runs.index(run) for run in runs]
    return Curves(tuple(runs), curves.steps, curves.f1[rows], curves.precision[rows], curves.recall[rows])


def draw_curves(curves: Mapping[Key, Curves], learning_rate: float, path: Path) -> None:
    """A panel per reward and level: truth F1 over steps, the mean of the runs and, thin, every run."""
    panels = sorted(
        {key[:2] for key in curves if key[3] == learning_rate}, key=lambda panel: (panel[0] != "truth", panel)
    )
    figure, axes = plt.subplots(1, len(panels), figsize=(4.2 * len(panels), 3.4), squeeze=False)
    for axis, (reward, level) in zip(axes[0], panels, strict=True):
        arms = sorted(key[2] for key in curves if key[:2] == (reward, level) and key[3] == learning_rate)
        others = iter(cycle(COLOURS))
        for arm in sorted(arms, key=lambda arm: (arm != "scalar", arm)):
            of_arm = curves[reward, level, arm, learning_rate]
            colour = "#666666" if arm == "scalar" else next(others)
            f1 = of_arm.f1.mean(axis=2)
            axis.plot(of_arm.steps, f1.T, color=colour, alpha=0.25, linewidth=0.8)
            axis.plot(of_arm.steps, f1.mean(axis=0), color=colour, linewidth=2, label=f"{arm}, {len(f1)} runs")
        axis.set_title(f"reward {reward}, {OBJECTS[level]} objects a picture", fontsize=10)
        axis.set_xlabel("step")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8, frameon=False, loc="lower right")
    axes[0][0].set_ylabel("truth F1, held out, greedy")
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)
