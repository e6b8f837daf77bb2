"""The training curves of a page: each metric's lines, one per model and seed, as SVG paths.

curves = {"dapo": [read_curves(Path("outputs/dapo"), seed=0)]}      # {"seed": 0, "step": [1, 2], "reward": [.4, .5]}
panels(curves)[0].lines
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.ticker import MaxNLocator

from spanreward.rewards.comparison.figures import typeset
from spanreward.training.evaluation.compute import lines_of

CURVES = ("loss", "reward", "posh/precision", "posh/recall", "completions/mean_length", "entropy")
Curves = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Panel:
    """A metric's curves in a box of PANEL pixels: lines (model, seed, SVG path) and ticks (pixel, label)."""

    metric: str
    lines: list[tuple[str, Any, str]]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]


PANEL = {"width": 320, "height": 180, "left": 42, "right": 308, "top": 10, "bottom": 156}


def read_curves(folder: Path, seed: int) -> dict[str, Any]:
    """Returns the columns of a run's metrics.jsonl; only the seed and an empty step where there is none."""
    lines = [line for line in lines_of(folder / "metrics.jsonl") if "loss" in line]
    columns = {name: [line[name] for line in lines] for name in CURVES if lines and all(name in li for li in lines)}
    return {"seed": seed, "step": [line["step"] for line in lines], **columns}


def panels(curves: Curves) -> list[Panel]:
    metrics = dict.fromkeys(
        name for runs in curves.values() for run in runs for name in run if name not in ("seed", "step")
    )
    return [draw_panel(metric, curves) for metric in metrics]


def draw_panel(metric: str, curves: Curves) -> Panel:
    lines = [
        (model, run["seed"], [(x, math.nan if y is None else y) for x, y in zip(run["step"], run[metric], strict=True)])
        for model, runs in curves.items()
        for run in runs
        if metric in run
    ]
    points = [(x, y) for _, _, line in lines for x, y in line if math.isfinite(y)] or [(0, 0.0)]
    x_low, x_high = widened([x for x, _ in points])
    heights = [float(tick) for tick in MaxNLocator(nbins=4).tick_values(*widened([y for _, y in points]))]

    def across(x: float) -> float:
        return PANEL["left"] + (x - x_low) / (x_high - x_low) * (PANEL["right"] - PANEL["left"])

    def down(y: float) -> float:
        return PANEL["bottom"] - (y - heights[0]) / (heights[-1] - heights[0]) * (PANEL["bottom"] - PANEL["top"])

    def path(line: list[tuple[float, float]]) -> str:
        parts, pen = [], "M"
        for x, y in line:
            if math.isfinite(y):
                parts.append(f"{pen}{across(x):.1f} {down(y):.1f}" + ("h0" if pen == "M" else ""))
            pen = "L" if math.isfinite(y) else "M"
        return "".join(parts)

    ticks = [round(x) for x in MaxNLocator(nbins=4, integer=True).tick_values(x_low, x_high) if x == round(x)]
    return Panel(
        metric=metric,
        lines=[(model, seed, path(line)) for model, seed, line in lines],
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
