"""The training curves of a page: each metric's lines, one per model and seed, as SVG paths.

curves = read_curves("dapo", "outputs/dapo", seed=0)        # [Curve("dapo", 0, "reward", [(1, 0.4), (2, 0.5)]), ...]
panels(curves)[0].lines
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from matplotlib.ticker import MaxNLocator

from spanreward.rewards.comparison.figures import typeset
from spanreward.training.evaluation.answers.runs import logged

CURVES = ("loss", "reward", "posh/precision", "posh/recall", "completions/mean_length", "entropy")
PANEL = {"width": 320, "height": 180, "left": 42, "right": 308, "top": 10, "bottom": 156}  # pixels


@dataclass(frozen=True, slots=True)
class Curve:
    """What one run logged of a metric. points: (step, value); a value that is nan is a gap."""

    model: str
    seed: int
    metric: str
    points: list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Panel:
    """A metric's curves in a box of PANEL pixels: lines (model, seed, SVG path) and ticks (pixel, label)."""

    metric: str
    lines: list[tuple[str, int, str]]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]


def read_curves(model: str, run: str, seed: int) -> list[Curve]:
    """Returns the metrics of CURVES that every line of a run's metrics.jsonl has; none for what is no run folder."""
    lines = [line for line in logged(run) if "loss" in line]
    names = [name for name in CURVES if lines and all(name in line for line in lines)]
    return [Curve(model, seed, name, [(line["step"], line[name]) for line in lines]) for name in names]


def panels(curves: Sequence[Curve]) -> list[Panel]:
    metrics = dict.fromkeys(curve.metric for curve in curves)
    return [draw_panel(metric, [curve for curve in curves if curve.metric == metric]) for metric in metrics]


def draw_panel(metric: str, curves: Sequence[Curve]) -> Panel:
    points = [(x, y) for curve in curves for x, y in curve.points if math.isfinite(y)] or [(0.0, 0.0)]
    x_low, x_high = widened([x for x, _ in points])
    heights = [float(tick) for tick in MaxNLocator(nbins=4).tick_values(*widened([y for _, y in points]))]

    def across(x: float) -> float:
        return PANEL["left"] + (x - x_low) / (x_high - x_low) * (PANEL["right"] - PANEL["left"])

    def down(y: float) -> float:
        return PANEL["bottom"] - (y - heights[0]) / (heights[-1] - heights[0]) * (PANEL["bottom"] - PANEL["top"])

    def path(curve: Curve) -> str:
        pieces = []
        for known, piece in groupby(curve.points, key=lambda point: math.isfinite(point[1])):
            if known:
                first, *rest = (f"{across(x):.1f} {down(y):.1f}" for x, y in piece)
                pieces.append("M" + "L".join([f"{first}h0", *rest]))  # h0: a point alone is a dot
        return "".join(pieces)

    ticks = [round(x) for x in MaxNLocator(nbins=4, integer=True).tick_values(x_low, x_high) if x == round(x)]
    return Panel(
        metric,
        lines=[(curve.model, curve.seed, path(curve)) for curve in curves],
        x_ticks=[(round(across(x), 1), f"{x}") for x in ticks if x_low <= x <= x_high],
        y_ticks=list(zip((round(down(y), 1) for y in heights), tick_labels(heights), strict=True)),
    )


def widened(values: Sequence[float]) -> tuple[float, float]:
    """Returns the lowest and highest value; where they are equal, 0.5 below and above."""
    low, high = min(values), max(values)
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def tick_labels(values: Sequence[float]) -> list[str]:
    """Returns the ticks as short text, all with as many decimals as the one that needs most."""
    short = [f"{value:g}" for value in values]
    digits = max(len(text.partition(".")[2]) for text in short)
    texts = short if any("e" in text for text in short) else [f"{value:.{digits}f}" for value in values]
    return list(map(typeset, texts))
