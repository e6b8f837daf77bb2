"""PoSh's numbers: pure functions over ratings, nothing else (posh_spec 4; DESIGN section 5).

Ratings are expectations on 1..5. A direction's score and everything in a Verdict's `parts` is in the published unit,
rating / 5, so in [0.2, 1]; a Span's score is (rating - 1) / 4, in [0, 1].
"""

from collections.abc import Sequence
from typing import Literal

Score = Literal["f1", "precision", "recall"]

LEVELS = 5


def direction_score(ratings: Sequence[float]) -> float:
    """Precision or recall: mean rating / 5, in [0.2, 1]; 1.0 of no ratings, as published."""
    return sum(ratings) / len(ratings) / LEVELS if ratings else 1.0


def f1(precision: float, recall: float) -> float:
    """Harmonic mean; 0 when both are 0."""
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0


def span_score(rating: float) -> float:
    """A rating on 1..5 as 0 (wrong) .. 1 (right)."""
    return min(max((rating - 1) / (LEVELS - 1), 0.0), 1.0)


def credit(rating: float, precision: float, recall: float, said: int, wanted: int, score: Score = "f1") -> float:
    """What one component of the completion adds to the score: the score's derivative, in the score's own unit.

    said: number n of the completion's components, whose mean `precision` is. wanted: number m of the reference's.
    With s = rating / 5, saying it moves precision by (s - P) / n and recall by s / m, so for F1 it is worth
    2R^2/(P+R)^2 (s - P)/n + 2P^2/(P+R)^2 s/m; (s - P)/n for precision, 0 for recall (DESIGN section 5).
    """
    share = (rating / LEVELS - precision) / said
    if score == "precision":
        return share
    if score == "recall":
        return 0.0
    total = (precision + recall) ** 2
    recalled = rating / LEVELS / wanted if wanted else 0.0
    return 2 * recall**2 / total * share + 2 * precision**2 / total * recalled
