"""Which of two texts a metric prefers, and people: pure functions over score differences.

    threshold = tie_threshold([0.1, -0.02, 0.4, 0.3], gold_ties=0.25)      # 0.02
    three_way_accuracy([0.1, -0.02, 0.4, 0.3], [1, 0, 2, -1])              # 0.75

A difference is the metric's score of the first text less that of the second; a preference is above 0 where people
prefer the first, 0 for a tie. What is undefined (no pairs) is nan, so that a resample never raises.
"""

from collections.abc import Sequence

import numpy as np


def tie_threshold(differences: Sequence[float], gold_ties: float) -> float:
    """The largest absolute difference that counts as a tie, so that the share of ties is nearest to `gold_ties`.

    PoSh, section 5: "using a tie threshold inferred from the gold tie rate". Equal scores are a tie at any threshold.
    Of two thresholds that are equally near, the smaller.
    """
    sizes = np.sort(np.abs(np.asarray(differences, dtype=np.float64)))
    if not len(sizes):
        return 0.0
    candidates = np.unique(np.append(sizes, 0.0))
    shares = np.searchsorted(sizes, candidates, side="right") / len(sizes)
    return float(candidates[np.argmin(np.abs(shares - gold_ties))])


def three_way_accuracy(differences: Sequence[float], preferences: Sequence[float]) -> float:
    """The share of pairs, in [0, 1], where the metric picks the better text, or a tie where people see one.

    PoSh, section 5 and tables 3 and 6, "acc". The tie threshold is tuned for people's share of ties among these very
    pairs.
    """
    if len(differences) != len(preferences):
        raise ValueError(f"got {len(differences)} differences and {len(preferences)} preferences")
    if not len(differences):
        return float("nan")
    gold = np.sign(np.asarray(preferences, dtype=np.float64))
    return float((predicted_signs(differences, float((gold == 0).mean())) == gold).mean())


def predicted_signs(differences: Sequence[float], gold_ties: float) -> np.ndarray:
    """1, 0 or -1 per pair: the first is better, a tie, the second is better."""
    values = np.asarray(differences, dtype=np.float64)
    return np.where(np.abs(values) <= tie_threshold(differences, gold_ties), 0.0, np.sign(values))


def best_against_others(scores: Sequence[float], best: int) -> list[tuple[float, float]]:
    """(score of the best, score of another) for each of the others.

    HarmonicEval, D.3: the pairs that are taken from a triplet of which people chose the best.
    """
    return [(scores[best], other) for number, other in enumerate(scores) if number != best]
