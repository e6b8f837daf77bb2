"""What spans add in training against how right they are: the gain of every kind of spans by its r.

    points = points_of(tables, panels)       # what `credit table --json` and `credit panel` wrote
    points[0]["r"], points[0]["sampled"]["mean"], points[0]["sampled"]["per_run"]

r is that of `credit panel`, with labels, as `agreement spans` prints it. The gain is truth F1 at
the end, of what is sampled and of greedy texts, with add_centred 0.5 less that of the scalar of the
same run. Runs of several tables (machines) count alike. Intervals are 95 % percentiles of a
bootstrap over runs, those of r over completions.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from experiments.span_credit.arm import Arm
from experiments.span_credit.report import RESAMPLES
from spanreward.rewards.comparison.resampling import bootstrap
from spanreward.training.evaluation.statistics.span_reliability import (
    ADVISED_COEFFICIENT,
    MIN_CORRELATION,
)

# names in a table
PER_RUN = {"sampled": "sampled_difference_per_run", "greedy": "difference_per_run"}
# of sources of spans, by how their names begin: what the picture calls them, and their colour
FAMILIES = {
    "truth": ("the truth's, some flipped or dealt out anew", "#3566a8"),
    "posh:match": ("PoSh with match", "#1b7f4b"),
    "posh:": ("PoSh with a small language model", "#c77c11"),
}


def points_of(
    tables: Sequence[Sequence[Mapping[str, Any]]], panels: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """A point for every source of spans of the panels that runs of its level were trained with, the
    best r first.

    Raises ValueError where two panels have the same source at the same level, or no source has
    runs.
    """
    gains: dict[tuple[str, int, str], dict[str, list[float]]] = defaultdict(
        lambda: {name: [] for name in PER_RUN}
    )
    for row in (row for table in tables for row in table):
        if row["learning_rate"] == row["scalar_rate"]:
            for name, of_runs in PER_RUN.items():
                gains[row["reward"], row["level"], row["arm"]][name] += row[of_runs]
    points: dict[tuple[str, int], dict[str, Any]] = {}
    for panel in panels:
        for source, figures in panel["sources"].items():
            if (source, panel["level"]) in points:
                raise ValueError(
                    f"two panels of level {panel['level']} have spans of {source!r}: give one of "
                    "them"
                )
            reward, arm = trained_with(source)
            r = {name: figures["labels"]["all"][name] for name in ("r", "low", "high")}
            # r is None where nothing is wrong
            if (reward, panel["level"], arm) in gains and None not in r.values():
                gain = {
                    name: with_interval(of_runs)
                    for name, of_runs in gains[reward, panel["level"], arm].items()
                }
                points[source, panel["level"]] = {
                    "spans": source,
                    "level": panel["level"],
                    "r": r,
                } | gain
    if not points:
        raise ValueError(
            f"no run of add_centred-{ADVISED_COEFFICIENT} has spans that a panel of its level measured"
        )
    return sorted(points.values(), key=lambda point: -point["r"]["r"])


def trained_with(source: str) -> tuple[str, str]:
    """The reward, and the name of the arm, that train with this source of a panel."""
    flipped = re.fullmatch(r"truth, (\d+)% flipped", source)
    share = int(flipped[1]) / 100 if flipped else 0.0
    arm = Arm(ADVISED_COEFFICIENT, share, permuted=source == "truth, permuted")
    return source.partition(",")[0], arm.name


def with_interval(of_runs: Sequence[float]) -> dict[str, Any]:
    interval = bootstrap(of_runs, fmean, RESAMPLES)
    return {
        "mean": fmean(of_runs),
        "low": interval.low,
        "high": interval.high,
        "per_run": list(of_runs),
    }


def draw_points(points: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Gain against r, of what is sampled and of greedy texts, with 95 % intervals both ways."""
    figure, axes = plt.subplots(1, len(PER_RUN), figsize=(11, 4.4), sharey=True)
    for axis, measure in zip(axes, PER_RUN, strict=True):
        draw_measure(axis, points, measure)
    axes[0].set_ylabel(f"add_centred {ADVISED_COEFFICIENT} less scalar")
    axes[0].legend(fontsize=8, frameon=False, loc="lower right")
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)


def draw_measure(axis: Axes, points: Sequence[Mapping[str, Any]], measure: str) -> None:
    axis.axhline(0, color="#666666", linewidth=1)
    axis.axvline(MIN_CORRELATION, color="#666666", linewidth=1, linestyle=":")
    named = set()
    for point in points:
        label, colour = next(
            value for start, value in FAMILIES.items() if point["spans"].startswith(start)
        )
        r, gain = point["r"], point[measure]
        axis.errorbar(
            r["r"],
            gain["mean"],
            xerr=[[r["r"] - r["low"]], [r["high"] - r["r"]]],
            yerr=[[gain["mean"] - gain["low"]], [gain["high"] - gain["mean"]]],
            fmt="o",
            color=colour,
            elinewidth=1,
            markersize=4,
            label=None if label in named else label,
        )
        named.add(label)
        axis.annotate(
            short(point),
            (r["r"], gain["mean"]),
            xytext=(4, 3),
            textcoords="offset points",
            fontsize=7,
            color=colour,
        )
    axis.set_title(f"truth F1, {measure}", fontsize=10)
    axis.margins(x=0.12)
    axis.set_xlabel("r of spans with labels")
    axis.grid(alpha=0.3)


def short(point: Mapping[str, Any]) -> str:
    """A point's name in the picture: "10% flipped", "level 3", "checkpoint-800"."""
    source = point["spans"]
    if source.startswith("truth"):
        return source.removeprefix("truth, ")
    return f"level {point['level']}" if source == "posh:match" else source.rpartition("/")[2]
