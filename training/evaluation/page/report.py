"""Writes one HTML file that shows what training changed: verdicts with error bars, then prompts,
the lost prompts first.

    shown = shown_prompts(prompts, answers, comparison.lost_by)
    write_report(Path("report.html"), comparison, shown)

The file needs no script and sends no request: pictures are part of the file, and style sheets do
the filtering. Completions, notes and names are hostile input. The template escapes all of these
texts, and a content security policy blocks a script in a text that was not escaped.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from spanreward.rewards.comparison.number_text import estimate_text, typeset_number
from spanreward.training.evaluation.answer_scores.metrics import METRIC_KINDS
from spanreward.training.evaluation.page.render import write_rendered
from spanreward.training.evaluation.page.shown import ShownPrompt
from spanreward.training.evaluation.statistics.comparison import Comparison
from spanreward.training.evaluation.statistics.estimates import Estimate
from spanreward.training.evaluation.statistics.pairs import first_pairs
from spanreward.training.evaluation.statistics.sentences import p_value
from spanreward.training.evaluation.statistics.slices import usable_values

HUE_COUNT = 6  # colours that the page has for models


def write_report(path: Path, comparison: Comparison, examples: Sequence[ShownPrompt]) -> None:
    """Writes the page of a comparison to `path`.

    examples: the prompts to show, in their order on the page. Raises ValueError for a span outside
    its text.
    """
    page_filters = prompt_filters(examples)
    # by model, the number of its colour; the seventh model has the colour of the first model
    hues = {}
    for number, model in enumerate(comparison.models):
        hues[model] = number % HUE_COUNT
    write_rendered(
        path,
        "report.html.jinja",
        comparison=comparison,
        setup=comparison.setup,
        pairs=comparison.pairs[::-1],
        first_pairs=first_pairs(comparison.pairs),
        bounds=drawn_ranges(comparison),
        hues=hues,
        examples=examples,
        typical_examples=typical_examples(examples),
        filters=page_filters,
        marks=filter_classes(page_filters, len(examples)),
        interval=typeset_interval,
        decimals={metric: decimals_of_metric(comparison, metric) for metric in comparison.metrics},
        kinds=METRIC_KINDS,
        p_value=p_value,
    )


def typical_examples(examples: Sequence[ShownPrompt]) -> list[ShownPrompt]:
    """Returns up to three typical prompts: one that was won, one that was lost, and one that was
    tied.

    Of the prompts that were won, the returned prompt has the median margin, and likewise for the
    others. The prompts with the largest and the smallest margin would not be typical.
    """
    typical = []
    for outcome in ("won", "lost", "tied"):
        same_outcome = [example for example in examples if example.outcome == outcome]
        same_outcome.sort(key=lambda example: abs(example.margin or 0))
        if same_outcome:
            typical.append(same_outcome[len(same_outcome) // 2])
    return typical


def prompt_filters(examples: Sequence[ShownPrompt]) -> list[tuple[str, dict[str, list[int]]]]:
    """Returns the filters of the page as (name, {value: indices of the prompts with this value}).

    Example: ("outcome", {"lost": [0, 2], "won": [1]}). The other filters are:

    - "the last answer is", with "longer", "shorter" and "as long" (`ShownPrompt.length`): the last
      model's answer against the answer of the model before it;
    - "metrics", with "agree" and "disagree" (`ShownPrompt.disagree`);
    - each slice, with the slice's values.

    A filter with a single value is left out, because it would hide nothing.
    """
    # by filter, a sequence of values for each prompt: a prompt may have several values in a slice
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
    # `usable_values` leaves out filters with a single value, or with too many values
    filters = []
    for name, values in usable_values(values_of).items():
        filters.append((name, prompts_by_value(values, values_of[name])))
    return filters


def prompts_by_value(
    values: Sequence[str], values_of_prompts: Sequence[Sequence[str]]
) -> dict[str, list[int]]:
    """Returns {value: indices of the prompts with this value}: the values ["lost", "won"] of three
    prompts with [["lost"], ["won"], ["lost"]] give {"lost": [0, 2], "won": [1]}.
    """
    prompts: dict[str, list[int]] = {}
    for value in values:
        prompts[value] = []
        for number, prompt_values in enumerate(values_of_prompts):
            if value in prompt_values:
                prompts[value].append(number)
    return prompts


def filter_classes(
    filters: Sequence[tuple[str, Mapping[str, Sequence[int]]]],
    count: int,
) -> list[str]:
    """Returns the CSS classes of each prompt, such as "f0-1 f2-0", by which a filter hides prompts.

    The class f2-0 stands for the first value of the third filter. A class consists of numbers,
    because a text of the data might close the attribute or the style sheet.

    filters: the result of `prompt_filters`. count: the number of prompts.
    """
    classes: list[list[str]] = [[] for _ in range(count)]
    for filter_number, (_, prompts_of_value) in enumerate(filters):
        for value_number, prompts in enumerate(prompts_of_value.values()):
            for prompt in prompts:
                classes[prompt].append(f"f{filter_number}-{value_number}")
    return [" ".join(classes_of_prompt) for classes_of_prompt in classes]


def drawn_ranges(comparison: Comparison) -> dict[str, tuple[float, float]]:
    """Returns the lowest and the highest difference to draw, by metric. Every range includes 0.

    All metrics with means in [-1, 1] share one range, so that a reader can compare these metrics by
    eye.
    """
    # by metric, 0 and all values that the page draws of all pairs
    values: dict[str, list[float]] = {}
    for metric in comparison.metrics:
        values[metric] = [0.0]
    for pair in comparison.pairs:
        for metric, entry in pair.metrics.items():
            gap = entry.difference
            interval = [gap.low, gap.high, gap.both_low, gap.both_high]
            ends = [gap.mean, *interval, *gap.per_seed]
            values[metric] += [value for value in ends if value is not None]
    # metrics with three decimals have means in [-1, 1], and share one range
    sharing_metrics = [metric for metric in values if decimals_of_metric(comparison, metric) == 3]
    shared_values = []
    for metric in sharing_metrics:
        shared_values += values[metric]
    # the lowest and the highest value of each metric, or of all metrics with the shared range
    ranges = {}
    for metric, metric_values in values.items():
        drawn = shared_values if metric in sharing_metrics else metric_values
        lowest = min(drawn)
        # a range is never empty, because the page divides by its width
        highest = max(*drawn, lowest + 1e-9)
        ranges[metric] = (lowest, highest)
    return ranges


def decimals_of_metric(comparison: Comparison, metric: str) -> int:
    """Returns the number of decimals for a metric: 3 for means in [-1, 1], 2 up to 10 (ratings), 1
    above 10 (lengths).
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
    """Returns a mean and its interval over prompts, such as `0.040 [0.020, 0.060]`."""
    return typeset_number(estimate_text(mean.mean, mean.low, mean.high, digits))
