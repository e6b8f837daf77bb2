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

HUES = 6  # colours that the page has for models


def write_report(path: Path, comparison: Comparison, examples: Sequence[ShownPrompt]) -> None:
    """Writes the page. examples: the prompts to show, in their order on the page. Raises ValueError
    for spans outside a text.
    """
    page_filters = prompt_filters(examples)
    # the seventh model has the first one's colour again
    hues = {}
    for number, model in enumerate(comparison.models):
        hues[model] = number % HUES
    write_rendered(
        path,
        "report.html.jinja",
        comparison=comparison,
        setup=comparison.setup,
        pairs=comparison.pairs[::-1],
        first=first_pairs(comparison.pairs),
        bounds=drawn_ranges(comparison),
        hues=hues,
        examples=examples,
        three=middle_examples(examples),
        filters=page_filters,
        marks=filter_classes(page_filters, len(examples)),
        interval=typeset_interval,
        decimals={metric: decimals(comparison, metric) for metric in comparison.metrics},
        kinds=KINDS,
        p_value=p_value,
    )


def middle_examples(examples: Sequence[ShownPrompt]) -> list[ShownPrompt]:
    """Returns the middle one, by its margin, of the prompts that were won, of those lost, and of
    those tied: examples that are typical, as the best and the worst case are not.
    """
    middle = []
    for outcome in ("won", "lost", "tied"):
        group = [example for example in examples if example.outcome == outcome]
        group.sort(key=lambda example: abs(example.margin or 0))
        if group:
            middle.append(group[len(group) // 2])
    return middle


def prompt_filters(examples: Sequence[ShownPrompt]) -> list[tuple[str, dict[str, list[int]]]]:
    """Returns the filters of prompts that have two values or more, as (name, {value: indices of its
    prompts}).
    """
    # by filter, of each prompt its values; a slice may have several
    values_of: dict[str, list[Sequence[str]]] = {
        "outcome": [],
        "the last answer is": [],
        "metrics": [],
    }
    for example in examples:
        agreement = "disagree" if example.disagree else "agree"
        values_of["outcome"].append((example.outcome,))
        values_of["the last answer is"].append((example.length,))
        values_of["metrics"].append((agreement,))
    # all prompts have the same slices
    if examples:
        for name in examples[0].slices:
            values_of[name] = [example.slices[name] for example in examples]
    # a filter with one value would hide nothing
    filters = []
    for name, values in usable(values_of).items():
        prompts: dict[str, list[int]] = {}
        for value in values:
            prompts[value] = []
        for number, prompt_values in enumerate(values_of[name]):
            for value in values:
                if value in prompt_values:
                    prompts[value].append(number)
        filters.append((name, prompts))
    return filters


def filter_classes(
    filters: Sequence[tuple[str, Mapping[str, Sequence[int]]]],
    count: int,
) -> list[str]:
    """Returns each prompt's CSS classes: f2-0 is the first value of the third filter.

    They hold no text of the data, which might close the attribute or the style sheet. filters: of
    `prompt_filters`. count: of the prompts.
    """
    classes: list[list[str]] = [[] for _ in range(count)]
    for number, (_, prompts_of) in enumerate(filters):
        for place, prompts in enumerate(prompts_of.values()):
            for prompt in prompts:
                classes[prompt].append(f"f{number}-{place}")
    return list(map(" ".join, classes))


def drawn_ranges(comparison: Comparison) -> dict[str, tuple[float, float]]:
    """Returns, by metric, the lowest (at most 0) and highest difference to draw; metrics in [0, 1]
    share one range.
    """
    # by metric, whatever the page draws of any pair, and the line at 0
    values: dict[str, list[float]] = {}
    for metric in comparison.metrics:
        values[metric] = [0.0]
    for pair in comparison.pairs:
        for metric, entry in pair.metrics.items():
            gap = entry.difference
            interval = [gap.low, gap.high, gap.both_low, gap.both_high]
            ends = [gap.mean, *interval, *gap.per_seed]
            values[metric] += [value for value in ends if value is not None]
    # metrics in [0, 1] are compared with each other by eye, so they have one scale
    shares = [metric for metric in values if decimals(comparison, metric) == 3]
    share_values = []
    for metric in shares:
        share_values += values[metric]
    ranges = {}
    for metric, metric_values in values.items():
        drawn = share_values if metric in shares else metric_values
        lowest = min(drawn)
        # a range is never empty, since the page divides by it
        highest = max(*drawn, lowest + 1e-9)
        ranges[metric] = (lowest, highest)
    return ranges


def decimals(comparison: Comparison, metric: str) -> int:
    """Returns 3 for a metric with means in [-1, 1], 2 up to 10 (ratings), 1 for others
    (lengths).
    """
    sizes = []
    for table in comparison.models.values():
        mean = table[metric].mean
        if mean is not None:
            sizes.append(abs(mean))
    largest = max(sizes, default=0)
    if largest <= 1:
        return 3
    if largest <= 10:
        return 2
    return 1


def typeset_interval(mean: Estimate, digits: int) -> str:
    """Returns `0.040 [0.020, 0.060]` from an estimate's mean, low and high."""
    return typeset(estimate(mean.mean, mean.low, mean.high, digits))
