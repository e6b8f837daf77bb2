"""Interval of a mean over prompts and training seeds, where prompts and seeds are random samples.

estimate = crossed_estimate(differences, clusters)  # our minus their scores, (seeds, prompts)
estimate.low, estimate.high, estimate.p
holm_adjusted([0.01, 0.04, 0.03])  # [0.03, 0.06, 0.06]: p-values that are adjusted for three tests
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

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

    The interval is Student's, with the variance of `_Variances.of_mean` and Satterthwaite's degrees
    of freedom (1946).
    """
    # keep the prompts that have a value
    has_value = ~np.isnan(values)
    kept_prompts = np.flatnonzero(has_value.any(axis=0))
    table = np.where(has_value, values, 0.0)[:, kept_prompts]
    has_value = has_value[:, kept_prompts]
    # by default, each prompt is its own cluster
    names_of_clusters: NDArray[Any] = kept_prompts
    if clusters is not None:
        names_of_clusters = np.asarray(clusters)[kept_prompts]
    distinct, cluster_of_prompt = np.unique(names_of_clusters, return_inverse=True)
    cluster_count = len(distinct)
    if cluster_count < 2:
        return None
    means_of_prompts = table.sum(axis=0) / has_value.sum(axis=0)
    mean = float(means_of_prompts.mean())
    variances = _variances(table, has_value, means_of_prompts, cluster_of_prompt, cluster_count)
    variance = variances.of_mean()
    if variance < ROUNDING_VARIANCE:
        # all values are equal up to rounding, so the mean has no error
        p = 1.0 if mean == 0 else 0.0
        return Crossed(mean, mean, mean, p, 0.0, float(cluster_count - 1))
    degrees = _degrees_of_freedom(variances, len(values), cluster_count)
    student = stats.t(degrees)
    error = variance**0.5
    half = float(student.ppf(0.975)) * error
    p = float(2 * student.sf(abs(mean) / error))
    return Crossed(mean, mean - half, mean + half, p, error, float(degrees))


class _Variances(NamedTuple):
    """Three variances of a mean over prompts and seeds.

    prompts: the variance that comes from the prompts, by cluster.
    seeds: the variance that comes from the seeds; 0 for a single seed.
    residuals: the variance that comes from the residuals; 0 for a single seed. Both `prompts` and
    `seeds` contain this variance.
    """

    prompts: float
    seeds: float
    residuals: float

    def of_mean(self) -> float:
        """Returns the whole variance of the mean: `prompts` + `seeds` - `residuals`, but at least
        `prompts`.

        (Cameron, Gelbach and Miller, 2011, "Robust inference with multiway clustering", equation
        2.11.)
        """
        return self.prompts + max(self.seeds - self.residuals, 0.0)


def _degrees_of_freedom(variances: _Variances, seeds: int, cluster_count: int) -> float:
    """Returns Satterthwaite's degrees of freedom of the mean, at least seeds - 1: the square of the
    mean's variance, divided by the sum of `variance^2 / degrees` over the three variances.
    """
    divisor = variances.prompts**2 / (cluster_count - 1)
    if seeds > 1:
        of_residuals = variances.residuals**2 / ((seeds - 1) * (cluster_count - 1))
        divisor += variances.seeds**2 / (seeds - 1) + of_residuals
    return max(variances.of_mean() ** 2 / divisor, seeds - 1)


def _variances(
    table: Array,
    has_value: NDArray[np.bool_],
    means_of_prompts: Array,
    cluster_of_prompt: NDArray[np.int64],
    cluster_count: int,
) -> _Variances:
    """Returns the variances of a mean over prompts and seeds.

    Each value is split into parts: value = mean + deviation of the prompt + deviation of the seed +
    residual. Each part has a variance.

    Args:
        table: the values, (seeds, prompts), with 0 for a missing value.
        has_value: whether a value is there, (seeds, prompts).
        means_of_prompts: the mean of each prompt's values, (prompts,).
        cluster_of_prompt: the number of each prompt's cluster, from 0, (prompts,).
        cluster_count: the number of clusters, at least two.
    """
    seeds, prompts = table.shape
    # split the values into parts
    deviations_of_prompts = means_of_prompts - float(means_of_prompts.mean())
    without_prompts = np.where(has_value, table - means_of_prompts, 0.0)
    values_of_seeds = np.maximum(has_value.sum(axis=1), 1)  # 1 avoids a division by 0
    deviations_of_seeds = without_prompts.sum(axis=1) / values_of_seeds
    residuals = np.where(has_value, without_prompts - deviations_of_seeds[:, None], 0.0)
    # The variance from the prompts. Prompts of a cluster are dependent, so the deviations are
    # summed within each cluster before the sums are squared.
    correction = cluster_count / (cluster_count - 1)  # for few clusters
    weight = correction / prompts**2  # of a squared sum of deviations
    cluster_sums = np.bincount(cluster_of_prompt, deviations_of_prompts)
    from_prompts = weight * float(np.square(cluster_sums).sum())
    if seeds < 2:
        return _Variances(from_prompts, 0.0, 0.0)
    from_seeds = float(deviations_of_seeds.var(ddof=1)) / seeds
    # the variance from the residuals, which are summed within each cluster too, for each seed
    residual_sums = np.stack([np.bincount(cluster_of_prompt, row) for row in residuals])
    squares = float(np.square(residual_sums).sum())
    from_residuals = weight * squares / (seeds * (seeds - 1))
    return _Variances(from_prompts, from_seeds, from_residuals)


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
