"""PoSh's formulas, as pure functions of ratings (PoSh, section 3; credit: docs/credit.md).

Ratings are expectations on 1..5. Precision, recall and all parts of a Verdict are in the published unit, rating / 5, in
[0.2, 1]. A Span's score is (rating - 1) / 4, in [0, 1].
"""

from collections.abc import Sequence

LEVELS = 5
KINDS = ("entity", "attribute", "relation", "denial")
SCORES = ("precision", "recall", "f1")


def direction_score(ratings: Sequence[float]) -> float:
    """Returns precision or recall: the mean rating / 5, in [0.2, 1]. Without ratings it is 1.0 as published."""
    return sum(ratings) / len(ratings) / LEVELS if ratings else 1.0


def f1(precision: float, recall: float) -> float:
    """Returns the harmonic mean, 0 if both are 0."""
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0


def coarse_scores(precision: float, recall: float) -> dict[str, float]:
    """Returns the SCORES by name."""
    return {"precision": precision, "recall": recall, "f1": f1(precision, recall)}


def span_score(rating: float) -> float:
    """Returns a rating of 1..5 as 0 (wrong) .. 1 (right)."""
    return min(max((rating - 1) / (LEVELS - 1), 0.0), 1.0)


def credit(rating: float, precision: float, recall: float, said: int, wanted: int, score: str = "f1") -> float:
    """Returns what one component of the completion adds to the score: the score's derivative, in the score's unit.

    said: the number n of the completion's components. wanted: the number m of the reference's.

    Suppose a fraction x of the component is said once more. With s = rating / 5, precision becomes
    (n P + x s) / (n + x). Its derivative at x = 0 is (s - P) / n. Recall gains s / m. The chain rule over
    F1 = 2 P R / (P + R) gives
        credit = 2 R^2 / (P + R)^2 * (s - P) / n + 2 P^2 / (P + R)^2 * s / m
    For score "precision" the credit is (s - P) / n, and for "recall" it is 0.
    """
    share = (rating / LEVELS - precision) / said
    if score != "f1":
        return share if score == "precision" else 0.0
    total = (precision + recall) ** 2
    recalled = rating / LEVELS / wanted if wanted else 0.0
    return 2 * recall**2 / total * share + 2 * precision**2 / total * recalled
