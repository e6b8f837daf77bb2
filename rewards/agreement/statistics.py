"""Statistics of agreement: pure functions over plain numbers.

    auroc([0.9, 0.2, 0.4], [True, False, True])                    # 1.0
    bootstrap(values, lambda drawn: sum(drawn) / len(drawn))       # Interval(low, high), 95 %

A statistic that its data leave undefined (one class only, no pairs) is nan, so that a resample never raises.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy.stats import kendalltau, pearsonr, rankdata, spearmanr

from rewards.comparison.resampling import Interval

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Precision, recall and F1 in [0, 1] of a set of finds; 0 where nothing was found or nothing is there."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class PairAccuracy:
    """Share of pairs decided as people did, in [0, 1], a tie counting half; `ties` is the share of ties."""

    accuracy: float
    ties: float


def retrieval(right: float, found: float, there: float) -> Retrieval:
    """From counts: `right` of the `found` are correct, `there` should have been found."""
    precision = right / found if found else 0.0
    recall = right / there if there else 0.0
    total = precision + recall
    return Retrieval(precision, recall, 2 * precision * recall / total if total else 0.0)


def flag_retrieval(predicted: Sequence[bool], true: Sequence[bool]) -> Retrieval:
    """Predicted flags against true ones, one each per word. Raises ValueError when the lengths differ."""
    right = sum(p and t for p, t in zip(predicted, true, strict=True))
    return retrieval(right, sum(predicted), sum(true))


def auroc(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """Chance that a positive scores above a negative, ties half, in [0, 1]; nan without both classes."""
    labels = np.asarray(positive, dtype=bool)
    if len(scores) != len(labels):
        raise ValueError(f"got {len(scores)} scores and {len(labels)} labels")
    positives, negatives = int(labels.sum()), int((~labels).sum())
    if not positives or not negatives:
        return float("nan")
    rank_sum = rankdata(scores)[labels].sum()
    return float((rank_sum - positives * (positives + 1) / 2) / (positives * negatives))


def kendall_tau_c(scores: Sequence[float], ratings: Sequence[float]) -> float:
    """Stuart's tau-c in [-1, 1], the rank correlation captioning papers report; nan when either side is constant."""
    if len(set(scores)) < 2 or len(set(ratings)) < 2:
        return float("nan")
    return float(kendalltau(scores, ratings, variant="c").statistic)


def kendall_tau_b(scores: Sequence[float], ratings: Sequence[float]) -> float:
    """Kendall's tau-b in [-1, 1], which discounts ties on either side; nan when either side is constant."""
    if len(set(scores)) < 2 or len(set(ratings)) < 2:
        return float("nan")
    return float(kendalltau(scores, ratings, variant="b").statistic)


def spearman(scores: Sequence[float], ratings: Sequence[float]) -> float:
    """Spearman's rank correlation in [-1, 1], equal values sharing their rank; nan when either side is constant."""
    if len(set(scores)) < 2 or len(set(ratings)) < 2:
        return float("nan")
    return float(spearmanr(scores, ratings).statistic)


def pearson(scores: Sequence[float], ratings: Sequence[float]) -> float:
    """Pearson's correlation in [-1, 1]; nan when either side is constant."""
    if len(set(scores)) < 2 or len(set(ratings)) < 2:
        return float("nan")
    return float(pearsonr(scores, ratings).statistic)


def pair_accuracy(preferred: Sequence[float], other: Sequence[float]) -> PairAccuracy:
    """How often what people prefer scores higher; nan without pairs. Raises ValueError when the lengths differ."""
    pairs = list(zip(preferred, other, strict=True))
    if not pairs:
        return PairAccuracy(float("nan"), float("nan"))
    wins, ties = sum(a > b for a, b in pairs), sum(a == b for a, b in pairs)
    return PairAccuracy((wins + ties / 2) / len(pairs), ties / len(pairs))


def bootstrap(
    units: Sequence[T],
    statistic: Callable[[Sequence[T]], float],
    draws: int = 500,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Percentile interval of a statistic over independent units (images, say, not the ratings within one).

    Resamples whose statistic is nan are left out; the bounds are nan when all are. Raises ValueError without units.
    """
    if not units:
        raise ValueError("a bootstrap needs at least one unit")
    generator = np.random.default_rng(seed)
    drawn = [
        statistic([units[i] for i in generator.integers(len(units), size=len(units)).tolist()]) for _ in range(draws)
    ]
    values = [value for value in drawn if value == value]
    if not values:
        return Interval(float("nan"), float("nan"))
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))
