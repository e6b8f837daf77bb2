"""On which prompts one model is better or worse: the same differences by slice.

    compare_slices(later, earlier, prompts.slices, ["truth_f1", "posh_f1"], seeds)[0]
    # Slice("objects", "3", "truth_f1", Difference(-0.1, ...), holm=0.02, outcome=...)

Among twenty slices one is "significant" by chance. So verdicts about prompts use p-values adjusted
over the whole table (Holm), from a test that flips the signs of the prompts' differences. The
intervals are not adjusted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import permutation_test

from spanreward.rewards.comparison.resampling import DRAWS
from spanreward.training.evaluation.statistics import estimates
from spanreward.training.evaluation.statistics.outcomes import Outcome, adjusted, judge_pair

SLICED = 12  # a column with more values holds names, not slices
Scores = Mapping[str, estimates.Array]  # of one model, {metric: (seeds, prompts)}


@dataclass(frozen=True, slots=True)
class Slice:
    """The difference by one metric on a slice.

    `p`: of `sign_flips`; `holm`: adjusted; None below two prompts.
    """

    slice: str
    value: str
    metric: str
    difference: estimates.Difference
    holm: float | None
    outcome: Outcome


def usable(slices: Mapping[str, Sequence[Sequence[str]]]) -> dict[str, list[str]]:
    """Returns the values, sorted, of every slice that has two or more and at most SLICED."""
    found = {
        name: sorted({value for row in rows for value in row}, key=natural)
        for name, rows in slices.items()
    }
    return {name: values for name, values in found.items() if 2 <= len(values) <= SLICED}


def natural(value: str) -> tuple[bool, float, str]:
    """Sort key: numbers by value, "up to 3" before and "over 9" after the numbers of that size."""
    words = value.split()
    number = next((float(word) for word in words if word.replace(".", "", 1).isdigit()), None)
    return (
        number is None,
        (number or 0.0) + (value.startswith("over ")) - 0.5 * value.startswith("up to "),
        value,
    )


def compare_slices(
    later: Scores,
    earlier: Scores,
    slices: Mapping[str, Sequence[Sequence[str]]],
    metrics: Sequence[str],
    seeds: Sequence[int],
    clusters: Sequence[int] | None = None,
    waits: str = "",
) -> list[Slice]:
    """Returns a row per slice, value and metric that has a score. seeds: of independent runs.
    waits: see `judge_pair`.
    """
    found: dict[tuple[str, str, str], estimates.Difference] = {}
    for name, value in (
        (name, value) for name, values in usable(slices).items() for value in values
    ):
        chosen = np.array([value in row for row in slices[name]])
        own = None if clusters is None else np.asarray(clusters)[chosen]
        for metric in metrics:
            a = later[metric][:, chosen]
            b = earlier[metric][:, chosen]
            one = estimates.paired_difference(a, b, seeds, clusters=own)
            if one.counted:
                sums, _ = estimates.in_clusters(estimates.differences(a, b), own)
                found[name, value, metric] = replace(one, p=sign_flips(sums))
    holm = adjusted({key: one.p for key, one in found.items()})
    rows = []
    for key, one in found.items():
        outcome = judge_pair(one, key[2], holm.get(key), waits=waits)
        rows.append(Slice(*key, one, holm.get(key), outcome))
    return rows


def sign_flips(per_prompt: estimates.Array, draws: int = DRAWS) -> float | None:
    """Returns the two-sided p-value of a mean of 0 when every difference may flip its sign. It is
    exact for few prompts and takes `draws` of the flips for many. None for fewer than two prompts.
    """
    if len(per_prompt) < 2:
        return None
    test = permutation_test(
        (per_prompt,),
        lambda values, axis: np.mean(values, axis=axis),
        permutation_type="samples",
        n_resamples=draws,
        batch=500,
        rng=np.random.default_rng(0),
    )
    return float(min(test.pvalue, 1.0))
