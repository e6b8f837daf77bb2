"""One HTML file that shows what training changed: verdicts with error bars, lost prompts first, curves.

    results = summarise_models(scores)                                   # training/evaluation/statistics.py
    curves = {"dapo": [{"seed": 0, "step": [1, 2], "reward": [0.4, 0.5]}]}
    answers = {"dapo": ShownAnswer("A blue circle.", verdict, {"truth_f1": 0.5})}
    examples = [ShownPrompt(image, "Describe the picture.", ("A red circle.",), answers)]
    write_report("report.html", "Scenes", results, curves, examples, {"seeds": "0 1 2", "commit": "c808c07"})

The file needs no script and no request: pictures are data and filters are style sheets. Completions, notes and names
are hostile input. The template escapes all of them, and a content security policy stops what slips through.
"""

from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

from spanreward.rewards.comparison import figures
from spanreward.rewards.comparison.figures import label, typeset
from spanreward.training.evaluation.curves import PANEL, Curves, panels
from spanreward.training.evaluation.outcomes import equivalence, p_value
from spanreward.training.evaluation.page import render
from spanreward.training.evaluation.referees import KINDS
from spanreward.training.evaluation.shown import ShownPrompt
from spanreward.training.evaluation.slices import usable

FEW_PAIRS = 3


def write_report(
    path: str | Path,
    title: str,
    results: Mapping[str, Any],
    curves: Curves,
    examples: Sequence[ShownPrompt],
    facts: Mapping[str, str],
) -> None:
    """Writes the page.

    results: as in results.json, or those of `summarise_models` alone; metrics and models in the order to show.
    curves[model]: per seed `seed`, `step`, and metrics as lists as long as `step` (None and NaN are gaps). facts: the
    footer's rows, such as versions and command. Raises ValueError for lists of other lengths and spans outside a text.
    """
    metrics = list(next(iter(results["models"].values())))
    found = filters(examples)
    page = render(
        "report.html.jinja",
        title=title,
        headline=headline(results),
        results=results,
        metrics=metrics,
        pairs=pairs(results),
        first=first_pairs(results),
        bounds=bounds(results),
        hues={model: i % 6 for i, model in enumerate(dict.fromkeys([*results["models"], *curves]))},
        curves=curves,
        panels=panels(curves),
        panel=PANEL,
        examples=examples,
        three=three(examples),
        filters=found,
        marks=marks(found, len(examples)),
        facts=facts,
        interval=interval,
        decimals={metric: decimals(results, metric) for metric in metrics},
        kinds=KINDS,
        p_value=p_value,
        equivalence=equivalence,
    )
    Path(path).write_text(page, encoding="utf-8")


def headline(results: Mapping[str, Any]) -> list[str]:
    """Returns the first sentences: the last model against each other one in a few words, or a lone model's mean."""
    *_, last = results["models"]
    named = pairs(results)
    if results.get("headlines"):
        return [results["headlines"][pair] for pair in first_pairs(results) if named[pair][0] == last]
    metric = next(iter(results["models"][last]))
    return [f"{last} {label(metric)}: {interval(results['models'][last][metric], decimals(results, metric))}"]


def first_pairs(results: Mapping[str, Any]) -> list[str]:
    """Returns the pairs that a reader sees first: all of up to FEW_PAIRS, else those of the last model."""
    *_, last = results["models"]
    found = pairs(results)
    return [key for key, (later, _) in found.items() if later == last or len(found) <= FEW_PAIRS]


def three(examples: Sequence[ShownPrompt]) -> list[ShownPrompt]:
    """Returns the middle one, by its margin, of the prompts that were won, of those lost, and of those tied."""
    found = [[one for one in examples if one.outcome == outcome] for outcome in ("won", "lost", "tied")]
    ordered = [sorted(group, key=lambda one: abs(one.margin or 0)) for group in found if group]
    return [group[len(group) // 2] for group in ordered]


def filters(examples: Sequence[ShownPrompt]) -> list[tuple[str, dict[str, list[int]]]]:
    """Returns the filters of prompts that have two values or more, as (name, {value: indices of its prompts})."""
    places: dict[str, Sequence[Sequence[str]]] = {
        "outcome": [(one.outcome,) for one in examples],
        "the last answer is": [(one.length,) for one in examples],
        "referees": [("disagree" if one.disagree else "agree",) for one in examples],
        **{name: [one.slices[name] for one in examples] for name in (examples[0].slices if examples else ())},
    }
    return [
        (name, {value: [n for n, row in enumerate(places[name]) if value in row] for value in values})
        for name, values in usable(places).items()
    ]


def marks(chosen: Sequence[tuple[str, Mapping[str, Sequence[int]]]], count: int) -> list[str]:
    """Returns each prompt's CSS classes: f2-0 is the first value of the third filter. They hold no text of the data."""
    classes: list[list[str]] = [[] for _ in range(count)]
    for number, (_, values) in enumerate(chosen):
        for place, prompts in enumerate(values.values()):
            for prompt in prompts:
                classes[prompt].append(f"f{number}-{place}")
    return [" ".join(of_prompt) for of_prompt in classes]


def pairs(results: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Returns the keys of `results["difference"]` with their (later, earlier) models, the last difference first."""
    names = {f"{a}_minus_{b}": (a, b) for a, b in permutations(results["models"], 2)}
    return {key: names[key] for key in reversed(results["difference"])}


def bounds(results: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Returns, by metric, the lowest (at most 0) and highest difference to draw; metrics in [0, 1] share one range."""
    values = {metric: [0.0] for metric in next(iter(results["models"].values()))}
    for table in results["difference"].values():
        for metric, entry in table.items():
            drawn = [
                entry["mean"],
                *(entry[end] for end in ("low", "high", "both_low", "both_high")),
                *entry["per_seed"],
            ]
            values[metric] += [value for value in drawn if value is not None]
    shares = [metric for metric in values if decimals(results, metric) == 3]
    together = [value for metric in shares for value in values[metric]]
    ranges = {metric: together if metric in shares else own for metric, own in values.items()}
    return {metric: (min(drawn), max(*drawn, min(drawn) + 1e-9)) for metric, drawn in ranges.items()}


def decimals(results: Mapping[str, Any], metric: str) -> int:
    """Returns 3 for a metric with means in [-1, 1], 2 up to 10 (ratings), 1 for others (lengths)."""
    means = [abs(table[metric]["mean"]) for table in results["models"].values() if table[metric]["mean"] is not None]
    return 3 if max(means, default=0) <= 1 else 2 if max(means) <= 10 else 1


def interval(entry: Mapping[str, Any], digits: int, signed: bool = False) -> str:
    """Returns `+0.040 [0.020, 0.060]` from an entry's mean, low and high."""
    return typeset(figures.estimate(entry["mean"], entry["low"], entry["high"], digits, "+" if signed else ""))
