"""Did RL beat SFT? Means and paired differences with error bars, from scores that are already there.

    scores = {"sft": {"truth_f1": sft}, "dapo": {"truth_f1": dapo}}     # arrays of shape (seeds, prompts)
    results = summarise_models(scores, seeds=[0, 1, 2])
    results["difference"]["dapo_minus_sft"]["truth_f1"]                 # {"mean": 0.04, "low": 0.02, "high": 0.06, ...}

Row s, column p of every array is the same training seed and the same held-out prompt in every model and metric. NaN (or
None) is a failed verdict: it is left out together with its partner and counted, never taken for a 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

Array = NDArray[np.float64]
MIN_SEEDS = 3


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over prompts with its 95 % interval, and the mean of every seed alone.

    `mean` is None when nothing could be counted, `low` and `high` when fewer than two prompts could, an entry of
    `per_seed` when that seed has no prompt left. `runs_low` and `runs_high`: the 95 % interval over training seeds,
    None for fewer than MIN_SEEDS. All in the metric's own unit.
    """

    mean: float | None
    low: float | None
    high: float | None
    per_seed: list[float | None]
    runs_low: float | None = None
    runs_high: float | None = None


@dataclass(frozen=True, slots=True)
class Tally:
    """How many (seed, prompt) pairs were higher, the same within the margin, and lower."""

    win: int
    tie: int
    loss: int


def bootstrap_mean(values: ArrayLike, resamples: int = 9999, rng_seed: int = 0) -> Estimate:
    """The mean of `values`, shape (seeds, prompts), with a 95 % percentile bootstrap interval over prompts.

    The seeds are averaged per prompt first, then prompts are resampled; NaN is left out of its prompt's average, and a
    prompt of nothing but NaN is left out. The interval covers the choice of held-out prompts, with these trained models
    held fixed: it says how far another draw of prompts could move the mean, NOT how far another training seed could.
    That is what `per_seed` is for: with a handful of seeds, looking at each is more honest than an interval over them.
    Percentile rather than BCa because it is defined when all prompts agree. The same `rng_seed`, the same interval.
    """
    array = as_scores(values)
    per_prompt = nan_means(array.T)
    per_prompt = per_prompt[~np.isnan(per_prompt)]
    per_seed = [None if np.isnan(mean) else float(mean) for mean in nan_means(array)]
    if not len(per_prompt):
        return Estimate(None, None, None, per_seed)
    mean = float(per_prompt.mean())
    if len(per_prompt) == 1:
        return Estimate(mean, None, None, per_seed)
    interval = stats.bootstrap(
        (per_prompt,),
        np.mean,
        n_resamples=resamples,
        batch=1000,
        confidence_level=0.95,
        method="percentile",
        rng=np.random.default_rng(rng_seed),
    ).confidence_interval
    return Estimate(mean, float(interval.low), float(interval.high), per_seed)


def interval_over_runs(
    per_run: Sequence[float | None], seeds: Sequence[int]
) -> tuple[float, float] | tuple[None, None]:
    """The 95 % t interval of the mean over training seeds; runs of one seed are averaged first (numerical environments
    of one seed start from the same policy and are no independent runs). (None, None) for fewer than MIN_SEEDS.

    It says how far another training run could move the mean, on these prompts.
    """
    of_seed: dict[int, list[float]] = {}
    for seed, mean in zip(seeds, per_run, strict=True):
        if mean is not None:
            of_seed.setdefault(seed, []).append(mean)
    means = np.array([np.mean(values) for values in of_seed.values()])
    if len(means) < MIN_SEEDS:
        return None, None
    if np.ptp(means) == 0:
        return float(means[0]), float(means[0])
    low, high = stats.t.interval(0.95, len(means) - 1, loc=means.mean(), scale=stats.sem(means))
    return float(low), float(high)


def paired_difference(a: ArrayLike, b: ArrayLike, resamples: int = 9999, rng_seed: int = 0) -> Estimate:
    """The mean of a - b over the pairs that both have, both of shape (seeds, prompts), above 0 where `a` is higher.

    The interval is that of `bootstrap_mean` on the differences: over prompts, for these seeds. Raises ValueError when
    the shapes differ.
    """
    return bootstrap_mean(differences(a, b), resamples, rng_seed)


def win_tie_loss(a: ArrayLike, b: ArrayLike, margin: float = 1e-9) -> Tally:
    """Counts over all (seed, prompt) pairs that both have: `a` higher than `b` by more than `margin`, within it, lower.

    `margin` is in the metric's unit; the default only absorbs rounding. Raises ValueError when the shapes differ.
    """
    difference = differences(a, b)
    return Tally(
        win=int((difference > margin).sum()),
        tie=int((np.abs(difference) <= margin).sum()),
        loss=int((difference < -margin).sum()),
    )


def summarise_models(
    scores: Mapping[str, Mapping[str, ArrayLike]],
    seeds: Sequence[int] | None = None,
    margin: float = 1e-9,
    resamples: int = 9999,
    rng_seed: int = 0,
) -> dict[str, Any]:
    """What results.json holds, from scores[model][metric] of shape (seeds, prompts), models in order of training.

        {"seeds": [...], "prompts": N,
         "models": {model: {metric: {"mean", "low", "high", "per_seed", "runs_low", "runs_high", "failed"}}},
         "difference": {"<later>_minus_<earlier>": {metric: {as above, without "failed", "win", "tie", "loss"}}}}

    `failed` counts the NaN. The differences are those of every later model to every earlier one. `seeds` are the names
    of the rows (default 0, 1, ...); rows of one name are one training seed in several numerical environments. Only
    plain numbers, lists and None: `json.dump` writes it as strict JSON. Raises ValueError when the models differ in
    their metrics or the arrays in their shape.
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
    return {
        "seeds": names,
        "prompts": prompts,
        "models": {
            model: {
                metric: asdict(with_runs(bootstrap_mean(values, resamples, rng_seed), names))
                | {"failed": int(np.isnan(values).sum())}
                for metric, values in table.items()
            }
            for model, table in arrays.items()
        },
        "difference": {
            f"{later}_minus_{earlier}": {
                metric: asdict(
                    with_runs(paired_difference(values, arrays[earlier][metric], resamples, rng_seed), names)
                )
                | asdict(win_tie_loss(values, arrays[earlier][metric], margin))
                for metric, values in arrays[later].items()
            }
            for earlier, later in combinations(arrays, 2)
        },
    }


def with_runs(estimate: Estimate, seeds: Sequence[int]) -> Estimate:
    low, high = interval_over_runs(estimate.per_seed, seeds)
    return replace(estimate, runs_low=low, runs_high=high)


def as_scores(values: ArrayLike) -> Array:
    """`values` as a float array, None as NaN. Raises ValueError unless it has the two axes (seeds, prompts)."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"scores must have the shape (seeds, prompts), neither of them 0, got {array.shape}")
    return array


def differences(a: ArrayLike, b: ArrayLike) -> Array:
    """a - b, NaN where either is. Raises ValueError when the shapes differ (numpy would silently broadcast)."""
    first, second = as_scores(a), as_scores(b)
    if first.shape != second.shape:
        raise ValueError(f"paired scores need one shape (seeds, prompts), got {first.shape} and {second.shape}")
    return first - second


def nan_means(rows: Array) -> Array:
    """The mean of every row over its numbers; NaN for a row that has none."""
    present = ~np.isnan(rows)
    counts = present.sum(axis=1)
    return np.where(counts > 0, np.nansum(rows, axis=1) / np.maximum(counts, 1), np.nan)
