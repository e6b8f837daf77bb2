"""One interval for a mean over prompts and training seeds, both of which could have been others.

estimate = crossed(differences, clusters)      # (seeds, prompts): ours less theirs
estimate.low, estimate.high, estimate.p
holm([0.01, 0.04, 0.03])  # [0.03, 0.06, 0.06]: several tests at once
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from spanreward.rewards.comparison.resampling import Array

ROUNDING_VARIANCE = 1e-24  # of scores that differ by rounding


@dataclass(frozen=True, slots=True)
class Crossed:
    """A mean and how sure it is.

    Args:
        mean: the mean, in the unit of the values.
        low: the lower bound of its 95 % interval.
        high: the upper bound.
        p: the two-sided p-value of a true mean of 0.
        error: the standard error of the mean.
        freedom: the degrees of freedom of Student's t behind the interval.
    """

    mean: float
    low: float
    high: float
    p: float
    error: float
    freedom: float


def crossed(
    values: Array, clusters: Sequence[int] | NDArray[np.int64] | None = None
) -> Crossed | None:
    """Returns the mean of `values`, (seeds, prompts) with NaN where there is none, each prompt
    counting once.

    clusters: which prompts belong together, such as questions about one picture; by default none. A
    single row is a fixed system, whose interval is over prompts alone. None for fewer than two
    clusters.

    The variance of a mean over crossed factors is Vp + Vs - Vps: of prompts' means (by cluster), of
    seeds' means, and of what is left, which is in both (Cameron, Gelbach and Miller, 2011, "Robust
    inference with multiway clustering", equation 2.11). Vs - Vps counts as 0 below 0. Degrees of
    freedom are Satterthwaite's (1946), at least those of the seeds.
    """
    present = ~np.isnan(values)
    columns = np.flatnonzero(present.any(axis=0))  # the prompts that have a value
    table = np.where(present, values, 0.0)[:, columns]
    present = present[:, columns]
    names = columns if clusters is None else np.asarray(clusters)[columns]
    distinct, cluster_of_prompt = np.unique(names, return_inverse=True)
    if len(distinct) < 2:
        return None
    # A value is the mean, plus its prompt's deviation, plus its seed's, plus a rest.
    of_prompts = table.sum(axis=0) / present.sum(axis=0)
    mean = float(of_prompts.mean())
    rest = np.where(present, table - of_prompts, 0.0)
    values_of_seeds = np.maximum(present.sum(axis=1), 1)  # a seed without any divides 0 by 1
    of_seeds = rest.sum(axis=1) / values_of_seeds  # less the mean
    rest = np.where(present, rest - of_seeds[:, None], 0.0)
    seeds = len(values)
    prompts = len(of_prompts)
    groups = len(distinct)
    # Vp: deviations are summed within a cluster first, as its prompts depend on each other
    small_sample = groups / (groups - 1)
    unit = small_sample / prompts**2
    cluster_sums = np.bincount(cluster_of_prompt, of_prompts - mean)
    by_prompt = unit * float(np.square(cluster_sums).sum())
    # Vs and Vps, which a single seed does not show
    by_seed = 0.0
    by_both = 0.0
    if seeds > 1:
        by_seed = float(of_seeds.var(ddof=1)) / seeds
        sums = np.stack([np.bincount(cluster_of_prompt, row) for row in rest])
        squares = float(np.square(sums).sum())
        by_both = unit * squares / (seeds * (seeds - 1))
    variance = by_prompt + max(by_seed - by_both, 0.0)
    if variance < ROUNDING_VARIANCE:
        # all values are equal up to rounding: the mean is certain, and so is whether it is 0
        p = 1.0 if mean == 0 else 0.0
        return Crossed(mean, mean, mean, p, 0.0, float(groups - 1))
    # Satterthwaite: variance squared over the sum of each part squared by its own degrees
    freedom = by_prompt**2 / (groups - 1)
    if seeds > 1:
        of_both = by_both**2 / ((seeds - 1) * (groups - 1))
        freedom += by_seed**2 / (seeds - 1) + of_both
    degrees = max(variance**2 / freedom, seeds - 1)
    student = stats.t(degrees)
    error = variance**0.5
    half = float(student.ppf(0.975)) * error
    p = float(2 * student.sf(abs(mean) / error))
    return Crossed(mean, mean - half, mean + half, p, error, float(degrees))


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns the p-values of several tests, in order, adjusted by their number (Holm, 1979).

    Of many tests one has a small p-value by chance. Comparing the adjusted values with a level
    keeps the chance of any false finding below that level. Raises ValueError for a value outside
    [0, 1].
    """
    for value in p_values:
        if not 0 <= value <= 1:
            raise ValueError(f"a p-value lies in [0, 1], got {value}")
    order = np.argsort(p_values, kind="stable")
    # The smallest is multiplied by the number of tests, the next by one less, and so on.
    tests_left = np.arange(len(p_values), 0, -1)
    multiplied = tests_left * np.array(p_values)[order]
    # no test becomes surer than one with a smaller p-value, and no p-value is above 1
    ascending = np.maximum.accumulate(multiplied)
    adjusted = np.empty(len(p_values))
    adjusted[order] = ascending.clip(max=1.0)
    return adjusted.tolist()
