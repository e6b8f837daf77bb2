"""The training curves of a page: each metric's lines, one per model and seed, as SVG paths.

curves = read_curves("dapo", "outputs/dapo", seed=0)        # [Curve("dapo", 0, "reward", [(1, 0.4), (2, 0.5)]), ...]
panels(curves)[0].lines
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
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
    known = [(x, y) for curve in curves for x, y in curve.points if math.isfinite(y)] or [(0.0, 0.0)]
    steps = widened([x for x, _ in known])
    heights = MaxNLocator(nbins=4).tick_values(*widened([y for _, y in known])).tolist()

    def across(x: float) -> float:
        return float(np.interp(x, steps, (PANEL["left"], PANEL["right"])))

    def down(y: float) -> float:
        return float(np.interp(y, (heights[0], heights[-1]), (PANEL["bottom"], PANEL["top"])))

    ticks = [x for x in MaxNLocator(nbins=4, integer=True).tick_values(*steps) if steps[0] <= x <= steps[1]]
    return Panel(
        metric,
        lines=[(one.model, one.seed, path([(across(x), down(y)) for x, y in one.points])) for one in curves],
        x_ticks=[(round(across(x), 1), f"{x:.0f}") for x in ticks if x == round(x)],
        y_ticks=[(round(down(y), 1), text) for y, text in zip(heights, tick_labels(heights), strict=True)],
    )


def path(points: Sequence[tuple[float, float]]) -> str:
    """Returns an SVG path through pixels. A point that is nan is a gap, and a point alone a dot (h0)."""
    pieces = [list(piece) for known, piece in groupby(points, lambda point: math.isfinite(point[1])) if known]
    drawn = [[f"{x:.1f} {y:.1f}" for x, y in piece] for piece in pieces]
    return "".join("M" + "L".join([f"{first}h0", *rest]) for first, *rest in drawn)


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
