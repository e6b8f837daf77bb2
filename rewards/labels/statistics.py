"""How far scores and people's labels agree: pure functions over plain numbers.

    pearson([0.9, 0.2, 0.4], [3, 1, 2])         # 0.97

A correlation that its data leave undefined is nan, so that a resample never raises.
"""

from collections.abc import Callable, Sequence
from typing import Any

from scipy.stats import pearsonr


def correlation(of: Callable[..., Any], scores: Sequence[float], ratings: Sequence[float], **options: Any) -> float:
    """Returns scipy's correlation in [-1, 1]; nan when either side is constant."""
    if len(set(scores)) < 2 or len(set(ratings)) < 2:
        return float("nan")
    return float(of(scores, ratings, **options).statistic)


def pearson(scores: Sequence[float], ratings: Sequence[float]) -> float:
    return correlation(pearsonr, scores, ratings)
