"""Means and paired differences with error bars, from scores of shape (seeds, prompts).

    paired_difference(dapo, sft, seeds=[0, 1, 2])  # Difference(mean=0.04, low=0.02, high=0.06, ...)

Row s, column p of every array is the same training seed and the same held-out prompt in every model
and metric. NaN (or None) is a failed verdict, or a score that this prompt cannot have. It is left
out together with its partner.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from spanreward.rewards.comparison.crossed import crossed
from spanreward.rewards.comparison.resampling import DRAWS, Array, ratio_interval

MIN_SEEDS = 3
MARGIN = 1e-9  # absorbs rounding: scores that are nearer to each other are a tie


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over prompts with its 95 % interval, and the mean of each seed, in the metric's unit.

    Attributes:
        mean: None where no prompt has a score.
        low, high: the 95 % interval over prompts; None for fewer than two prompts.
        per_seed: the mean of each row; None for one without a score.
        runs_low, runs_high: the 95 % interval over training seeds; None for fewer than MIN_SEEDS.
        both_low, both_high: the 95 % interval over prompts and seeds together
            (comparison/crossed.py); for fewer than MIN_SEEDS over prompts alone.
        p: of a mean of 0 by the same variance, two-sided.
        error, freedom: its standard error and degrees of freedom.
        counted: prompts with a score.
        trained: training seeds with a score.
        failed: judgments that failed.
    """

    mean: float | None
    low: float | None
    high: float | None
    per_seed: list[float | None]
    runs_low: float | None = None
    runs_high: float | None = None
    both_low: float | None = None
    both_high: float | None = None
    p: float | None = None
    error: float | None = None
    freedom: float | None = None
    counted: int = 0
    trained: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Difference(Estimate):
    """A later model's scores less an earlier one's.

    Attributes:
        failed: pairs that are left out because a judge failed on one of them.
        win, tie, loss: (seed, prompt) pairs where the later is higher, within MARGIN, and lower.
        worst_case: the lowest and highest mean that failed judgments allow; None where nothing
            failed.
    """

    win: int = 0
    tie: int = 0
    loss: int = 0
    worst_case: list[float] | None = None


def estimate_of(
    values: ArrayLike,
    seeds: Sequence[int] | None = None,
    resamples: int = DRAWS,
    clusters: Sequence[int] | None = None,
) -> Estimate:
    """Returns the mean of `values`, (rows, prompts), each prompt counting once; one of nothing but
    NaN is left out.

    The interval over prompts (a bootstrap) holds the trained models fixed: it says how far other
    prompts could move the mean, NOT how far another training seed could. Prompts of one cluster (a
    number for each) are drawn together. seeds: of the rows (default: each its own). Rows of one
    seed are averaged first: they start from the same policy in several numerical environments and
    are not independent.
    """
    array = as_scores(values)
    prompts, _ = in_clusters(array, None)  # each prompt's mean over its rows
    per_seed: list[float | None] = []
    for mean in nan_means(array):
        per_seed.append(None if np.isnan(mean) else float(mean))
    if not len(prompts):
        return Estimate(None, None, None, per_seed)
    # over prompts: clusters are drawn whole, and a draw's mean is its sum by its number
    sums, counts = in_clusters(array, clusters)
    interval = ratio_interval(sums, counts, draws=resamples)
    # over training seeds
    row_seeds = range(len(array)) if seeds is None else seeds
    trained = of_seeds(array, row_seeds)
    has_score = ~np.isnan(trained).all(axis=1)
    trained = trained[has_score]
    runs_low, runs_high = interval_over_seeds(nan_means(trained).tolist())
    estimate = Estimate(
        mean=float(prompts.mean()),
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        per_seed=per_seed,
        runs_low=runs_low,
        runs_high=runs_high,
        counted=len(prompts),
        trained=len(trained),
    )
    # over both; with too few seeds over prompts alone, in one row of their means
    crossed_rows = trained
    if len(trained) < MIN_SEEDS:
        crossed_rows = nan_means(array.T)[None]
    both = crossed(crossed_rows, clusters)
    if both is None:
        return estimate
    return replace(
        estimate,
        both_low=both.low,
        both_high=both.high,
        p=both.p,
        error=both.error,
        freedom=both.freedom,
    )


def paired_difference(
    a: ArrayLike,
    b: ArrayLike,
    seeds: Sequence[int] | None = None,
    resamples: int = DRAWS,
    clusters: Sequence[int] | None = None,
) -> Difference:
    """Returns a - b over the pairs that both have, as `estimate_of`.

    Which of the others failed is not known here.
    """
    gaps = differences(a, b)
    estimate = estimate_of(gaps, seeds, resamples, clusters)
    outcomes = signs(gaps)
    return Difference(
        **asdict(estimate),
        win=int((outcomes == 1).sum()),
        tie=int((outcomes == 0).sum()),
        loss=int((outcomes == -1).sum()),
    )


def in_clusters(values: Array, clusters: Sequence[int] | None) -> tuple[Array, Array]:
    """Returns the sum of the prompts' means in each cluster, and its number of prompts, of prompts
    with a score. values: (seeds, prompts). clusters: a number for each prompt; without them each
    prompt is a cluster.
    """
    means = nan_means(values.T)
    # a prompt without a score in any seed is left out
    present = ~np.isnan(means)
    means = means[present]
    if clusters is None:
        return means, np.ones(len(means))
    present_clusters = np.asarray(clusters)[present]
    # numbered anew from 0, as `bincount` takes them
    _, cluster_of_prompt = np.unique(present_clusters, return_inverse=True)
    sums = np.bincount(cluster_of_prompt, means)
    counts = np.bincount(cluster_of_prompt)
    return sums.astype(np.float64), counts.astype(np.float64)


def interval_over_seeds(means: Sequence[float]) -> tuple[float, float] | tuple[None, None]:
    """Returns the 95 % t interval of the mean of independent seeds; (None, None) for fewer than
    MIN_SEEDS.
    """
    if len(means) < MIN_SEEDS:
        return None, None
    # equal means have a standard error of 0, of which scipy makes nan
    if np.ptp(means) == 0:
        return means[0], means[0]
    freedom = len(means) - 1
    error = stats.sem(means)
    low, high = stats.t.interval(0.95, freedom, loc=np.mean(means), scale=error)
    return float(low), float(high)


def independent(seeds: Sequence[int], runs: Sequence[Any]) -> list[int]:
    """Returns each row's seed: that of the first row of the same run.

    A fixed model beside three seeds is one run.
    """
    seed_of_run: dict[Any, int] = {}
    for seed, run in zip(seeds, runs, strict=True):
        seed_of_run.setdefault(run, seed)  # the first seed stays
    return [seed_of_run[run] for run in runs]


def as_scores(values: ArrayLike) -> Array:
    """Returns a float array, None as NaN.

    Raises ValueError unless it has the two axes (seeds, prompts).
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(
            f"scores must have the shape (seeds, prompts), neither of them 0, got {array.shape}"
        )
    return array


def differences(a: ArrayLike, b: ArrayLike) -> Array:
    """Returns a - b, NaN where either is.

    Raises ValueError when the shapes differ (numpy would broadcast).
    """
    first = as_scores(a)
    second = as_scores(b)
    if first.shape != second.shape:
        raise ValueError(
            f"paired scores need one shape (seeds, prompts), got {first.shape} and {second.shape}"
        )
    return first - second


def of_seeds(values: Array, seeds: Sequence[int]) -> Array:
    """Returns the mean over the rows of each training seed, in order of appearance."""
    means = []
    for seed in dict.fromkeys(seeds):
        # several, where one seed was trained in several numerical environments
        rows = values[np.equal(seeds, seed)]
        means.append(nan_means(rows.T))
    return np.stack(means)


def signs(gaps: Array) -> Array:
    """Returns 1 for a win, 0 for a tie (within MARGIN), -1 for a loss, and NaN for NaN."""
    is_tie = np.abs(gaps) <= MARGIN
    return np.sign(np.where(is_tie, 0.0, gaps))


def nan_means(rows: Array) -> Array:
    """Returns the mean of every row over its numbers; NaN for a row without any."""
    # np.nanmean would warn of a row without any
    present = ~np.isnan(rows)
    counts = present.sum(axis=1)
    sums = np.nansum(rows, axis=1)
    means = sums / np.maximum(counts, 1)
    return np.where(counts > 0, means, np.nan)
