"""HarmonicEval's formulas, from distributions over ratings to one score (HarmonicEval, section 2).

    p = {"correctness": [0, 0, 0, 0.5, 0.5], "fluency": {"5": 1.0}}
    found = aggregate(p, gamma=0.75)
    found.overall, found.means["correctness"], found.stds["fluency"], found.weights

Means and the overall score are in the paper's unit, 1 to 5. Weights follow the certainty of the
ratings, so a criterion that becomes better and surer, and is still below the others, lowers the
overall score.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LEVELS = (1, 2, 3, 4, 5)
# the std of a probability of 1e-6 on the neighbouring level; smaller ones are rounding errors
SIGMA_FLOOR = 1e-3
SUM_TOLERANCE = 1e-3  # by which the sum of a rating's probabilities may differ from 1

Distribution = Mapping[str, float] | Mapping[int, float] | Sequence[float]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """What the ratings by several criteria come to.

    Args:
        overall: the weighted mean of the criteria, 1 to 5 (equation 2).
        weights: the weight of each criterion, 0 to 1, with sum 1 (equation 3).
        means: the mean rating by each criterion, 1 to 5 (equation 1).
        stds: the standard deviation of each criterion's rating, 0 to 2, before the floor
            (equation 4).
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

    probabilities: per criterion the probability of each rating, as five numbers or {rating:
    number}. gamma: in (0, 1]. 1 weighs all criteria alike, 0.5 by inverse variance, and near 0 only
    the surest one counts. sigma_floor: the least standard deviation in the weights, above 0.
    smooth: False takes the most probable rating, the lower of equals, in place of the mean, with
    the same weights. This is our reading of "w/o score smoothing" (table 4), which the paper does
    not explain. Raises ValueError for no criteria, and for numbers that are no distribution over 1
    to 5.
    """
    if not probabilities:
        raise ValueError("an aggregate needs at least one criterion")
    means: dict[str, float] = {}
    stds: dict[str, float] = {}
    for criterion, ratings in probabilities.items():
        p = distribution(ratings, criterion)
        centre = mean(p)
        stds[criterion] = std(p, centre)  # about the mean, whichever rating counts
        if smooth:
            means[criterion] = centre
        else:
            likeliest = p.index(max(p))
            means[criterion] = float(LEVELS[likeliest])
    weights = harmonic_weights(stds, gamma, sigma_floor)
    return Aggregate(overall(means, weights), weights, means, stds)


def parts_of_aggregate(aggregate: Aggregate) -> dict[str, float]:
    """Returns the parts of a verdict: `overall`, and per criterion its mean, its standard deviation
    and its weight, as in `clarity`, `clarity_std` and `weight_clarity`.
    """
    parts = {"overall": aggregate.overall}
    for name, mean in aggregate.means.items():
        parts[name] = mean
        parts[f"{name}_std"] = aggregate.stds[name]
        parts[f"weight_{name}"] = aggregate.weights[name]
    return parts


def read_parts(parts: Mapping[str, float], names: Sequence[str]) -> Aggregate:
    """Returns the aggregate whose parts `parts_of_aggregate` gave. names: of the criteria."""
    weights = {}
    means = {}
    stds = {}
    for name in names:
        weights[name] = parts[f"weight_{name}"]
        means[name] = parts[name]
        stds[name] = parts[f"{name}_std"]
    return Aggregate(parts["overall"], weights, means, stds)


def distribution(probabilities: Distribution, criterion: str) -> tuple[float, ...]:
    """Returns the probabilities of 1 to 5, with sum 1.

    `{"4": 0.25, "5": 0.75}` gives `(0, 0, 0, 0.25, 0.75)`. Raises ValueError naming the criterion
    for other levels, another number of probabilities, one below 0, and a sum further from 1 than
    0.001.
    """
    strange: set[str] = set()  # what is no level from 1 to 5
    if isinstance(probabilities, Mapping):
        levels = [str(level) for level in LEVELS]
        table = {str(level): float(p) for level, p in probabilities.items()}
        strange.update(table.keys() - set(levels))
        values = tuple(table.get(level, 0.0) for level in levels)
    else:
        values = tuple(map(float, probabilities))
        if len(values) != len(LEVELS):
            strange.add(f"{len(values)} numbers")
    if strange:
        listed = ", ".join(sorted(strange))
        raise ValueError(f"{criterion}: a rating has the levels 1 to 5, got {listed}")
    total = math.fsum(values)
    # written so that NaN, for which every comparison is false, is refused too
    is_distribution = min(values) >= 0 and abs(total - 1) < SUM_TOLERANCE
    if not is_distribution:
        raise ValueError(f"{criterion}: probabilities are at least 0 and sum to 1, got {values}")
    # a judge's logprobs are rounded, and the formulas need a sum of 1
    return tuple(p / total for p in values)


def mean(p: Sequence[float]) -> float:
    """Returns the smoothed score, 1 to 5 (equation 1)."""
    products = [level * share for level, share in zip(LEVELS, p, strict=True)]
    return math.fsum(products)


def std(p: Sequence[float], centre: float) -> float:
    """Returns the standard deviation about the smoothed score, 0 to 2 (equation 4)."""
    products = []
    for level, share in zip(LEVELS, p, strict=True):
        squared_distance = (level - centre) ** 2
        products.append(squared_distance * share)
    return math.sqrt(math.fsum(products))


def harmonic_weights(
    stds: Mapping[str, float], gamma: float, sigma_floor: float = SIGMA_FLOOR
) -> dict[str, float]:
    """Returns w = sigma^(-2 (1 - gamma) / gamma) / H with their sum H (equation 3).

    stds: the standard deviation of each criterion's rating, 0 to 2. Raises ValueError as
    `check_weighting`.
    """
    check_weighting(gamma, sigma_floor)
    exponent = -2 * (1 - gamma) / gamma
    # in logarithms, because gamma = 0.01 means sigma^-198
    logs = {}
    for criterion, sigma in stds.items():
        floored = max(sigma, sigma_floor)  # a rating without any doubt has no logarithm
        logs[criterion] = exponent * math.log(floored)
    # The largest becomes exp(0) = 1, so that nothing overflows. The factor cancels in the division.
    largest = max(logs.values())
    raw = {criterion: math.exp(log - largest) for criterion, log in logs.items()}
    total = math.fsum(raw.values())
    return {criterion: value / total for criterion, value in raw.items()}


def check_weighting(gamma: float, sigma_floor: float = SIGMA_FLOOR) -> None:
    """Raises ValueError for a gamma outside (0, 1] and a floor that is not above 0."""
    if not 0 < gamma <= 1:
        raise ValueError(
            f"gamma lies in (0, 1], from the surest criterion alone to all alike, got {gamma}"
        )
    if not 0 < sigma_floor < math.inf:
        raise ValueError(f"sigma_floor must be a number above 0, got {sigma_floor}")


def overall(means: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Returns the weighted mean of the criteria, 1 to 5 (equation 2).

    means, weights: by criterion. The weights have the sum 1.
    """
    products = [weights[criterion] * value for criterion, value in means.items()]
    total = math.fsum(products)
    # rounding can put a mean of fives a little above 5
    lowest = float(LEVELS[0])
    highest = float(LEVELS[-1])
    return min(max(total, lowest), highest)


def unit(rating: float) -> float:
    """Returns a rating of 1 to 5 as a score of 0 to 1: 3 gives 0.5."""
    lowest = LEVELS[0]
    highest = LEVELS[-1]
    return (rating - lowest) / (highest - lowest)
