"""Where span credit pays: what it adds by the objects of a picture and the completions of a step.

    cells = cells_of([Path("outputs/map/n16"), Path("outputs/map/n128")])
    # a folder of runs for each batch
    cells[0]["share"]["mean"]          # the scalar's steps that the same reward takes with spans

Truth F1 is that of what the policy samples, on pictures that it has not seen before. `gain` is that
of the last ten steps less the scalar's of the same runs. `share`: the steps until the mean of ten,
over the runs, is as high as the scalar's last ten, over the steps that the scalar took for that;
one that never is counts as its last step. Intervals are 95 % percentiles of a bootstrap over runs.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from experiments.span_credit.report import (
    LAST,
    OBJECTS,
    RESAMPLES,
    Array,
    Curves,
    load_curves,
    of_runs,
)

SOURCES = {  # what panels show: reward and arm, and what they are called
    ("truth", "add_centred-0.5"): "the truth's spans",
    ("truth", "add_centred-0.5-flipped-0.2"): "the truth's, a fifth flipped",
    ("posh:match", "add_centred-0.5"): "PoSh with match",
}
NAMES = ("arm", "level", "completions", "reward")  # which tell a cell from another
PALEST = 0.1  # of a gain in truth F1, at which the colour is full


def cells_of(folders: Sequence[Path]) -> list[dict[str, Any]]:
    """A cell for each folder's reward, level and arm that has runs of the scalar too."""
    cells = []
    for folder in folders:
        curves = load_curves(folder)
        paths = sorted(folder.glob("level*.json"))
        # those of all its runs
        completions = json.loads(paths[0].read_text("utf-8"))["completions"] if paths else 0
        for (reward, level, arm, rate), other in curves.items():
            scalar = curves.get((reward, level, "scalar", rate))
            runs = [] if scalar is None else [run for run in scalar.runs if run in other.runs]
            if scalar is not None and runs and arm != "scalar":
                names = {"completions": completions, "level": level, "reward": reward, "arm": arm}
                names["steps"] = scalar.sampled.shape[1]
                cells.append(names | compare(of_runs(scalar, runs), of_runs(other, runs)))
    return cells


def with_earlier(
    cells: Sequence[dict[str, Any]], earlier: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The cells, and those of earlier figures whose runs are not measured anew, in the order of the
    page.
    """
    found = {
        (cell["reward"] != "truth", *(cell[name] for name in NAMES)): cell
        for cell in [*earlier, *cells]
    }
    return [found[key] for key in sorted(found)]


def compare(scalar: Curves, other: Curves, rng_seed: int = 0) -> dict[str, Any]:
    """gain and share of the same runs, with intervals, and every run's own gain."""
    generator, count = np.random.default_rng(rng_seed), len(scalar.runs)
    draws = [
        measure(scalar.sampled[drawn], other.sampled[drawn])
        for drawn in generator.integers(count, size=(RESAMPLES, count))
    ]
    found: dict[str, Any] = {"runs": list(scalar.runs)}
    for place, (name, value) in enumerate(
        zip(("gain", "share"), measure(scalar.sampled, other.sampled), strict=True)
    ):
        low, high = np.percentile([draw[place] for draw in draws], [2.5, 97.5])
        found[name] = {"mean": value, "low": float(low), "high": float(high)}
    own = other.sampled[:, -LAST:].mean(axis=1) - scalar.sampled[:, -LAST:].mean(axis=1)
    return found | {"gain_per_run": own.round(4).tolist()}


def measure(scalar: Array, other: Array) -> tuple[float, float]:
    """The gain and the share of the scalar's steps. Both: (runs, steps)."""
    target = float(scalar[:, -LAST:].mean())

    def steps(sampled: Array) -> int:
        smooth = np.convolve(sampled.mean(axis=0), np.full(LAST, 1 / LAST), mode="valid")
        reached = np.flatnonzero(smooth >= target - 1e-12)
        return LAST + (int(reached[0]) if len(reached) else len(smooth) - 1)

    return float(other[:, -LAST:].mean()) - target, steps(other) / steps(scalar)


def draw_map(cells: Sequence[Mapping[str, Any]], path: Path) -> None:
    """A panel for each source of spans: rows are levels, columns the completions of a step."""
    levels, sizes = (sorted({cell[key] for cell in cells}) for key in ("level", "completions"))
    figure, axes = plt.subplots(
        1, len(SOURCES), figsize=(3.6 * len(SOURCES), 0.8 * len(levels) + 1.2), squeeze=False
    )
    for axis, ((reward, arm), title) in zip(axes[0], SOURCES.items(), strict=True):
        gains = np.full((len(levels), len(sizes)), np.nan)
        for cell in cells:
            if (cell["reward"], cell["arm"]) == (reward, arm):
                row, column = levels.index(cell["level"]), sizes.index(cell["completions"])
                gains[row, column] = cell["gain"]["mean"]
                said = (
                    f"{cell['gain']['mean']:+.3f}\n{cell['share']['mean']:.0%} of the "
                    f"steps\n{len(cell['runs'])} runs"
                )
                axis.text(column, row, said, ha="center", va="center", fontsize=7)
        axis.imshow(gains, cmap="RdYlGn", vmin=-PALEST, vmax=PALEST, alpha=0.6, aspect="auto")
        axis.set_xticks(range(len(sizes)), sizes)
        axis.set_yticks(range(len(levels)), [OBJECTS[level] for level in levels])
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("completions of a step", fontsize=8)
        axis.tick_params(labelsize=8)
    axes[0][0].set_ylabel("objects of a picture", fontsize=8)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)
