"""One HTML file that shows what training changed: numbers with error bars, curves, completions with their wrong words.

    results = summarise_models(scores)                                   # training/evaluation/statistics.py
    curves = {"dapo": [{"seed": 0, "step": [1, 2], "reward": [0.4, 0.5]}]}
    answers = {"dapo": Answer("A blue circle.", verdict, {"truth_f1": 0.5})}
    examples = [Example(image, "Describe the picture.", ("A red circle.",), answers)]
    write_report("report.html", "Scenes", results, curves, examples, {"seeds": "0 1 2", "commit": "c808c07"})

The file is complete in itself: no script, no request, pictures as data. Completions, notes and names are hostile input:
the template escapes all of them, and a content security policy would stop what slipped through.
"""

import base64
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from matplotlib.ticker import MaxNLocator
from PIL import Image

from rewards.verdict import Status, Verdict
from training.evaluation.coloured_text import LEVELS, Segment, legible, level, segments

MINUS = "\N{MINUS SIGN}"
Curves = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """What one model wrote and what it was worth: `scores` are named numbers (None: failed), `verdict` the judge's.

    `wrong` are the characters [start, end) that a referee who knows the truth calls wrong. `reasons` are why the judge
    rated so, in its own words, by what was rated.
    """

    text: str
    verdict: Verdict
    scores: dict[str, float | None]
    wrong: tuple[tuple[int, int], ...] = ()
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ShownPrompt:
    """One held-out prompt and every model's answer to it, by model name in the order to show."""

    image: Image.Image | None
    prompt: str
    references: tuple[str, ...]
    answers: dict[str, ShownAnswer]


@dataclass(frozen=True, slots=True)
class Panel:
    """One metric's training curves in a box of PANEL pixels: (model, seed, SVG path) lines and (pixel, label) ticks."""

    metric: str
    lines: list[tuple[str, Any, str]]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]


PANEL = {"width": 320, "height": 180, "left": 42, "right": 308, "top": 10, "bottom": 156}


def write_report(
    path: str | Path,
    title: str,
    results: Mapping[str, Any],
    curves: Curves,
    examples: Sequence[ShownPrompt],
    facts: Mapping[str, str],
    warnings: Sequence[str] = (),
) -> None:
    """Write the page. `results` as from `summarise_models`, metrics and models in the order to show.

    `curves[model]` has one entry a seed: `seed`, `step`, and any metrics as lists as long as `step` (None and NaN are
    gaps). `facts` are the footer's rows: versions, commit, seeds, command. `warnings` come first on the page. Raises
    ValueError for lists of other lengths and for spans outside their text.
    """
    page = render(
        "report.html.jinja",
        title=title,
        headline=headline(results),
        warnings=warnings,
        results=results,
        metrics=list(next(iter(results["models"].values()))),
        pairs=pairs(results),
        bounds=bounds(results),
        hues={model: i % 6 for i, model in enumerate(dict.fromkeys([*results["models"], *curves]))},
        curves=curves,
        panels=panels(curves),
        panel=PANEL,
        examples=examples,
        facts=facts,
        interval=interval,
        decimals={metric: decimals(results, metric) for metric in next(iter(results["models"].values()))},
        reference_of=reference_of,
    )
    Path(path).write_text(page, encoding="utf-8")


def render(template: str, **values: Any) -> str:
    """A template of this folder, filled in: all values are escaped, and what HTML cannot hold is U+FFFD in them."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: legible(value) if type(value) is str else value,
    )
    environment.globals.update(
        levels=LEVELS,
        level=level,
        segments=segments,
        tooltip=tooltip,
        label=label,
        number=number,
        judged=judged,
        data_uri=data_uri,
    )
    return environment.get_template(template).render(values)


def headline(results: Mapping[str, Any]) -> str:
    """The page's one sentence: by how much the last model beats each earlier one in the first metric."""
    *_, last = results["models"]
    metric = next(iter(results["models"][last]))
    digits = decimals(results, metric)
    gains: list[str] = []
    for key, (later, earlier) in pairs(results).items():
        if later == last:
            entry = results["difference"][key][metric]
            seeds = [mean for mean in entry["per_seed"] if mean is not None]
            runs = "seeds" if len(set(results["seeds"])) == len(results["seeds"]) else "runs"
            above = f"{sum(mean > 0 for mean in seeds)} of {len(seeds)} {runs} above 0"
            what = f"{later} {MINUS} {earlier}" + ("" if gains else f" {label(metric)}")
            gains.append(f"{what}: {interval(entry, digits, signed=True)}, {above}")
    return "; ".join(gains) or f"{last} {label(metric)}: {interval(results['models'][last][metric], digits)}"


def pairs(results: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """The keys of `results["difference"]` with their (later, earlier) models, the last difference first."""
    names = {f"{a}_minus_{b}": (a, b) for a, b in permutations(results["models"], 2)}
    return {key: names[key] for key in reversed(results["difference"])}


def bounds(results: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """For every metric the lowest (at most 0) and highest difference to draw; metrics in [0, 1] share one range."""
    values = {metric: [0.0] for metric in next(iter(results["models"].values()))}
    for table in results["difference"].values():
        for metric, entry in table.items():
            drawn = [entry["mean"], entry["low"], entry["high"], *entry["per_seed"]]
            values[metric] += [value for value in drawn if value is not None]
    shares = [metric for metric in values if decimals(results, metric) == 3]
    together = [value for metric in shares for value in values[metric]]
    ranges = {metric: together if metric in shares else own for metric, own in values.items()}
    return {metric: (min(drawn), max(*drawn, min(drawn) + 1e-9)) for metric, drawn in ranges.items()}


def decimals(results: Mapping[str, Any], metric: str) -> int:
    """3 for a metric whose means lie in [-1, 1], 1 for others, such as lengths."""
    means = [table[metric]["mean"] for table in results["models"].values()]
    return 3 if all(mean is None or abs(mean) <= 1 for mean in means) else 1


def number(value: float | None, digits: int, signed: bool = False) -> str:
    """`value` as text, a dash for None, with a true minus sign."""
    text = "\N{EN DASH}" if value is None else f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"
    return text.replace("-", MINUS)


def interval(entry: Mapping[str, Any], digits: int, signed: bool = False) -> str:
    """`+0.040 [0.020, 0.060]` from an entry's mean, low and high; without the brackets when there is no interval."""
    mean = number(entry["mean"], digits, signed)
    if entry["low"] is None:
        return mean
    return f"{mean} [{number(entry['low'], digits)}, {number(entry['high'], digits)}]"


def label(metric: str) -> str:
    """A metric's name for people: `posh_f1` as `PoSh F1`."""
    words = {"posh": "PoSh", "f1": "F1", "sft": "SFT"}
    return " ".join(words.get(word, word) for word in metric.replace("/", " ").replace("_", " ").split())


def panels(curves: Curves) -> list[Panel]:
    """One Panel per metric of any model, in the order met, with a line per model and seed."""
    metrics = dict.fromkeys(
        name for runs in curves.values() for run in runs for name in run if name not in ("seed", "step")
    )
    return [draw_panel(metric, curves) for metric in metrics]


def draw_panel(metric: str, curves: Curves) -> Panel:
    """The curves of one metric, scaled so that all its lines fit."""
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
    """The lowest and highest value, 0.5 away from a value that is both."""
    low, high = min(values), max(values)
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def tick_labels(values: Sequence[float]) -> list[str]:
    """The ticks as short text, all with as many decimals as the one that needs most."""
    short = [f"{value:g}" for value in values]
    digits = max(len(text.partition(".")[2]) for text in short)
    texts = short if any("e" in text for text in short) else [f"{value:.{digits}f}" for value in values]
    return [text.replace("-", MINUS) for text in texts]


def data_uri(image: Image.Image, largest: int = 512) -> str:
    """`image` as a PNG inside a data: URI, shrunk to at most `largest` pixels a side."""
    small = image.convert("RGB")
    small.thumbnail((largest, largest))
    buffer = io.BytesIO()
    small.save(buffer, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def judged(verdict: Verdict) -> str:
    """The verdict in words: a score, or why there is none, never 0 for a failure."""
    if verdict.score is None:
        return f"{verdict.status.value.replace('_', ' ')}: not counted"
    empty = " (empty: nothing to judge)" if verdict.status is Status.EMPTY else ""
    return f"{verdict.score:.2f}{empty}"


def tooltip(segment: Segment) -> str:
    """What hovering over a segment says: its score, then each note on a line."""
    score = [] if segment.score is None else [f"{segment.score:.2f} {LEVELS[level(segment.score)].name}"]
    return "\n".join([*score, *segment.notes, *(["wrong, says the referee"] if segment.marked else [])])


def reference_of(example: ShownPrompt, verdict: Verdict) -> str:
    """The reference that `verdict.missed` lies on."""
    return example.references[verdict.reference]
