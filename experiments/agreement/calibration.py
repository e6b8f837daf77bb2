"""A judge's ratings mapped onto people's, by isotonic regression on labels of the user's own.

    mapped = held_out(ratings, people, requests)
    # each rating mapped by a curve that never saw its request
    fit([1.2, 3.0, 2.0], [1, 4, 3])([2.5])             # [3.5]

Pearson asks whether a judge orders texts along a line as people do. It does not see a judge that
says 4 where people say 2. The curve is monotone and fits as well as any monotone curve can on the
texts that it is fitted to, so it is measured on others: the requests are cut into FOLDS, and each
is mapped by the curve of the other ones.
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import isotonic_regression

FOLDS = 5
SEED = 0


def fit(
    ratings: Sequence[float], people: Sequence[float]
) -> Callable[[Sequence[float]], list[float]]:
    """Returns the curve from ratings to people's: linear between the fitted ones and flat outside.
    Raises ValueError for no rating and where the numbers of entries differ.
    """
    if not ratings or len(ratings) != len(people):
        raise ValueError(
            f"a curve needs as many of people's ratings as of the judge's, got {len(people)}"
        )
    values, place, counts = np.unique(
        np.asarray(ratings, float), return_inverse=True, return_counts=True
    )
    means = np.bincount(place, np.asarray(people, float)) / counts
    levels = isotonic_regression(means, weights=counts).x
    return lambda asked: np.interp(asked, values, levels).tolist()


def held_out(
    ratings: Sequence[float], people: Sequence[float], requests: Sequence[str]
) -> list[float] | None:
    """Returns each rating on people's scale, mapped by the curve of the other folds' texts; None
    for fewer requests than FOLDS. requests: of each text; all texts of one are in one fold, drawn
    with SEED whatever their order.
    """
    names = sorted(set(requests))
    if len(names) < FOLDS:
        return None
    drawn = np.random.default_rng(SEED).permutation(len(names)) % FOLDS
    fold_of = dict(zip(names, drawn.tolist(), strict=True))
    folds = [fold_of[request] for request in requests]
    mapped = [0.0] * len(folds)
    for fold in range(FOLDS):
        others = [number for number, one in enumerate(folds) if one != fold]
        curve = fit([ratings[number] for number in others], [people[number] for number in others])
        inside = [number for number, one in enumerate(folds) if one == fold]
        for number, value in zip(
            inside, curve([ratings[number] for number in inside]), strict=True
        ):
            mapped[number] = value
    return mapped


def mean_error(ratings: Sequence[float], people: Sequence[float]) -> float | None:
    """Returns the mean absolute difference, in points of the scale, None without ratings."""
    differences = [abs(one - other) for one, other in zip(ratings, people, strict=True)]
    return sum(differences) / len(differences) if differences else None
