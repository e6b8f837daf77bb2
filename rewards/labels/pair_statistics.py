"""Which of two texts a metric prefers, and people: pure functions over score differences or outcomes.

    threshold = tie_threshold([0.1, -0.02, 0.4, 0.3], gold_ties=0.25)      # 0.02
    three_way_accuracy([0.1, -0.02, 0.4, 0.3], [1, 0, 2, -1])              # 0.75

A difference is the metric's score of the first text less that of the second. A preference is above 0 where people
prefer the first text, 0 for a tie. What is undefined (no pairs) is nan, so that a resample never raises.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


def tie_threshold(differences: Sequence[float], gold_ties: float) -> float:
    """Returns the largest absolute difference that is a tie, so that the share of ties is nearest to `gold_ties`. PoSh,
    section 5: "using a tie threshold inferred from the gold tie rate". Equal scores are a tie at any threshold. The
    smaller of two equally near thresholds is taken.
    """
    sizes = np.sort(np.abs(np.asarray(differences, dtype=np.float64)))
    if not len(sizes):
        return 0.0
    candidates = np.unique(np.append(sizes, 0.0))
    shares = np.searchsorted(sizes, candidates, side="right") / len(sizes)
    return float(candidates[np.argmin(np.abs(shares - gold_ties))])


def three_way_accuracy(differences: Sequence[float], preferences: Sequence[float]) -> float:
    """Returns the share of pairs, in [0, 1], where the metric picks the better text, or a tie where people see one.
    PoSh, section 5 and tables 3 and 6, "acc". The tie threshold is tuned to people's share of ties in these very pairs.
    """
    if len(differences) != len(preferences):
        raise ValueError(f"got {len(differences)} differences and {len(preferences)} preferences")
    if not len(differences):
        return float("nan")
    gold = np.sign(np.asarray(preferences, dtype=np.float64))
    return float((predicted_signs(differences, float((gold == 0).mean())) == gold).mean())


def predicted_signs(differences: Sequence[float], gold_ties: float) -> np.ndarray:
    """Returns 1 where the first text is better, -1 the second, 0 a tie."""
    values = np.asarray(differences, dtype=np.float64)
    return np.where(np.abs(values) <= tie_threshold(differences, gold_ties), 0.0, np.sign(values))


def best_against_others(scores: Sequence[float], best: int) -> list[tuple[float, float]]:
    """Returns (score of the best, score of another) for each of the others: HarmonicEval's pairs of a triplet (D.3)."""
    return [(scores[best], other) for number, other in enumerate(scores) if number != best]


@dataclass(frozen=True, slots=True)
class PairAccuracies:
    """Counts of pairs: `same` of the `read` ones have people's outcome, ties included. Without the pairs that either
    side calls a tie, `right` of the `decided` ones have it.
    """

    same: int
    read: int
    right: int
    decided: int

    @property
    def with_ties(self) -> float | None:
        return self.same / self.read if self.read else None

    @property
    def without_ties(self) -> float | None:
        return self.right / self.decided if self.decided else None


def pair_accuracies(judge: Sequence[int | None], people: Sequence[int]) -> PairAccuracies:
    """Compares outcomes: 1 the first text is better, -1 the second, 0 a tie, None a failed vote, which is left out.
    MLLM-as-a-Judge, section 3.2 and table 2. Raises ValueError where the lengths differ.
    """
    read = [(one, other) for one, other in zip(judge, people, strict=True) if one is not None]
    decided = [one == other for one, other in read if one and other]
    return PairAccuracies(sum(one == other for one, other in read), len(read), sum(decided), len(decided))
