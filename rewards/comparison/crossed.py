"""Interval of a mean over prompts and training seeds, where prompts and seeds are random samples.

estimate = crossed(differences, clusters)      # our scores minus theirs, shape (seeds, prompts)
estimate.low, estimate.high, estimate.p
holm([0.01, 0.04, 0.03])  # [0.03, 0.06, 0.06]: p-values that are adjusted for three tests
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from spanreward.rewards.comparison.resampling import Array

ROUNDING_VARIANCE = 1e-24  # a smaller variance is only rounding errors of equal scores


@dataclass(frozen=True, slots=True)
class Crossed:
    """A mean with its confidence interval and p-value.

    Args:
        mean: the mean, in the unit of the values.
        low: the lower bound of the mean's 95 % interval.
        high: the upper bound of the mean's 95 % interval.
        p: the two-sided p-value for the hypothesis that the true mean is 0.
        error: the standard error of the mean.
        freedom: the degrees of freedom of the interval's Student t distribution.
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
    """Returns the mean of `values` over prompts, with its interval. Each prompt has equal weight.

    values: shape (seeds, prompts), with NaN for a missing value. clusters: the cluster of each
    prompt; questions about one picture are a cluster. By default each prompt is a cluster of its
    own. With a single seed, the interval covers other prompts but no other seeds. Returns None for
    fewer than two clusters.

    The variance of the mean is Vp + max(Vs - Vps, 0) (Cameron, Gelbach and Miller, 2011, "Robust
    inference with multiway clustering", equation 2.11). Vp is the variance of the prompts' means,
    by cluster. Vs is the variance of the seeds' means. Vps is the variance of the residuals, which
    both Vp and Vs contain. The degrees of freedom are Satterthwaite's (1946), at least seeds - 1.
    """
    # keep the prompts that have a value
    present = ~np.isnan(values)
    columns = np.flatnonzero(present.any(axis=0))
    table = np.where(present, values, 0.0)[:, columns]
    present = present[:, columns]
    names = columns if clusters is None else np.asarray(clusters)[columns]
    distinct, cluster_of_prompt = np.unique(names, return_inverse=True)
    if len(distinct) < 2:
        return None
    # value = mean + deviation of the prompt + deviation of the seed + residual (`rest`)
    of_prompts = table.sum(axis=0) / present.sum(axis=0)
    mean = float(of_prompts.mean())
    rest = np.where(present, table - of_prompts, 0.0)
    values_of_seeds = np.maximum(present.sum(axis=1), 1)  # 1 avoids a division by 0
    of_seeds = rest.sum(axis=1) / values_of_seeds  # the deviation of each seed
    rest = np.where(present, rest - of_seeds[:, None], 0.0)
    seeds = len(values)
    prompts = len(of_prompts)
    groups = len(distinct)
    # Vp: sum the deviations within each cluster first, because prompts of a cluster are dependent
    small_sample = groups / (groups - 1)
    unit = small_sample / prompts**2
    cluster_sums = np.bincount(cluster_of_prompt, of_prompts - mean)
    by_prompt = unit * float(np.square(cluster_sums).sum())
    # Vs and Vps, which need at least two seeds
    by_seed = 0.0
    by_both = 0.0
    if seeds > 1:
        by_seed = float(of_seeds.var(ddof=1)) / seeds
        sums = np.stack([np.bincount(cluster_of_prompt, row) for row in rest])
        squares = float(np.square(sums).sum())
        by_both = unit * squares / (seeds * (seeds - 1))
    variance = by_prompt + max(by_seed - by_both, 0.0)
    if variance < ROUNDING_VARIANCE:
        # all values are equal up to rounding, so the mean has no error
        p = 1.0 if mean == 0 else 0.0
        return Crossed(mean, mean, mean, p, 0.0, float(groups - 1))
    # Satterthwaite's degrees of freedom: variance^2 / sum of (part^2 / degrees of the part)
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

    Of many tests, some have small p-values by chance. If adjusted p-values are compared with the
    level 0.05, the chance of any false finding is at most 0.05. Raises ValueError for a value
    outside [0, 1].
    """
    for value in p_values:
        if not 0 <= value <= 1:
            raise ValueError(f"a p-value lies in [0, 1], got {value}")
    order = np.argsort(p_values, kind="stable")
    # multiply the smallest p-value by the number of tests, the next p-value by one less, and so on
    tests_left = np.arange(len(p_values), 0, -1)
    multiplied = tests_left * np.array(p_values)[order]
    # keep the order of the tests, and keep p-values at most 1
    ascending = np.maximum.accumulate(multiplied)
    adjusted = np.empty(len(p_values))
    adjusted[order] = ascending.clip(max=1.0)
    return adjusted.tolist()
