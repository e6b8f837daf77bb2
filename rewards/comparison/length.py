"""Does a model win because it writes more? The win rate at equal length.

    control_length([1, 0, 0.5], [(40, 31), (12, 30), (25, 25)])
    # outcomes; (words of ours, of the other)

`controlled` is a logistic regression of the outcome on the length difference, read at a difference
of 0. A judge that looks at length alone gives 50 %. Intervals hold near 0 and 100 % too: that of
all pairs is Wilson's (1927) with as many pairs as their dependence leaves, that of the regression
is on the scale of log odds.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from scipy.stats import t as student

from spanreward.rewards.comparison.resampling import Array, Interval

# ours must be the longer on this share of the prompts, and the shorter on this share
MIN_PROMPT_SHARE = 0.05
MIN_PROMPTS = 5  # and on at least so many prompts each
RIDGE = (0.0, 0.05, 0.005)  # keeps coefficients finite where length alone decides
# weight of an imaginary draw at equal length, which keeps the intercept finite where one side
# always wins
DRAW_WEIGHT = 1.0
MAX_STEPS = 50  # of Newton's method
LONGEST_STEP = 2.0  # of a coefficient
TOLERANCE = 1e-8


@dataclass(frozen=True, slots=True)
class LengthControl:
    """Win rates in [0, 1], ties half, with 95 % intervals over prompts.

    Attributes:
        raw: over all pairs.
        controlled: at equal length by regression; None where one side is nearly always the longer.
        longer: the share of pairs in which ours is the longer, equal lengths half.
        note: why `controlled` is None, else "".
    """

    raw: float
    raw_interval: Interval | None
    controlled: float | None
    controlled_interval: Interval | None
    longer: float
    note: str


def control_length(
    outcomes: Sequence[float],
    lengths: Sequence[tuple[float, float]],
    prompts: Sequence[Hashable] | None = None,
) -> LengthControl:
    """Returns the win rates of a comparison and what they are at equal length.

    outcomes: 1 where ours won, 0 where it lost, a tie in between. lengths: of ours and of the
    other's text, in words or tokens. prompts: which prompt each pair belongs to, by default its
    own; pairs of one prompt are drawn together. Raises ValueError without pairs, for lengths below
    0, and where the numbers of entries differ.
    """
    won = np.asarray(outcomes, dtype=np.float64)
    pairs = np.asarray(lengths, dtype=np.float64).reshape(-1, 2)
    names: list[Hashable] = list(range(len(won)))
    if prompts is not None:
        names = list(prompts)
    if not (0 < len(won) == len(pairs) == len(names)):
        raise ValueError(
            f"every pair needs an outcome, two lengths and a prompt, got {len(won)}, {len(pairs)} "
            f"and {len(names)}"
        )
    if (pairs < 0).any():
        raise ValueError(f"a length is 0 or more, got {pairs.min():g}")
    ours, other = pairs.T
    difference = (ours - other) / np.maximum(np.maximum(ours, other), 1)
    longer = 0.5 * (1 + np.sign(difference))
    numbers: dict[Hashable, int] = {}
    for name in names:
        numbers.setdefault(name, len(numbers))
    groups = np.array([numbers[name] for name in names])
    raw_interval = share_interval(per_prompt(won, groups), per_prompt(np.ones_like(won), groups))
    fewest = max(MIN_PROMPTS, MIN_PROMPT_SHARE * len(np.unique(groups)))
    # equal lengths are on both sides
    longer_prompts = len(np.unique(groups[difference >= 0]))
    shorter_prompts = len(np.unique(groups[difference <= 0]))
    controlled, controlled_interval, note = None, None, ""
    if min(longer_prompts, shorter_prompts) < fewest:
        note = (
            f"one side's texts are the longer in {max(longer.sum(), (1 - longer).sum()):g} of "
            f"{len(won)} pairs: too one-sided for equal length"
        )
    else:
        controlled, controlled_interval = regress(won, difference, longer, groups)
    return LengthControl(
        raw=float(won.mean()),
        raw_interval=raw_interval,
        controlled=controlled,
        controlled_interval=controlled_interval,
        longer=float(longer.mean()),
        note=note,
    )


def share_interval(won: Array, counts: Array) -> Interval | None:
    """Returns Wilson's interval of sum(won) / sum(counts), of wins and pairs per prompt; None for
    fewer than two.

    The number of pairs is the one that, if they were independent, would have the variance that
    prompts show.
    """
    prompts, pairs = len(won), float(counts.sum())
    if prompts < 2:
        return None
    share = float(won.sum()) / pairs
    squares = float(np.square(won - share * counts).sum())
    variance = prompts / (prompts - 1) * squares / pairs**2
    effective = float(prompts)
    if variance > 0:
        effective = min(share * (1 - share) / variance, pairs)
    z = float(student.ppf(0.975, prompts - 1))
    shrinkage = 1 + z**2 / effective
    middle = (share + z**2 / (2 * effective)) / shrinkage
    spread = share * (1 - share) / effective + z**2 / (4 * effective**2)
    half = z / shrinkage * spread**0.5
    return Interval(max(middle - half, 0.0), min(middle + half, 1.0))


def regress(
    won: Array, difference: Array, longer: Array, groups: Array
) -> tuple[float, Interval | None]:
    """Returns the win rate at equal length by logistic regression, and its interval. The regression
    knows which text is longer and by which share of the longer one; at equal length both sides
    weigh the same. The interval is symmetric in log odds, from the larger of the variance that
    prompts show (a sandwich) and the one that the model implies.
    """
    features = [np.ones_like(won), difference, np.sign(difference)]
    x = np.stack(features, axis=1)
    ridge = np.diag(RIDGE)
    shorter = 1 - longer
    weights = len(won) / 2 * (longer / longer.sum() + shorter / shorter.sum())
    at_equal_length = np.eye(1, x.shape[1])  # the intercept alone
    draw = at_equal_length, np.array([0.5]), np.array([DRAW_WEIGHT])
    coefficients = np.zeros(x.shape[1])
    for _ in range(MAX_STEPS):
        pair_gradients, curvatures = derivatives(x, won, weights, coefficients)
        draw_gradients, draw_curvatures = derivatives(*draw, coefficients)
        curvature = curvatures.sum(0) + draw_curvatures.sum(0) + ridge
        gradient = pair_gradients.sum(0) + draw_gradients.sum(0) - ridge @ coefficients
        step = np.linalg.solve(curvature, gradient)
        size = float(np.abs(step).max())
        coefficients = coefficients + step * min(1.0, LONGEST_STEP / max(size, 1e-12))
        if size < TOLERANCE:
            break
    rate = float(expit(coefficients[0]))
    gradients = per_prompt(pair_gradients, groups)
    prompts = len(gradients)
    if prompts < 2:
        return rate, None
    inverse = np.linalg.inv(curvature)
    sandwich = inverse @ (prompts / (prompts - 1) * gradients.T @ gradients) @ inverse
    variance = max(sandwich[0, 0], inverse[0, 0])
    half = float(student.ppf(0.975, prompts - 1) * variance**0.5)
    low = float(expit(coefficients[0] - half))
    high = float(expit(coefficients[0] + half))
    return rate, Interval(low, high)


def derivatives(x: Array, won: Array, weights: Array, coefficients: Array) -> tuple[Array, Array]:
    """Returns, per pair, the gradient (pairs, k) and negative Hessian (pairs, k, k) of the weighted
    log-likelihood.
    """
    rates = expit(x @ coefficients)
    curvature = weights * np.maximum(rates * (1 - rates), 1e-9)
    gradients = x * (weights * (won - rates))[:, None]
    products = x[:, :, None] * x[:, None, :]
    return gradients, products * curvature[:, None, None]


def per_prompt(values: Array, groups: Array) -> Array:
    """Returns the sums over the pairs of each prompt, shape (prompts, ...)."""
    _, places = np.unique(groups, return_inverse=True)
    sums = np.zeros((places.max() + 1, *values.shape[1:]))
    np.add.at(sums, places, values)
    return sums
