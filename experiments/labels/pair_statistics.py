"""Which of two texts a metric prefers, and people: pure functions over score differences or
outcomes.

    threshold = tie_threshold([0.1, -0.02, 0.4, 0.3], gold_ties=1)         # 0.1
    three_way_accuracy([0.1, -0.02, 0.4, 0.3], [1, 0, 2, -1])              # 0.75

A difference is the metric's score of the first text less that of the second. A preference is above
0 where people prefer the first text, 0 for a tie. What is undefined (no pairs) is nan, so that a
resample never raises.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np


def tie_threshold(differences: Sequence[float], gold_ties: int) -> float:
    """Returns the smallest absolute difference that decides a pair: the `gold_ties`-th, from 0, of
    all in ascending order; inf where people decide no pair. PoSh, section 5: "using a tie threshold
    inferred from the gold tie rate", as its code reads it. Equal scores may make more or fewer ties
    than `gold_ties`.
    """
    sizes = np.sort(np.abs(np.asarray(differences, dtype=np.float64)))
    return float(sizes[gold_ties]) if gold_ties < len(sizes) else inf


def three_way_accuracy(differences: Sequence[float], preferences: Sequence[float]) -> float:
    """Returns the share of pairs, in [0, 1], where the metric picks the better text, or a tie where
    people see one. PoSh, section 5 and tables 3 and 6, "acc". The tie threshold is that of people's
    ties in these very pairs.
    """
    if len(differences) != len(preferences):
        raise ValueError(f"got {len(differences)} differences and {len(preferences)} preferences")
    if not len(differences):
        return float("nan")
    gold = np.sign(np.asarray(preferences, dtype=np.float64))
    return float((predicted_signs(differences, int((gold == 0).sum())) == gold).mean())


def predicted_signs(differences: Sequence[float], gold_ties: int) -> np.ndarray:
    """Returns 1 where the first text is better, -1 the second, 0 a tie. As in PoSh's code, a
    threshold of 0 leaves no tie: of two equal scores it then prefers the first text.
    """
    values = np.asarray(differences, dtype=np.float64)
    threshold = tie_threshold(differences, gold_ties)
    return np.where(values >= threshold, 1.0, np.where(-values >= threshold, -1.0, 0.0))


def best_against_others(scores: Sequence[float], best: int) -> list[tuple[float, float]]:
    """Returns (score of the best, score of another) for each of the others: HarmonicEval's pairs of
    a triplet (D.3).
    """
    return [(scores[best], other) for number, other in enumerate(scores) if number != best]


@dataclass(frozen=True, slots=True)
class PairAccuracies:
    """Counts of pairs: `same` of the `read` ones have people's outcome, ties included. Without the
    pairs that either side calls a tie, `right` of the `decided` ones have it.
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
    """Compares outcomes: 1 the first text is better, -1 the second, 0 a tie, None a failed vote,
    which is left out. MLLM-as-a-Judge, section 3.2 and table 2. Raises ValueError where the lengths
    differ.
    """
    read = [(one, other) for one, other in zip(judge, people, strict=True) if one is not None]
    decided = [one == other for one, other in read if one and other]
    return PairAccuracies(
        sum(one == other for one, other in read), len(read), sum(decided), len(decided)
    )
