"""One HTML file that shows what training changed: verdicts with error bars, lost prompts first.

    shown = shown_prompts(prompts, answers, comparison.lost_by)
    write_report(Path("report.html"), comparison, shown)

The file needs no script and no request: pictures are data and filters are style sheets.
Completions, notes and names are hostile input. The template escapes all of them, and a content
security policy stops what slips through.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from spanreward.rewards.comparison.figures import estimate, typeset
from spanreward.training.evaluation.answer_scores.metrics import KINDS
from spanreward.training.evaluation.page.render import write_rendered
from spanreward.training.evaluation.page.shown import ShownPrompt
from spanreward.training.evaluation.statistics.comparison import Comparison
from spanreward.training.evaluation.statistics.estimates import Estimate
from spanreward.training.evaluation.statistics.pairs import first_pairs
from spanreward.training.evaluation.statistics.sentences import p_value
from spanreward.training.evaluation.statistics.slices import usable


def write_report(path: Path, comparison: Comparison, examples: Sequence[ShownPrompt]) -> None:
    """Writes the page. Raises ValueError for spans outside a text."""
    found = filters(examples)
    write_rendered(
        path,
        "report.html.jinja",
        comparison=comparison,
        setup=comparison.setup,
        pairs=comparison.pairs[::-1],
        first=first_pairs(comparison.pairs),
        bounds=bounds(comparison),
        hues={model: number % 6 for number, model in enumerate(comparison.models)},
        examples=examples,
        three=three(examples),
        filters=found,
        marks=marks(found, len(examples)),
        interval=interval,
        decimals={metric: decimals(comparison, metric) for metric in comparison.metrics},
        kinds=KINDS,
        p_value=p_value,
    )


def three(examples: Sequence[ShownPrompt]) -> list[ShownPrompt]:
    """Returns the middle one, by its margin, of the prompts that were won, of those lost, and of
    those tied.
    """
    middle = []
    for outcome in ("won", "lost", "tied"):
        group = [example for example in examples if example.outcome == outcome]
        group.sort(key=lambda example: abs(example.margin or 0))
        if group:
            middle.append(group[len(group) // 2])
    return middle


def filters(examples: Sequence[ShownPrompt]) -> list[tuple[str, dict[str, list[int]]]]:
    """Returns the filters of prompts that have two values or more, as (name, {value: indices of its
    prompts}).
    """
    places: dict[str, Sequence[Sequence[str]]] = {
        "outcome": [(one.outcome,) for one in examples],
        "the last answer is": [(one.length,) for one in examples],
        "metrics": [("disagree" if one.disagree else "agree",) for one in examples],
    }
    if examples:
        for name in examples[0].slices:
            places[name] = [example.slices[name] for example in examples]
    usable_filters = []
    for name, values in usable(places).items():
        prompts: dict[str, list[int]] = {value: [] for value in values}
        for number, values_of_prompt in enumerate(places[name]):
            for value in prompts:
                if value in values_of_prompt:
                    prompts[value].append(number)
        usable_filters.append((name, prompts))
    return usable_filters


def marks(chosen: Sequence[tuple[str, Mapping[str, Sequence[int]]]], count: int) -> list[str]:
    """Returns each prompt's CSS classes: f2-0 is the first value of the third filter.

    They hold no text of the data.
    """
    classes: list[list[str]] = [[] for _ in range(count)]
    for number, (_, values) in enumerate(chosen):
        for place, prompts in enumerate(values.values()):
            for prompt in prompts:
                classes[prompt].append(f"f{number}-{place}")
    return [" ".join(of_prompt) for of_prompt in classes]


def bounds(comparison: Comparison) -> dict[str, tuple[float, float]]:
    """Returns, by metric, the lowest (at most 0) and highest difference to draw; metrics in [0, 1]
    share one range.
    """
    values: dict[str, list[float]] = {metric: [0.0] for metric in comparison.metrics}
    for pair in comparison.pairs:
        for metric, entry in pair.metrics.items():
            found = entry.difference
            ends = [found.mean, found.low, found.high, found.both_low, found.both_high]
            ends += found.per_seed
            values[metric] += [value for value in ends if value is not None]
    shares = [metric for metric in values if decimals(comparison, metric) == 3]
    together = [value for metric in shares for value in values[metric]]
    ranges = {}
    for metric, own in values.items():
        drawn = together if metric in shares else own
        lowest = min(drawn)
        ranges[metric] = (lowest, max(*drawn, lowest + 1e-9))
    return ranges


def decimals(comparison: Comparison, metric: str) -> int:
    """Returns 3 for a metric with means in [-1, 1], 2 up to 10 (ratings), 1 for others
    (lengths).
    """
    means = [table[metric].mean for table in comparison.models.values()]
    largest = max((abs(mean) for mean in means if mean is not None), default=0)
    if largest <= 1:
        return 3
    return 2 if largest <= 10 else 1


def interval(found: Estimate, digits: int) -> str:
    """Returns `0.040 [0.020, 0.060]` from an estimate's mean, low and high."""
    return typeset(estimate(found.mean, found.low, found.high, digits))
