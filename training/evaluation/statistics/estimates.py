"""Computes means and paired differences with error bars, from scores of shape (seeds, prompts).

    paired_difference(dapo, sft, seeds=[0, 1, 2])  # Difference(mean=0.04, low=0.02, high=0.06, ...)

Row s, column p of every array is the same training seed and the same held-out prompt in every model
and metric. NaN (or None) is a failed verdict, or a score that the prompt cannot have. A difference
leaves out a pair of scores if either score is NaN.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from spanreward.rewards.comparison.crossed import crossed_estimate
from spanreward.rewards.comparison.resampling import DRAW_COUNT, Array, ratio_interval

MIN_SEEDS = 3
TIE_MARGIN = 1e-9  # because of rounding, scores with a smaller difference are a tie


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over prompts with its 95 % interval, and the mean of each seed, in the metric's unit.

    Attributes:
        mean: None if no prompt has a score.
        low, high: the 95 % interval over prompts; None for fewer than two prompts.
        per_seed: the mean of each row of scores; None for a row without a score.
        runs_low, runs_high: the 95 % interval over training seeds; None for fewer than MIN_SEEDS.
        both_low, both_high: the 95 % interval over prompts and seeds together
            (comparison/crossed.py). With fewer than MIN_SEEDS seeds, the interval is over prompts
            alone.
        p: the two-sided p-value of a true mean of 0, with the variance behind both_low and
            both_high.
        error, freedom: the standard error and the degrees of freedom behind both_low and both_high.
        counted: the number of prompts with a score.
        trained: the number of training seeds with a score.
        failed: the number of failed judgments.
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
    """The scores of a later model minus those of an earlier model.

    Attributes:
        failed: the number of pairs of answers that are left out because a judge failed on either
            answer.
        win, tie, loss: the numbers of (seed, prompt) pairs in which the later model is higher,
            equal within TIE_MARGIN, and lower.
        worst_case: the lowest and the highest mean that the failed judgments allow; None if no
            judgment failed.
    """

    win: int = 0
    tie: int = 0
    loss: int = 0
    worst_case: list[float] | None = None


def estimate_of(
    values: ArrayLike,
    seeds: Sequence[int] | None = None,
    resamples: int = DRAW_COUNT,
    clusters: Sequence[int] | None = None,
) -> Estimate:
    """Returns the mean score over prompts, with three intervals: over prompts, over training seeds,
    and over both together.

    Each prompt counts once, by its mean over the rows. Prompts and seeds with nothing but NaN are
    left out, and are not among the numbers `counted` (prompts) and `trained` (seeds). The interval
    over prompts (a bootstrap) holds the trained models fixed. This interval shows how far other
    prompts could move the mean, NOT how far another training seed could.

    Args:
        values: scores of shape (rows, prompts).
        seeds: the training seed of each row. By default each row has a different seed. Rows of the
            same seed are averaged first, because they are not independent: they repeat one training
            on another machine, or from perturbed weights.
        resamples: the draws of the bootstrap.
        clusters: one number per prompt; prompts with equal numbers are drawn together.
    """
    array = as_scores(values)
    per_seed: list[float | None] = []
    for mean in nan_means(array):
        per_seed.append(None if np.isnan(mean) else float(mean))
    prompt_means = means_of_prompts(array)
    if not len(prompt_means):
        return Estimate(None, None, None, per_seed)
    # the interval over prompts: clusters are drawn whole, and the mean of a draw is the sum of its
    # scores / the number of its prompts
    cluster_sums, cluster_sizes = in_clusters(array, clusters)
    over_prompts = ratio_interval(cluster_sums, cluster_sizes, draws=resamples)
    # the interval over training seeds
    row_seeds = range(len(array)) if seeds is None else seeds
    seed_rows = of_seeds(array, row_seeds)  # (seeds, prompts)
    has_score = ~np.isnan(seed_rows).all(axis=1)
    seed_rows = seed_rows[has_score]
    seed_means = nan_means(seed_rows).tolist()
    seeds_low, seeds_high = interval_over_seeds(seed_means)
    estimate = Estimate(
        mean=float(prompt_means.mean()),
        low=None if over_prompts is None else over_prompts.low,
        high=None if over_prompts is None else over_prompts.high,
        per_seed=per_seed,
        runs_low=seeds_low,
        runs_high=seeds_high,
        counted=len(prompt_means),
        trained=len(seed_rows),
    )
    return _with_interval_over_both(estimate, array, seed_rows, clusters)


def _with_interval_over_both(
    estimate: Estimate,
    array: Array,
    seed_rows: Array,
    clusters: Sequence[int] | None,
) -> Estimate:
    """Returns the estimate with `both_low` and `both_high`, the interval over prompts and training
    seeds together. Returns the estimate unchanged if there is no such interval.

    With fewer than MIN_SEEDS seeds, the spread between seeds cannot be estimated. Then `both_low`
    and `both_high` are an interval over prompts alone, computed from one row: the mean of each
    prompt. array: the scores, (rows, prompts). seed_rows: the mean scores of each training seed,
    (seeds, prompts).
    """
    crossed_rows = seed_rows
    if len(seed_rows) < MIN_SEEDS:
        crossed_rows = nan_means(array.T)[np.newaxis, :]
    both = crossed_estimate(crossed_rows, clusters)
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
    resamples: int = DRAW_COUNT,
    clusters: Sequence[int] | None = None,
) -> Difference:
    """Returns the mean of a - b with its intervals, and how often a - b is above, at and below 0.

    Only the (seed, prompt) pairs with both scores count. `failed` stays 0, because a NaN does not
    show whether a judge failed.

    a, b: the scores of two models, of the same shape (seeds, prompts). seeds: the training seed of
    each row; by default each row has a different seed. resamples: the draws of the bootstrap.
    clusters: one number per prompt; prompts with equal numbers are drawn together.
    """
    gaps = score_differences(a, b)
    estimate = estimate_of(gaps, seeds, resamples, clusters)
    outcomes = signs_of_gaps(gaps)
    return Difference(
        **asdict(estimate),
        win=int((outcomes == 1).sum()),
        tie=int((outcomes == 0).sum()),
        loss=int((outcomes == -1).sum()),
    )


def means_of_prompts(values: Array) -> Array:
    """Returns the mean over rows of each prompt that has a score: [[.2, nan], [.4, nan]] gives
    [.3].

    values: (rows, prompts).
    """
    means = nan_means(values.T)
    return means[~np.isnan(means)]


def in_clusters(values: Array, clusters: Sequence[int] | None) -> tuple[Array, Array]:
    """Returns two arrays with an element for each cluster: the sum of its prompts' mean scores, and
    the number of its prompts.

    Prompts without a score are left out. Example: the mean scores .2, .4 and 1 of three prompts in
    the clusters [5, 5, 7] give the sums [.6, 1] and the numbers [2, 1].

    values: (seeds, prompts). clusters: one number per prompt; None if each prompt is a cluster.
    """
    means = nan_means(values.T)  # the mean over seeds of each prompt
    has_score = ~np.isnan(means)
    means = means[has_score]
    if clusters is None:
        return means, np.ones(len(means))
    present_clusters = np.asarray(clusters)[has_score]
    # `bincount` needs the clusters numbered from 0 without gaps
    _, cluster_of_prompt = np.unique(present_clusters, return_inverse=True)
    sums = np.bincount(cluster_of_prompt, means)
    counts = np.bincount(cluster_of_prompt)
    return sums.astype(np.float64), counts.astype(np.float64)


def interval_over_seeds(means: Sequence[float]) -> tuple[float, float] | tuple[None, None]:
    """Returns the ends of the 95 % t interval of the mean over independent training seeds.

    means: the mean score of each seed. Fewer than MIN_SEEDS means give (None, None).
    """
    if len(means) < MIN_SEEDS:
        return None, None
    # equal means have a standard error of 0, for which scipy returns nan
    if np.ptp(means) == 0:
        return means[0], means[0]
    freedom = len(means) - 1
    error = stats.sem(means)
    low, high = stats.t.interval(0.95, freedom, loc=np.mean(means), scale=error)
    return float(low), float(high)


def independent_seeds(seeds: Sequence[int], runs: Sequence[Any]) -> list[int]:
    """Returns a seed for each row, with one seed for all rows of the same run.

    The seed is that of the run's first row. Rows of one run are copies of the same scores, and so
    must not count as independent seeds. Example: a fixed model that is repeated for three seeds is
    one run, and its seeds [0, 1, 2] become [0, 0, 0].

    seeds, runs: the seed and the run of each row.
    """
    seed_of_run: dict[Any, int] = {}
    for seed, run in zip(seeds, runs, strict=True):
        seed_of_run.setdefault(run, seed)  # a later seed of the same run changes nothing
    return [seed_of_run[run] for run in runs]


def as_scores(values: ArrayLike) -> Array:
    """Returns the scores as a float array, with None as NaN.

    Raises ValueError if the array does not have the two axes (seeds, prompts).
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(
            f"scores must have the shape (seeds, prompts), neither of them 0, got {array.shape}"
        )
    return array


def score_differences(a: ArrayLike, b: ArrayLike) -> Array:
    """Returns a - b, with NaN if either score is NaN.

    Raises ValueError if the shapes differ, because numpy might broadcast them.
    """
    first = as_scores(a)
    second = as_scores(b)
    if first.shape != second.shape:
        raise ValueError(
            f"paired scores need one shape (seeds, prompts), got {first.shape} and {second.shape}"
        )
    return first - second


def of_seeds(values: Array, seeds: Sequence[int]) -> Array:
    """Returns the mean over the rows of each training seed, of shape (different seeds, prompts).

    values: of shape (runs, prompts). seeds: the training seed of each row of `values`. The result
    keeps the order in which seeds first appear.
    """
    means = []
    distinct_seeds = dict.fromkeys(seeds)  # in the order of their first rows
    for seed in distinct_seeds:
        # a seed has several rows if it was trained in several numerical environments
        rows = values[np.equal(seeds, seed)]
        means.append(nan_means(rows.T))
    return np.stack(means)


def signs_of_gaps(gaps: Array) -> Array:
    """Returns 1 for a win, 0 for a tie (within TIE_MARGIN), -1 for a loss, and NaN for NaN."""
    is_tie = np.abs(gaps) <= TIE_MARGIN
    return np.sign(np.where(is_tie, 0.0, gaps))


def nan_means(rows: Array) -> Array:
    """Returns the mean of every row without its NaN; NaN for a row of nothing but NaN."""
    # np.nanmean would warn of a row of nothing but NaN
    present = ~np.isnan(rows)
    counts = present.sum(axis=1)
    sums = np.nansum(rows, axis=1)
    means = sums / np.maximum(counts, 1)
    return np.where(counts > 0, means, np.nan)
