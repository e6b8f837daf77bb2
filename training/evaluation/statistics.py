"""Did RL beat SFT? Means and paired differences with error bars, from scores that are already there.

    scores = {"sft": {"truth_f1": sft}, "dapo": {"truth_f1": dapo}}     # arrays of shape (seeds, prompts)
    results = summarise_models(scores, seeds=[0, 1, 2])
    results["difference"]["dapo_minus_sft"]["truth_f1"]                 # {"mean": 0.04, "low": 0.02, "high": 0.06, ...}

Row s, column p of every array is the same training seed and the same held-out prompt in every model and metric. NaN (or
None) is a failed verdict, or one that there cannot be: it is left out together with its partner, never taken for a 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from rewards.comparison.resampling import DRAWS, ratio_interval

Array = NDArray[np.float64]
MIN_SEEDS = 3


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over prompts with its 95 % interval, and the mean of every seed alone.

    `mean` is None when nothing could be counted, `low` and `high` when fewer than two prompts could, an entry of
    `per_seed` when that seed has no prompt left. `runs_low` and `runs_high`: the 95 % interval over training seeds,
    None for fewer than MIN_SEEDS. All in the metric's own unit. `counted`: prompts; `trained`: training seeds.
    """

    mean: float | None
    low: float | None
    high: float | None
    per_seed: list[float | None]
    runs_low: float | None = None
    runs_high: float | None = None
    counted: int = 0
    trained: int = 0


@dataclass(frozen=True, slots=True)
class Tally:
    """How many (seed, prompt) pairs were higher, the same within the margin, and lower."""

    win: int
    tie: int
    loss: int


def bootstrap_mean(values: ArrayLike, resamples: int = DRAWS) -> Estimate:
    """The mean of `values`, shape (seeds, prompts), with a 95 % bootstrap interval over prompts.

    The seeds are averaged per prompt first, then prompts are resampled; NaN is left out of its prompt's average, and a
    prompt of nothing but NaN is left out. The interval covers the choice of held-out prompts, with these trained models
    held fixed: it says how far another draw of prompts could move the mean, NOT how far another training seed could.
    """
    array = as_scores(values)
    prompts = per_prompt(array)
    per_seed = [None if np.isnan(mean) else float(mean) for mean in nan_means(array)]
    if not len(prompts):
        return Estimate(None, None, None, per_seed)
    interval = ratio_interval(prompts, draws=resamples)
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    return Estimate(float(prompts.mean()), low, high, per_seed, counted=len(prompts))


def per_prompt(values: Array) -> Array:
    """The mean over the seeds of every prompt that has a number."""
    means = nan_means(values.T)
    return means[~np.isnan(means)]


def with_runs(estimate: Estimate, seeds: Sequence[int]) -> Estimate:
    """The estimate with its 95 % t interval over training seeds; runs of one seed are averaged first (numerical
    environments of one seed start from the same policy and are no independent runs).

    It says how far another training run could move the mean, on these prompts.
    """
    of_seed: dict[int, list[float]] = {}
    for seed, mean in zip(seeds, estimate.per_seed, strict=True):
        if mean is not None:
            of_seed.setdefault(seed, []).append(mean)
    low, high = interval_over_seeds([float(np.mean(values)) for values in of_seed.values()])
    return replace(estimate, runs_low=low, runs_high=high, trained=len(of_seed))


def interval_over_seeds(means: Sequence[float]) -> tuple[float, float] | tuple[None, None]:
    """The 95 % t interval of the mean of independent seeds; (None, None) for fewer than MIN_SEEDS."""
    if len(means) < MIN_SEEDS:
        return None, None
    if np.ptp(means) == 0:
        return means[0], means[0]
    low, high = stats.t.interval(0.95, len(means) - 1, loc=np.mean(means), scale=stats.sem(means))
    return float(low), float(high)


def paired_difference(a: ArrayLike, b: ArrayLike, resamples: int = DRAWS) -> Estimate:
    """The mean of a - b over the pairs that both have, both of shape (seeds, prompts), above 0 where `a` is higher.

    The interval is that of `bootstrap_mean` on the differences: over prompts, for these seeds. Raises ValueError when
    the shapes differ.
    """
    return bootstrap_mean(differences(a, b), resamples)


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


def worst_case(
    a: Array, b: Array, failed_a: Array, failed_b: Array, scale: tuple[float, float] = (0.0, 1.0)
) -> tuple[float, float] | None:
    """The mean of a - b if everything that failed had gone one way, and the other: every failed `a` the scale's lowest
    and every failed `b` its highest, and the reverse. None where nothing failed.
    """
    if not (failed_a.any() or failed_b.any()):
        return None
    low, high = scale
    pairs = [(low, high), (high, low)]
    ends = [per_prompt(np.where(failed_a, one, a) - np.where(failed_b, other, b)) for one, other in pairs]
    return (float(ends[0].mean()), float(ends[1].mean())) if len(ends[0]) else None


def summarise_models(
    scores: Mapping[str, Mapping[str, ArrayLike]],
    seeds: Sequence[int] | None = None,
    failed: Mapping[str, Mapping[str, ArrayLike]] | None = None,
    runs: Mapping[str, Sequence[str]] | None = None,
    scales: Mapping[str, tuple[float, float]] | None = None,
    margin: float = 1e-9,
    resamples: int = DRAWS,
) -> dict[str, Any]:
    """What results.json holds, from scores[model][metric] of shape (seeds, prompts), models in order of training.

        {"seeds": [...], "prompts": N,
         "models": {model: {metric: {"mean", "low", "high", "per_seed", "runs_low", "runs_high", "counted", "trained",
                                     "failed"}}},
         "difference": {"<later>_minus_<earlier>": {metric: {as above, "win", "tie", "loss", "worst_case"}}}}

    `failed` counts what a judge failed on (by default every NaN), of a difference the pairs that are left out for it.
    The differences are those of every later model to every earlier one. `seeds` are the names of the rows (default 0,
    1, ...); rows of one name are one training seed in several numerical environments. runs: what each row of a model
    is: rows that compare the same two runs are one. scales: of metrics that are not in [0, 1]. Only plain numbers,
    lists and None: `json.dump` writes it as strict JSON. Raises ValueError when the models differ in their metrics or
    the arrays in their shape.
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
    missing = {
        model: {
            name: np.isnan(array) if failed is None else np.asarray(failed[model][name], dtype=bool)
            for name, array in table.items()
        }
        for model, table in arrays.items()
    }
    rows_of = {model: list(map(str, range(rows))) if runs is None else list(runs[model]) for model in arrays}

    def of_model(model: str, metric: str) -> dict[str, Any]:
        estimate = with_runs(bootstrap_mean(arrays[model][metric], resamples), independent(names, rows_of[model]))
        return asdict(estimate) | {"failed": int(missing[model][metric].sum())}

    def of_pair(later: str, earlier: str, metric: str) -> dict[str, Any]:
        a, b = arrays[later][metric], arrays[earlier][metric]
        failed_a, failed_b = missing[later][metric], missing[earlier][metric]
        compared = list(zip(rows_of[later], rows_of[earlier], strict=True))
        estimate = with_runs(paired_difference(a, b, resamples), independent(names, compared))
        ends = worst_case(a, b, failed_a, failed_b, (scales or {}).get(metric, (0.0, 1.0)))
        return (
            asdict(estimate)
            | asdict(win_tie_loss(a, b, margin))
            | {"failed": int((failed_a | failed_b).sum()), "worst_case": None if ends is None else list(ends)}
        )

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
    """Each row's seed, that of the first row which is the same run: beside three seeds a fixed model is one run."""
    first: dict[Any, int] = {}
    return [first.setdefault(run, seed) for seed, run in zip(seeds, runs, strict=True)]


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
