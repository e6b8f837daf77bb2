"""Did RL beat SFT? Means and paired differences with error bars, from scores.

    scores = {"sft": {"truth_f1": sft}, "dapo": {"truth_f1": dapo}}     # arrays of shape (seeds, prompts)
    results = summarise_models(scores, seeds=[0, 1, 2])
    results["difference"]["dapo_minus_sft"]["truth_f1"]                 # {"mean": 0.04, "low": 0.02, "high": 0.06, ...}

Row s, column p of every array is the same training seed and the same held-out prompt in every model and metric. NaN (or
None) is a failed verdict, or a score that this prompt cannot have. It is left out together with its partner.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from spanreward.rewards.comparison.crossed import crossed
from spanreward.rewards.comparison.length import control_length
from spanreward.rewards.comparison.resampling import DRAWS, Array, ratio_interval

Flags = NDArray[np.bool_]
MIN_SEEDS = 3
MARGIN = 1e-9  # absorbs rounding: scores that are nearer to each other are a tie


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over prompts with its 95 % interval, and the mean of each seed, in the metric's unit.

    mean: None where no prompt has a score. low, high: None for fewer than two prompts. per_seed: None for a seed
    without a prompt. runs_low, runs_high: the 95 % interval over training seeds, None for fewer than MIN_SEEDS.
    both_low, both_high: over prompts and seeds together (comparison/crossed.py), with its p, standard error
    and degrees of freedom; for fewer than MIN_SEEDS over prompts alone. counted: prompts. trained: training seeds.
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


def bootstrap_mean(values: ArrayLike, resamples: int = DRAWS, clusters: Sequence[int] | None = None) -> Estimate:
    """Returns the mean of `values`, shape (seeds, prompts), with a 95 % bootstrap interval over prompts. Those of one
    cluster (a number for each prompt) are drawn together.

    The seeds of a prompt are averaged without their NaN, then prompts are resampled; a prompt of nothing but NaN is
    left out. The trained models are held fixed: the interval says how far other prompts could move the mean, NOT how
    far another training seed could.
    """
    array = as_scores(values)
    prompts = per_prompt(array)
    per_seed = [None if np.isnan(mean) else float(mean) for mean in nan_means(array)]
    if not len(prompts):
        return Estimate(None, None, None, per_seed)
    interval = ratio_interval(*in_clusters(array, clusters), draws=resamples)
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    return Estimate(float(prompts.mean()), low, high, per_seed, counted=len(prompts))


def in_clusters(values: Array, clusters: Sequence[int] | None) -> tuple[Array, Array]:
    """Returns the sum of the prompts' means in each cluster, and its number of prompts. Without clusters each prompt is
    one.
    """
    means = nan_means(values.T)
    known = ~np.isnan(means)
    if clusters is None:
        return means[known], np.ones(known.sum())
    _, of_prompt = np.unique(np.asarray(clusters)[known], return_inverse=True)
    return np.bincount(of_prompt, means[known]).astype(np.float64), np.bincount(of_prompt).astype(np.float64)


def per_prompt(values: Array) -> Array:
    """Returns the mean over the seeds of every prompt that has a number."""
    means = nan_means(values.T)
    return means[~np.isnan(means)]


def with_runs(
    estimate: Estimate, values: ArrayLike, seeds: Sequence[int], clusters: Sequence[int] | None = None
) -> Estimate:
    """Adds the intervals over training seeds, and over prompts and seeds together, of `values`, (rows, prompts).

    Rows of one seed are averaged first. They start from the same policy in several numerical environments and are not
    independent.
    """
    array = as_scores(values)
    of_seed = np.stack([nan_means(array[np.equal(seeds, seed)].T) for seed in dict.fromkeys(seeds)])
    of_seed = of_seed[~np.isnan(of_seed).all(axis=1)]
    low, high = interval_over_seeds(nan_means(of_seed).tolist())
    told = replace(estimate, runs_low=low, runs_high=high, trained=len(of_seed))
    enough = of_seed if len(of_seed) >= MIN_SEEDS else nan_means(array.T)[None]
    both = crossed(enough, clusters)
    return (
        told
        if both is None
        else replace(told, both_low=both.low, both_high=both.high, p=both.p, error=both.error, freedom=both.freedom)
    )


def interval_over_seeds(means: Sequence[float]) -> tuple[float, float] | tuple[None, None]:
    """Returns the 95 % t interval of the mean of independent seeds; (None, None) for fewer than MIN_SEEDS."""
    if len(means) < MIN_SEEDS:
        return None, None
    if np.ptp(means) == 0:
        return means[0], means[0]
    low, high = stats.t.interval(0.95, len(means) - 1, loc=np.mean(means), scale=stats.sem(means))
    return float(low), float(high)


def paired_difference(
    a: ArrayLike,
    b: ArrayLike,
    seeds: Sequence[int] | None = None,
    resamples: int = DRAWS,
    clusters: Sequence[int] | None = None,
) -> Estimate:
    """Returns the estimate of a - b over the pairs that both have. seeds: of the rows (default: each its own). Raises
    ValueError when the shapes differ.
    """
    values = differences(a, b)
    names = range(len(values)) if seeds is None else seeds
    return with_runs(bootstrap_mean(values, resamples, clusters), values, names, clusters)


def win_tie_loss(a: ArrayLike, b: ArrayLike) -> dict[str, int]:
    """Counts the (seed, prompt) pairs where `a` is higher than `b`, within MARGIN of it, and lower."""
    difference = differences(a, b)
    wins, losses = (int((sign * difference > MARGIN).sum()) for sign in (1, -1))
    return {"win": wins, "tie": int((np.abs(difference) <= MARGIN).sum()), "loss": losses}


def win_rate(
    later: Array, earlier: Array, words_later: Array, words_earlier: Array, clusters: Sequence[int] | None = None
) -> dict[str, Any] | None:
    """Returns the fields of LengthControl (comparison/length.py); None where no answer has a partner. The seeds of a
    prompt are drawn together, and the prompts of a cluster. Pairs without both scores are left out.
    """
    difference = differences(later, earlier)
    known = ~np.isnan(difference)
    if not known.any():
        return None
    outcomes = 0.5 * (1 + np.sign(np.where(np.abs(difference) > MARGIN, difference, 0.0)))
    prompts = np.broadcast_to(np.arange(known.shape[1]) if clusters is None else clusters, known.shape)
    lengths = list(zip(words_later[known], words_earlier[known], strict=True))
    return asdict(control_length(outcomes[known].tolist(), lengths, prompts[known].tolist()))


def worst_case(
    a: Array, b: Array, failed_a: Flags, failed_b: Flags, scale: tuple[float, float] = (0.0, 1.0)
) -> list[float] | None:
    """Returns the lowest and highest mean of a - b that failed verdicts allow; None where nothing failed. Lowest: every
    failed `a` has the scale's lowest score and every failed `b` its highest. Highest: the reverse.
    """
    if not (failed_a.any() or failed_b.any()):
        return None
    pairs = [scale, scale[::-1]]
    ends = [per_prompt(np.where(failed_a, one, a) - np.where(failed_b, other, b)) for one, other in pairs]
    return [float(end.mean()) for end in ends] if len(ends[0]) else None


def summarise_models(
    scores: Mapping[str, Mapping[str, ArrayLike]],
    seeds: Sequence[int] | None = None,
    failed: Mapping[str, Mapping[str, ArrayLike]] | None = None,
    runs: Mapping[str, Sequence[str]] | None = None,
    scales: Mapping[str, tuple[float, float]] | None = None,
    clusters: Sequence[int] | None = None,
    resamples: int = DRAWS,
) -> dict[str, Any]:
    """Returns what results.json holds, from scores[model][metric] of shape (seeds, prompts), models in training order.

        {"seeds": [...], "prompts": N,
         "models": {model: {metric: {"mean", "low", "high", "per_seed", "runs_low", "runs_high", "counted", "trained",
                                     "both_low", "both_high", "p", "error", "freedom", "failed"}}},
         "difference": {"<later>_minus_<earlier>": {metric: {as above, "win", "tie", "loss", "worst_case"}}}}

    `difference` compares every later model with every earlier one. seeds: the rows' names (default 0, 1, ...); rows of
    one name are one training seed in several numerical environments. failed: where a judge failed (default: every NaN);
    `failed` of a difference counts the pairs left out for it. runs: the run of each row; rows that compare the same two
    runs count once. scales: of metrics that are not in [0, 1]. clusters: which prompts belong together (default: none).
    A model's mean is over the answers that all models with any score have one for. The result holds plain numbers,
    lists and None. Raises ValueError where models differ in their metrics, or arrays in their shape.
    """
    arrays = {model: {name: as_scores(values) for name, values in table.items()} for model, table in scores.items()}
    shapes = {array.shape for table in arrays.values() for array in table.values()}
    if len(shapes) != 1:
        raise ValueError(f"every model and metric needs one shape (seeds, prompts), got {sorted(shapes)}")
    metrics = {model: list(table) for model, table in arrays.items()}
    if len({frozenset(names) for names in metrics.values()}) != 1:
        raise ValueError(f"every model needs the same metrics, got {metrics}")
    ((rows, prompts),) = shapes
    names = list(range(rows)) if seeds is None else list(seeds)
    if len(names) != rows:
        raise ValueError(f"got {len(names)} seeds {names}, but scores of {rows} seeds")
    rows_of = {model: list(map(str, range(rows))) if runs is None else list(runs[model]) for model in arrays}

    def missing(model: str, metric: str) -> Flags:
        return np.isnan(arrays[model][metric]) if failed is None else np.asarray(failed[model][metric], dtype=bool)

    def of_model(model: str, metric: str) -> dict[str, Any]:
        gaps = [np.isnan(table[metric]) for table in arrays.values()]
        everywhere = ~np.any([gap for gap in gaps if not gap.all()], axis=0)
        values = np.where(everywhere, arrays[model][metric], np.nan)
        seeds = independent(names, rows_of[model])
        estimate = with_runs(bootstrap_mean(values, resamples, clusters), values, seeds, clusters)
        return asdict(estimate) | {"failed": int(missing(model, metric).sum())}

    def of_pair(later: str, earlier: str, metric: str) -> dict[str, Any]:
        a, b = arrays[later][metric], arrays[earlier][metric]
        failed_a, failed_b = missing(later, metric), missing(earlier, metric)
        compared = list(zip(rows_of[later], rows_of[earlier], strict=True))
        estimate = paired_difference(a, b, independent(names, compared), resamples, clusters)
        ends = worst_case(a, b, failed_a, failed_b, (scales or {}).get(metric, (0.0, 1.0)))
        lost = {"failed": int((failed_a | failed_b).sum()), "worst_case": ends}
        return asdict(estimate) | win_tie_loss(a, b) | lost

    return {
        "seeds": names,
        "prompts": prompts,
        "models": {model: {metric: of_model(model, metric) for metric in table} for model, table in arrays.items()},
        "difference": {
            f"{later}_minus_{earlier}": {metric: of_pair(later, earlier, metric) for metric in arrays[later]}
            for earlier, later in combinations(arrays, 2)
        },
    }


def independent(seeds: Sequence[int], runs: Sequence[Any]) -> list[int]:
    """Returns each row's seed: that of the first row of the same run. A fixed model beside three seeds is one run."""
    first: dict[Any, int] = {}
    return [first.setdefault(run, seed) for seed, run in zip(seeds, runs, strict=True)]


def as_scores(values: ArrayLike) -> Array:
    """Returns a float array, None as NaN. Raises ValueError unless it has the two axes (seeds, prompts)."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"scores must have the shape (seeds, prompts), neither of them 0, got {array.shape}")
    return array


def differences(a: ArrayLike, b: ArrayLike) -> Array:
    """Returns a - b, NaN where either is. Raises ValueError when the shapes differ (numpy would broadcast)."""
    first, second = as_scores(a), as_scores(b)
    if first.shape != second.shape:
        raise ValueError(f"paired scores need one shape (seeds, prompts), got {first.shape} and {second.shape}")
    return first - second


def nan_means(rows: Array) -> Array:
    """Returns the mean of every row over its numbers; NaN for a row without any."""
    present = ~np.isnan(rows)
    counts = present.sum(axis=1)
    return np.where(counts > 0, np.nansum(rows, axis=1) / np.maximum(counts, 1), np.nan)
