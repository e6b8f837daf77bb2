"""Statistics of agreement: pure functions over plain numbers.

    spearman([0.9, 0.2, 0.4], [3, 1, 2])        # 1.0

A statistic that its data leave undefined (one class only, no pairs) is nan, so that a resample
never raises.
"""

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from scipy.stats import kendalltau, pearsonr, spearmanr


def correlation(
    of: Callable[..., Any], scores: Sequence[float], ratings: Sequence[float], **options: Any
) -> float:
    """Returns scipy's correlation in [-1, 1]; nan when either side is constant."""
    if len(set(scores)) < 2 or len(set(ratings)) < 2:
        return float("nan")
    return float(of(scores, ratings, **options).statistic)


def pearson(scores: Sequence[float], ratings: Sequence[float]) -> float:
    return correlation(pearsonr, scores, ratings)


def kendall_tau_c(scores: Sequence[float], ratings: Sequence[float]) -> float:
    """Returns Stuart's tau-c, the rank correlation that captioning papers report."""
    return correlation(kendalltau, scores, ratings, variant="c")


def kendall_tau_b(scores: Sequence[float], ratings: Sequence[float]) -> float:
    """Returns Kendall's tau-b, which discounts ties on either side."""
    return correlation(kendalltau, scores, ratings, variant="b")


def spearman(scores: Sequence[float], ratings: Sequence[float]) -> float:
    return correlation(spearmanr, scores, ratings)


def pair_accuracy(preferred: Sequence[float], other: Sequence[float]) -> float:
    """Returns how often what people prefer scores higher, in [0, 1], a tie counting half; nan
    without pairs. Raises ValueError for other lengths.
    """
    pairs = list(zip(preferred, other, strict=True))
    return fmean((a > b) + (a == b) / 2 for a, b in pairs) if pairs else float("nan")
