"""Interval of a mean over prompts and training seeds, where prompts and seeds are random samples.

estimate = crossed_estimate(differences, clusters)  # our minus their scores, (seeds, prompts)
estimate.low, estimate.high, estimate.p
holm_adjusted([0.01, 0.04, 0.03])  # [0.03, 0.06, 0.06]: p-values that are adjusted for three tests
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

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


def crossed_estimate(
    values: Array, clusters: Sequence[int] | NDArray[np.int64] | None = None
) -> Crossed | None:
    """Returns the mean of `values` over prompts, with its interval. Each prompt has equal weight.

    values: shape (seeds, prompts), with NaN for a missing value. clusters: the cluster of each
    prompt; questions about one picture are a cluster. By default each prompt is a cluster of its
    own. With a single seed, the interval covers other prompts but no other seeds. Returns None for
    fewer than two clusters.

    The variance of the mean is Vp + max(Vs - Vps, 0) (Cameron, Gelbach and Miller, 2011, "Robust
    inference with multiway clustering", equation 2.11). `_Variances` explains the three terms. The
    degrees of freedom are Satterthwaite's (1946), at least seeds - 1.
    """
    # keep the prompts that have a value
    present = ~np.isnan(values)
    columns = np.flatnonzero(present.any(axis=0))
    table = np.where(present, values, 0.0)[:, columns]
    present = present[:, columns]
    names = columns if clusters is None else np.asarray(clusters)[columns]
    distinct, cluster_of_prompt = np.unique(names, return_inverse=True)
    groups = len(distinct)
    if groups < 2:
        return None
    means_of_prompts = table.sum(axis=0) / present.sum(axis=0)
    mean = float(means_of_prompts.mean())
    terms = _variances(table, present, means_of_prompts, cluster_of_prompt, groups)
    variance = terms.prompts + max(terms.seeds - terms.residuals, 0.0)
    if variance < ROUNDING_VARIANCE:
        # all values are equal up to rounding, so the mean has no error
        p = 1.0 if mean == 0 else 0.0
        return Crossed(mean, mean, mean, p, 0.0, float(groups - 1))
    degrees = _degrees_of_freedom(terms, variance, len(values), groups)
    student = stats.t(degrees)
    error = variance**0.5
    half = float(student.ppf(0.975)) * error
    p = float(2 * student.sf(abs(mean) / error))
    return Crossed(mean, mean - half, mean + half, p, error, float(degrees))


class _Variances(NamedTuple):
    """The three terms of the variance of a mean over prompts and seeds.

    prompts: Vp, the variance of the prompts' means, by cluster.
    seeds: Vs, the variance of the seeds' means; 0 for a single seed.
    residuals: Vps, the variance of the residuals, which both Vp and Vs contain; 0 for a single
    seed.
    """

    prompts: float
    seeds: float
    residuals: float


def _degrees_of_freedom(terms: _Variances, variance: float, seeds: int, groups: int) -> float:
    """Returns Satterthwaite's degrees of freedom, variance^2 / sum of (term^2 / degrees of the
    term), at least seeds - 1.

    variance: of the mean, made of the terms. groups: the number of clusters of prompts.
    """
    sum_of_terms = terms.prompts**2 / (groups - 1)
    if seeds > 1:
        of_residuals = terms.residuals**2 / ((seeds - 1) * (groups - 1))
        sum_of_terms += terms.seeds**2 / (seeds - 1) + of_residuals
    return max(variance**2 / sum_of_terms, seeds - 1)


def _variances(
    table: Array,
    present: NDArray[np.bool_],
    means_of_prompts: Array,
    cluster_of_prompt: NDArray[np.int64],
    groups: int,
) -> _Variances:
    """Returns the terms of the variance of a mean. The values are split into parts: value = mean +
    deviation of the prompt + deviation of the seed + residual.

    table: the values, (seeds, prompts), with 0 for a missing value. present: whether a value is
    there, (seeds, prompts). groups: the number of clusters.
    """
    seeds, prompts = table.shape
    mean = float(means_of_prompts.mean())
    from_prompts = np.where(present, table - means_of_prompts, 0.0)
    values_of_seeds = np.maximum(present.sum(axis=1), 1)  # 1 avoids a division by 0
    deviations_of_seeds = from_prompts.sum(axis=1) / values_of_seeds
    residuals = np.where(present, from_prompts - deviations_of_seeds[:, None], 0.0)
    # sum the deviations within each cluster first, because prompts of a cluster are dependent
    small_sample = groups / (groups - 1)
    unit = small_sample / prompts**2
    sums_of_clusters = np.bincount(cluster_of_prompt, means_of_prompts - mean)
    of_prompts = unit * float(np.square(sums_of_clusters).sum())
    if seeds < 2:
        return _Variances(of_prompts, 0.0, 0.0)
    of_seeds = float(deviations_of_seeds.var(ddof=1)) / seeds
    sums = np.stack([np.bincount(cluster_of_prompt, row) for row in residuals])
    squares = float(np.square(sums).sum())
    of_residuals = unit * squares / (seeds * (seeds - 1))
    return _Variances(of_prompts, of_seeds, of_residuals)


def holm_adjusted(p_values: Sequence[float]) -> list[float]:
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
