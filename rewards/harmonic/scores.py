"""HarmonicEval's formulas: from distributions over ratings to one score (HarmonicEval, section 2).

    p = {"correctness": [0, 0, 0, 0.5, 0.5], "fluency": {"5": 1.0}}
    found = aggregate(p, gamma=0.75)
    found.overall, found.means["correctness"], found.stds["fluency"], found.weights

Means and the overall score are in the paper's unit, 1 to 5. A criterion weighs the more, the surer
the judge is of its rating. So the overall score can fall although a rating rises: a low rating that
the judge becomes surer of weighs more than before.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

RATING_LEVELS = (1, 2, 3, 4, 5)
# the standard deviation if a neighbouring level has the probability 1e-6; smaller deviations are
# rounding errors
SIGMA_FLOOR = 1e-3
SUM_TOLERANCE = 1e-3  # largest allowed distance of a rating's summed probabilities from 1

Distribution = Mapping[str, float] | Mapping[int, float] | Sequence[float]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """The overall score of ratings by several criteria, and the values behind the score.

    Args:
        overall: the weighted mean of the criteria, 1 to 5 (equation 2).
        weights: the weight of each criterion, 0 to 1, with sum 1 (equation 3).
        means: the mean rating by each criterion, 1 to 5 (equation 1).
        stds: the standard deviation of each criterion's rating, 0 to 2 (equation 4). `sigma_floor`
            does not change these values.
    """

    overall: float
    weights: dict[str, float]
    means: dict[str, float]
    stds: dict[str, float]


def aggregate(
    probabilities: Mapping[str, Distribution],
    gamma: float,
    sigma_floor: float = SIGMA_FLOOR,
    smooth: bool = True,
) -> Aggregate:
    """Returns the overall score of the criteria's ratings (HarmonicEval, equations 1 to 4).

    probabilities: for each criterion, the probability of each rating, as five numbers or as a
    mapping such as {"4": 0.25, "5": 0.75}. gamma: in (0, 1]. With 1, all criteria weigh alike. With
    0.5, a criterion weighs by the inverse of its variance. Near 0, only the surest criterion
    counts. sigma_floor: the smallest standard deviation that the weights use, above 0.

    smooth: True takes the mean rating of each criterion. False takes the most probable rating, the
    lower rating if two are equal. The weights stay the same. This is our reading of "w/o score
    smoothing" (table 4), which the paper does not explain.

    Raises ValueError without criteria, and for numbers that are no distribution over 1 to 5.
    """
    if not probabilities:
        raise ValueError("an aggregate needs at least one criterion")
    means: dict[str, float] = {}
    stds: dict[str, float] = {}
    for criterion, ratings in probabilities.items():
        p = rating_distribution(ratings, criterion)
        centre = mean_rating(p)
        # always about the mean, even if `smooth` is False
        stds[criterion] = rating_deviation(p, centre)
        if smooth:
            means[criterion] = centre
        else:
            likeliest = p.index(max(p))
            means[criterion] = float(RATING_LEVELS[likeliest])
    weights = harmonic_weights(stds, gamma, sigma_floor)
    return Aggregate(overall_rating(means, weights), weights, means, stds)


def parts_of_aggregate(aggregate: Aggregate) -> dict[str, float]:
    """Returns the aggregate as the parts of a verdict.

    The parts are `overall` and, for each criterion, the mean, the standard deviation and the
    weight, under keys such as `clarity`, `clarity_std` and `weight_clarity`.
    """
    parts = {"overall": aggregate.overall}
    for name, mean in aggregate.means.items():
        parts[name] = mean
        parts[f"{name}_std"] = aggregate.stds[name]
        parts[f"weight_{name}"] = aggregate.weights[name]
    return parts


def read_parts(parts: Mapping[str, float], names: Sequence[str]) -> Aggregate:
    """Returns the aggregate for parts that `parts_of_aggregate` made. names: the criteria."""
    weights = {}
    means = {}
    stds = {}
    for name in names:
        weights[name] = parts[f"weight_{name}"]
        means[name] = parts[name]
        stds[name] = parts[f"{name}_std"]
    return Aggregate(parts["overall"], weights, means, stds)


def rating_distribution(probabilities: Distribution, criterion: str) -> tuple[float, ...]:
    """Returns the probabilities of 1 to 5, with sum 1.

    `{"4": 0.25, "5": 0.75}` gives `(0, 0, 0, 0.25, 0.75)`. Raises ValueError for levels outside 1
    to 5, and for a list of more or fewer than five numbers. Raises ValueError for a probability
    below 0, and for a sum that differs from 1 by 0.001 or more. Errors have the criterion's name.
    """
    values = _values_of_levels(probabilities, criterion)
    total = math.fsum(values)
    # every comparison with NaN is false, so that NaN is no distribution either
    is_distribution = min(values) >= 0 and abs(total - 1) < SUM_TOLERANCE
    if not is_distribution:
        raise ValueError(f"{criterion}: probabilities are at least 0 and sum to 1, got {values}")
    # a judge's log probabilities are rounded, but the formulas need a sum of exactly 1
    return tuple(p / total for p in values)


def _values_of_levels(probabilities: Distribution, criterion: str) -> tuple[float, ...]:
    """Returns the five numbers for the levels 1 to 5, in this order, whatever their sum.

    `{"4": 0.25, "5": 0.75}` gives `(0, 0, 0, 0.25, 0.75)`. Raises ValueError, with the criterion's
    name, for another level, and for a list of more or fewer than five numbers.
    """
    unexpected: list[str] = []
    if isinstance(probabilities, Mapping):
        levels = [str(level) for level in RATING_LEVELS]
        table = {str(level): float(p) for level, p in probabilities.items()}
        unexpected = sorted(table.keys() - set(levels))
        values = tuple(table.get(level, 0.0) for level in levels)
    else:
        values = tuple(map(float, probabilities))
        if len(values) != len(RATING_LEVELS):
            unexpected = [f"{len(values)} numbers"]
    if unexpected:
        listed = ", ".join(unexpected)
        raise ValueError(f"{criterion}: a rating has the levels 1 to 5, got {listed}")
    return values


def mean_rating(p: Sequence[float]) -> float:
    """Returns the mean rating, 1 to 5, for the probabilities p of the ratings (equation 1)."""
    products = [level * share for level, share in zip(RATING_LEVELS, p, strict=True)]
    return math.fsum(products)


def rating_deviation(p: Sequence[float], centre: float) -> float:
    """Returns the standard deviation of the rating, 0 to 2 (equation 4).

    p: the probabilities of the ratings 1 to 5. centre: the mean rating.
    """
    products = []
    for level, share in zip(RATING_LEVELS, p, strict=True):
        squared_distance = (level - centre) ** 2
        products.append(squared_distance * share)
    return math.sqrt(math.fsum(products))


def harmonic_weights(
    stds: Mapping[str, float], gamma: float, sigma_floor: float = SIGMA_FLOOR
) -> dict[str, float]:
    """Returns the weight of each criterion, with sum 1 (equation 3).

    The weight is sigma^(-2 (1 - gamma) / gamma) / H, where H is the sum of the numerators of all
    criteria. stds: the standard deviation sigma of each criterion's rating, 0 to 2. sigma_floor
    replaces a smaller sigma. Raises ValueError for an invalid gamma or sigma_floor.
    """
    check_weighting(gamma, sigma_floor)
    exponent = -2 * (1 - gamma) / gamma
    # use logarithms, because sigma^-198 (gamma = 0.01) would overflow
    logs = {}
    for criterion, sigma in stds.items():
        floored = max(sigma, sigma_floor)  # without the floor, a sigma of 0 has no logarithm
        logs[criterion] = exponent * math.log(floored)
    # Subtract the largest logarithm, so that `exp` does not overflow. The division by the total
    # cancels the factor.
    largest = max(logs.values())
    raw = {criterion: math.exp(log - largest) for criterion, log in logs.items()}
    total = math.fsum(raw.values())
    return {criterion: value / total for criterion, value in raw.items()}


def check_weighting(gamma: float, sigma_floor: float = SIGMA_FLOOR) -> None:
    """Raises ValueError for a gamma outside (0, 1] and for a sigma_floor that is not above 0."""
    if not 0 < gamma <= 1:
        raise ValueError(
            f"gamma lies in (0, 1], from the surest criterion alone to all alike, got {gamma}"
        )
    if not 0 < sigma_floor < math.inf:
        raise ValueError(f"sigma_floor must be a number above 0, got {sigma_floor}")


def overall_rating(means: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Returns the weighted mean of the criteria, 1 to 5 (equation 2).

    means: the mean rating by criterion. weights: the weight by criterion, with sum 1.
    """
    products = [weights[criterion] * value for criterion, value in means.items()]
    total = math.fsum(products)
    # by rounding, the mean of several fives can be a little above 5
    lowest = float(RATING_LEVELS[0])
    highest = float(RATING_LEVELS[-1])
    return min(max(total, lowest), highest)


def score_of_rating(rating: float) -> float:
    """Returns a rating of 1 to 5 as a score of 0 to 1: 3 gives 0.5."""
    lowest = RATING_LEVELS[0]
    highest = RATING_LEVELS[-1]
    return (rating - lowest) / (highest - lowest)
