"""PoSh's formulas, as pure functions of ratings (PoSh, section 3; credit: docs/credit.md).

Ratings are expectations on 1..5. Precision, recall and all parts of a Verdict are in the published unit, rating / 5, in
[0.2, 1]. A Span's score is (rating - 1) / 4, in [0, 1]. The paper has F1 and equal weights. The general forms are ours
and give exactly the same floats for them.
"""

import re
from collections.abc import Mapping, Sequence
from math import isfinite

from spanreward.rewards.naming import unknown

LEVELS = 5
PRESENT = ("entity", "attribute", "relation")
KINDS = (*PRESENT, "denial")
F_SCORE = re.compile(r"f(\d+\.?\d*|\.\d+)")


def direction_score(ratings: Sequence[float], weights: Sequence[float] | None = None) -> float:
    """Returns precision or recall: the weighted mean rating / 5, in [0.2, 1].

    weights: one per rating, at least 0; None weighs all alike. Without ratings, or with weights of sum 0, it is 1.0 as
    published.
    """
    weights = [1.0] * len(ratings) if weights is None else weights
    total = sum(weights)
    return sum(w * rating for w, rating in zip(weights, ratings, strict=True)) / total / LEVELS if total else 1.0


def f_beta(precision: float, recall: float, beta: float) -> float:
    """Returns (1 + b) P R / (b P + R) with b = beta^2, 0 if both are 0. Recall counts beta times as much."""
    b = beta * beta
    total = b * precision + recall
    return (1 + b) * precision * recall / total if total else 0.0


def f1(precision: float, recall: float) -> float:
    """Returns the harmonic mean, 0 if both are 0."""
    return f_beta(precision, recall, 1.0)


def beta_of(score: str) -> float | None:
    """Returns the beta of "f1", "f0.5" and so on, None for "precision" and "recall". Raises ValueError otherwise."""
    if score in ("precision", "recall"):
        return None
    number = F_SCORE.fullmatch(score) if isinstance(score, str) else None
    beta = float(number[1]) if number else 0.0
    if not 0 < beta * beta < float("inf"):
        raise ValueError(f"score is 'precision', 'recall', 'f1' or another F-score such as 'f0.5', got {score!r}")
    return beta


def coarse_scores(precision: float, recall: float, score: str) -> dict[str, float]:
    """Returns precision, recall and F1 by name, and `score` if it is another F-score."""
    parts = {"precision": precision, "recall": recall, "f1": f1(precision, recall)}
    beta = beta_of(score)
    return parts if beta is None or score in parts else {**parts, score: f_beta(precision, recall, beta)}


def kind_weights(weights: Mapping[str, float] | None) -> dict[str, float]:
    """Returns the weight of each kind of component, 1 by default.

    Raises ValueError for an unknown kind, a weight that is not a finite number from 0 up, or if only denials count.
    """
    given = {} if weights is None else weights
    if not isinstance(given, Mapping):
        raise ValueError(f"weights give kinds a number, such as {{'attribute': 2}}, got {given!r}")
    for kind, weight in given.items():
        if kind not in KINDS:
            raise ValueError(unknown("kind in weights", str(kind), KINDS))
        if not isinstance(weight, (int, float)) or not isfinite(weight) or weight < 0:
            raise ValueError(f"the weight of {kind!r} must be a finite number from 0 up, got {weight!r}")
    every = {kind: float(given.get(kind, 1.0)) for kind in KINDS}
    if not any(every[kind] for kind in PRESENT):
        raise ValueError(f"one of the weights of entity, attribute and relation must be above 0, got {dict(given)}")
    return every


def span_score(rating: float) -> float:
    """Returns a rating of 1..5 as 0 (wrong) .. 1 (right)."""
    return min(max((rating - 1) / (LEVELS - 1), 0.0), 1.0)


def credit(
    rating: float, precision: float, recall: float, said: float, wanted: float, score: str = "f1", weight: float = 1.0
) -> float:
    """Returns what one component of the completion adds to the score: the score's derivative, in the score's unit.

    said: the total weight W of the completion's components. wanted: the total weight V of the reference's. weight: the
    component's own weight w. If all weights are 1, W and V are the numbers of components.

    Suppose a fraction x of the component is said once more. With s = rating / 5, precision becomes
    (W P + x w s) / (W + x w). Its derivative at x = 0 is w (s - P) / W. Recall gains w s / V. The chain rule over
    F = (1 + b) P R / (b P + R), b = beta^2, gives
        credit = (1 + b) R^2 / (b P + R)^2 * w (s - P) / W + (1 + b) b P^2 / (b P + R)^2 * w s / V
    For score "precision" the credit is w (s - P) / W, and for "recall" it is 0.
    """
    if not weight:
        return 0.0
    share = weight * (rating / LEVELS - precision) / said
    beta = beta_of(score)
    if beta is None:
        return share if score == "precision" else 0.0
    b = beta * beta
    total = (b * precision + recall) ** 2
    recalled = weight * rating / LEVELS / wanted if wanted else 0.0
    return (1 + b) * recall**2 / total * share + (1 + b) * b * precision**2 / total * recalled
