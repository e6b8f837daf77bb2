"""Compares two models on parts of the prompts (slices), to show on which prompts a model is better
or worse.

    compare_slices(later, earlier, prompts.slices, ["truth_f1", "posh_f1"], seeds)[0]
    # Slice("objects", "3", "truth_f1", Difference(-0.1, ...), holm=0.02, outcome=...)

Among twenty slices, about one is "significant" (p < 0.05) by chance alone. So verdicts over prompts
use p-values that are adjusted over the whole table (Holm). The p-values come from a test that flips
the signs of the prompts' differences. The intervals are not adjusted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import permutation_test

from spanreward.rewards.comparison.resampling import DRAW_COUNT
from spanreward.training.evaluation.statistics import estimates
from spanreward.training.evaluation.statistics.outcomes import Outcome, adjust_p_values, judge_pair

MAX_SLICE_VALUES = 12  # a column with more values holds names, not slices
ScoresOfModel = Mapping[str, estimates.Array]  # one model's scores, {metric: (seeds, prompts)}


@dataclass(frozen=True, slots=True)
class Slice:
    """The difference between two models by one metric on one slice.

    Attributes:
        slice: the name of the slice, such as "asked for".
        value: the value of the prompts in the slice, such as "question".
        metric: the name of the metric.
        difference: the difference on these prompts, with the p-value of `sign_flips` as its `p`.
        holm: the p-value adjusted over all slices and metrics of the pair; None for fewer than two
            prompts.
        outcome: the verdict on the difference.
    """

    slice: str
    value: str
    metric: str
    difference: estimates.Difference
    holm: float | None
    outcome: Outcome


def usable_values(slices: Mapping[str, Sequence[Sequence[str]]]) -> dict[str, list[str]]:
    """Returns the sorted values of every slice with at least two and at most MAX_SLICE_VALUES
    values.

    slices: by name, the values of each prompt.
    """
    values_of = {}
    for name, rows in slices.items():
        values = set(chain(*rows))
        # a slice with one value would be all prompts
        if 2 <= len(values) <= MAX_SLICE_VALUES:
            values_of[name] = sorted(values, key=by_number)
    return values_of


def by_number(value: str) -> tuple[bool, float, str]:
    """Returns a sort key for the values of a slice: (has no number, size of the number, value).

    Numbers are sorted by size: "up to 3" comes before 3, and "over 9" after 9. Values without a
    number come last, in the order of the alphabet. Example: "up to 12", "13 to 20" and "over 20"
    have the sizes 11.5, 13 and 21.
    """
    numbers = []
    for word in value.split():
        digits = word.replace(".", "", 1)  # so that "2.5" is a number too
        if digits.isdigit():
            numbers.append(word)
    size = float(numbers[0]) if numbers else 0.0
    # "over 20" comes after 20, and "up to 12" before 12
    if value.startswith("over "):
        size += 1.0
    elif value.startswith("up to "):
        size -= 0.5
    return not numbers, size, value


def compare_slices(
    later: ScoresOfModel,
    earlier: ScoresOfModel,
    slices: Mapping[str, Sequence[Sequence[str]]],
    metrics: Sequence[str],
    seeds: Sequence[int],
    clusters: Sequence[int] | None = None,
    waits: str = "",
) -> list[Slice]:
    """Returns the difference and the verdict for every slice, value and metric.

    A result is left out if no prompt has a score.

    Args:
        later, earlier: the scores of the two models.
        slices: by the slice's name, the values of each prompt.
        metrics: the names of the metrics to compare.
        seeds: a seed for each row, equal for rows of the same runs (`independent_seeds`).
        clusters: one number per prompt; prompts with equal numbers are drawn together.
        waits: the reason why the pair gets no verdict yet; "" if the pair gets a verdict.
    """
    # by (slice, value, metric)
    differences: dict[tuple[str, str, str], estimates.Difference] = {}
    for name, values in usable_values(slices).items():
        for value in values:
            # True for the prompts with this value
            chosen = np.array([value in prompt_values for prompt_values in slices[name]])
            for metric in metrics:
                difference = _difference_on(later[metric], earlier[metric], chosen, seeds, clusters)
                # no score: the metric applies to no prompt of the slice, or all judgments failed
                if difference.counted:
                    differences[name, value, metric] = difference
    # one adjustment for the whole table, so that chance alone makes hardly any slice significant
    p_values = {key: difference.p for key, difference in differences.items()}
    adjusted_p_values = adjust_p_values(p_values)
    rows = []
    for key, difference in differences.items():
        name, value, metric = key
        adjusted_p = adjusted_p_values.get(key)
        outcome = judge_pair(difference, metric, adjusted_p, waits=waits)
        rows.append(Slice(name, value, metric, difference, adjusted_p, outcome))
    return rows


def _difference_on(
    later: estimates.Array,
    earlier: estimates.Array,
    chosen: NDArray[np.bool_],
    seeds: Sequence[int],
    clusters: Sequence[int] | None,
) -> estimates.Difference:
    """Returns the difference between two models on some prompts, with the p-value of `sign_flips`.

    later, earlier: the scores of the models on all prompts, (seeds, prompts). chosen: True for each
    prompt that counts. seeds, clusters: as in `compare_slices`.
    """
    chosen_clusters: Any = None
    if clusters is not None:
        chosen_clusters = np.asarray(clusters)[chosen]
    a = later[:, chosen]
    b = earlier[:, chosen]
    difference = estimates.paired_difference(a, b, seeds, clusters=chosen_clusters)
    gaps = estimates.score_differences(a, b)
    sums, _ = estimates.in_clusters(gaps, chosen_clusters)
    return replace(difference, p=sign_flips(sums))


def sign_flips(per_prompt: estimates.Array, draws: int = DRAW_COUNT) -> float | None:
    """Returns the two-sided p-value of a true mean of 0, by a permutation test that flips the signs
    of the differences.

    The test is exact for few prompts, and takes `draws` random flips for many. None for fewer than
    two prompts. per_prompt: the difference of each prompt, or the sum of each cluster.
    """
    if len(per_prompt) < 2:
        return None
    test = permutation_test(
        (per_prompt,),
        mean_along,
        permutation_type="samples",
        n_resamples=draws,
        batch=500,  # flips that are in memory together
        rng=np.random.default_rng(0),  # the same comparison has the same p-values
    )
    return float(min(test.pvalue, 1.0))


def mean_along(values: estimates.Array, axis: int) -> Any:
    """Returns the means along `axis`. scipy requires an argument with the name `axis`."""
    return np.mean(values, axis=axis)
