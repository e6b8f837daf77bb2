"""On which prompts one model is better or worse: the same differences by slice.

    compare_slices(later, earlier, prompts.slices, ["truth_f1", "posh_f1"], seeds)[0]
    # Slice("objects", "3", "truth_f1", Difference(-0.1, ...), holm=0.02, outcome=...)

Among twenty slices one is "significant" by chance. So verdicts about prompts use p-values adjusted
over the whole table (Holm), from a test that flips the signs of the prompts' differences. The
intervals are not adjusted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from scipy.stats import permutation_test

from spanreward.rewards.comparison.resampling import DRAWS
from spanreward.training.evaluation.statistics import estimates
from spanreward.training.evaluation.statistics.outcomes import Outcome, adjusted, judge_pair

MAX_SLICE_VALUES = 12  # a column with more values holds names, not slices
Scores = Mapping[str, estimates.Array]  # of one model, {metric: (seeds, prompts)}


@dataclass(frozen=True, slots=True)
class Slice:
    """The difference by one metric on a slice.

    Attributes:
        slice: its name, such as "asked for".
        value: of the prompts in it, such as "question".
        metric: the metric's name.
        difference: on these prompts; its `p` is that of `sign_flips`.
        holm: that p adjusted over the pair's table; None below two prompts.
        outcome: what may be said of it.
    """

    slice: str
    value: str
    metric: str
    difference: estimates.Difference
    holm: float | None
    outcome: Outcome


def usable(slices: Mapping[str, Sequence[Sequence[str]]]) -> dict[str, list[str]]:
    """Returns the values, sorted, of every slice that has two or more and at most
    MAX_SLICE_VALUES.
    """
    values_of = {}
    for name, rows in slices.items():
        values = set(chain(*rows))
        # one value is all prompts
        if 2 <= len(values) <= MAX_SLICE_VALUES:
            values_of[name] = sorted(values, key=by_number)
    return values_of


def by_number(value: str) -> tuple[bool, float, str]:
    """Sort key: numbers by value, "up to 3" before and "over 9" after the numbers of that size,
    then values without a number by the alphabet.
    """
    numbers = []
    for word in value.split():
        digits = word.replace(".", "", 1)  # of "2.5" too
        if digits.isdigit():
            numbers.append(word)
    size = float(numbers[0]) if numbers else 0.0
    if value.startswith("over "):
        size += 1.0
    elif value.startswith("up to "):
        size -= 0.5
    return not numbers, size, value


def compare_slices(
    later: Scores,
    earlier: Scores,
    slices: Mapping[str, Sequence[Sequence[str]]],
    metrics: Sequence[str],
    seeds: Sequence[int],
    clusters: Sequence[int] | None = None,
    waits: str = "",
) -> list[Slice]:
    """Returns a row per slice, value and metric that has a score.

    slices: by name, of each prompt its values. seeds: of independent runs. clusters: a number for
    each prompt. waits: see `judge_pair`.
    """
    differences: dict[tuple[str, str, str], estimates.Difference] = {}
    tests = {}
    for name, values in usable(slices).items():
        for value in values:
            chosen = np.array([value in row for row in slices[name]])
            chosen_clusters = None
            if clusters is not None:
                chosen_clusters = np.asarray(clusters)[chosen]
            for metric in metrics:
                a = later[metric][:, chosen]
                b = earlier[metric][:, chosen]
                difference = estimates.paired_difference(a, b, seeds, clusters=chosen_clusters)
                # none of these prompts can have the metric, or all judgments failed
                if not difference.counted:
                    continue
                gaps = estimates.differences(a, b)
                sums, _ = estimates.in_clusters(gaps, chosen_clusters)
                key = (name, value, metric)
                tests[key] = sign_flips(sums)
                differences[key] = replace(difference, p=tests[key])
    # one adjustment for the whole table
    holm = adjusted(tests)
    rows = []
    for key, difference in differences.items():
        name, value, metric = key
        adjusted_p = holm.get(key)
        outcome = judge_pair(difference, metric, adjusted_p, waits=waits)
        rows.append(Slice(name, value, metric, difference, adjusted_p, outcome))
    return rows


def sign_flips(per_prompt: estimates.Array, draws: int = DRAWS) -> float | None:
    """Returns the two-sided p-value of a mean of 0 when every difference may flip its sign. It is
    exact for few prompts and takes `draws` of the flips for many. None for fewer than two prompts.
    per_prompt: the difference of each prompt, or the sum of each cluster.
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
    """Returns the means along an axis, an argument that scipy looks for by its name."""
    return np.mean(values, axis=axis)
