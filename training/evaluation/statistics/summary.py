"""Did RL beat SFT? Every model's means and every pair's differences, from scores.

scores = {"sft": {"truth_f1": sft}, "dapo": {"truth_f1": dapo}}     # arrays of shape (seeds, prompts)
summary = summarise_models(scores, seeds=[0, 1, 2])
summary.differences["dapo", "sft"]["truth_f1"].mean                 # 0.04
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from spanreward.rewards.comparison.resampling import DRAWS
from spanreward.training.evaluation.statistics.estimates import (
    MARGIN,
    Array,
    Estimate,
    Flags,
    as_scores,
    bootstrap_mean,
    differences,
    independent,
    paired_difference,
    per_prompt,
    with_runs,
)

Scores = Mapping[str, Mapping[str, ArrayLike]]  # {model: {metric: (seeds, prompts)}}, models in training order


@dataclass(frozen=True, slots=True)
class Mean(Estimate):
    """A model's mean. failed: judgments."""

    failed: int = 0


@dataclass(frozen=True, slots=True)
class Difference(Estimate):
    """A later model's score less an earlier one's.

    Attributes:
        win, tie, loss: (seed, prompt) pairs where the later is higher, within MARGIN, and lower.
        failed: pairs left out for a failed judgment.
        worst_case: the lowest and highest mean that failed judgments allow; None where nothing failed.
    """

    win: int = 0
    tie: int = 0
    loss: int = 0
    failed: int = 0
    worst_case: list[float] | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """models: {model: {metric: mean}}. differences: {(later, earlier): {metric: difference}}, of every two models."""

    models: dict[str, dict[str, Mean]]
    differences: dict[tuple[str, str], dict[str, Difference]]


def summarise_models(
    scores: Scores,
    seeds: Sequence[int] | None = None,
    failed: Mapping[str, Mapping[str, ArrayLike]] | None = None,
    runs: Mapping[str, Sequence[str]] | None = None,
    scales: Mapping[str, tuple[float, float]] | None = None,
    clusters: Sequence[int] | None = None,
    resamples: int = DRAWS,
) -> Summary:
    """Returns the means of every model and the differences of every later model from every earlier one.

    A model's mean is over the answers that all models with any score have one for. seeds: the rows' names (default 0,
    1, ...); rows of one name are one training seed in several numerical environments. failed: where a judge failed
    (default: every NaN). runs: the run of each row; rows that compare the same two runs count once. scales: of metrics
    that are not in [0, 1]. clusters: which prompts belong together (default: none).
    """
    arrays = {model: {name: as_scores(values) for name, values in table.items()} for model, table in scores.items()}
    lost = {
        model: {
            name: np.isnan(array) if failed is None else np.asarray(failed[model][name], dtype=bool)
            for name, array in table.items()
        }
        for model, table in arrays.items()
    }
    metrics = list(next(iter(arrays.values())))
    rows = range(len(next(iter(arrays.values()))[metrics[0]]))
    names = list(rows) if seeds is None else list(seeds)
    of_run = {model: list(map(str, rows)) if runs is None else list(runs[model]) for model in arrays}

    def mean(model: str, metric: str) -> Mean:
        gaps = [np.isnan(table[metric]) for table in arrays.values()]
        everywhere = ~np.any([gap for gap in gaps if not gap.all()], axis=0)
        values = np.where(everywhere, arrays[model][metric], np.nan)
        own = independent(names, of_run[model])
        estimate = with_runs(bootstrap_mean(values, resamples, clusters), values, own, clusters)
        return Mean(**asdict(estimate), failed=int(lost[model][metric].sum()))

    def difference(later: str, earlier: str, metric: str) -> Difference:
        a, b = arrays[later][metric], arrays[earlier][metric]
        failed_a, failed_b = lost[later][metric], lost[earlier][metric]
        own = independent(names, list(zip(of_run[later], of_run[earlier], strict=True)))
        found = difference_of(a, b, own, clusters, resamples)
        ends = worst_case(a, b, failed_a, failed_b, (scales or {}).get(metric, (0.0, 1.0)))
        return replace(found, failed=int((failed_a | failed_b).sum()), worst_case=ends)

    return Summary(
        {model: {metric: mean(model, metric) for metric in metrics} for model in arrays},
        {
            (later, earlier): {metric: difference(later, earlier, metric) for metric in metrics}
            for earlier, later in combinations(arrays, 2)
        },
    )


def difference_of(
    a: Array, b: Array, seeds: Sequence[int], clusters: Sequence[int] | None = None, resamples: int = DRAWS
) -> Difference:
    """Returns a - b, (seeds, prompts), over the pairs that both have; failed judgments are not known here."""
    win, tie, loss = win_tie_loss(a, b)
    estimate = paired_difference(a, b, seeds, resamples, clusters)
    return Difference(**asdict(estimate), win=win, tie=tie, loss=loss)


def win_tie_loss(a: ArrayLike, b: ArrayLike) -> tuple[int, int, int]:
    """Counts the (seed, prompt) pairs where `a` is higher than `b`, within MARGIN of it, and lower."""
    gaps = differences(a, b)
    return int((gaps > MARGIN).sum()), int((np.abs(gaps) <= MARGIN).sum()), int((gaps < -MARGIN).sum())


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
