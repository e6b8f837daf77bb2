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
# per coefficient (intercept, difference, sign): keeps them finite where length alone decides
RIDGE = (0.0, 0.05, 0.005)
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
        raw: the win rate over all pairs.
        raw_interval: its interval; None for fewer than two prompts.
        controlled: the win rate at equal length by regression; None where one side is nearly always
            the longer.
        controlled_interval: its interval; None as above.
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
    # the difference as a share of the longer text, -1 to 1; two empty texts divide 0 by 1
    ours, other = pairs.T
    longest = np.maximum(ours, other)
    difference = (ours - other) / np.maximum(longest, 1)
    # 1 where ours is the longer, 0 where it is the shorter, 0.5 for equal lengths
    longer = 0.5 * (1 + np.sign(difference))
    shorter = 1 - longer
    groups = _numbers_of_names(names)
    wins = per_prompt(won, groups)
    counts = per_prompt(np.ones_like(won), groups)
    raw_interval = share_interval(wins, counts)
    # the regression needs prompts on either side of equal length, which is on both sides
    prompts_in_all = len(np.unique(groups))
    fewest = max(MIN_PROMPTS, MIN_PROMPT_SHARE * prompts_in_all)
    longer_prompts = len(np.unique(groups[difference >= 0]))
    shorter_prompts = len(np.unique(groups[difference <= 0]))
    controlled = None
    controlled_interval = None
    note = ""
    if min(longer_prompts, shorter_prompts) < fewest:
        one_sided = max(longer.sum(), shorter.sum())
        note = (
            f"one side's texts are the longer in {one_sided:g} of {len(won)} pairs: too one-sided "
            "for equal length"
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


def _numbers_of_names(names: Sequence[Hashable]) -> np.ndarray:
    """Returns each name's number from 0, in the order in which names come first."""
    numbers: dict[Hashable, int] = {}
    for name in names:
        numbers.setdefault(name, len(numbers))
    return np.array([numbers[name] for name in names])


def share_interval(won: Array, counts: Array) -> Interval | None:
    """Returns Wilson's interval of sum(won) / sum(counts), of wins and pairs per prompt; None for
    fewer than two.

    The number of pairs is the one that, if they were independent, would have the variance that
    prompts show.
    """
    prompts = len(won)
    pairs = float(counts.sum())
    if prompts < 2:
        return None
    share = float(won.sum()) / pairs
    deviations = won - share * counts
    squares = float(np.square(deviations).sum())
    variance = prompts / (prompts - 1) * squares / pairs**2
    # Where all prompts show the same share, they say nothing about dependence, and each counts
    # once.
    effective = float(prompts)
    if variance > 0:
        effective = min(share * (1 - share) / variance, pairs)
    # Wilson's interval, with Student's t in place of the normal
    z = float(student.ppf(0.975, prompts - 1))
    shrinkage = 1 + z**2 / effective
    middle = (share + z**2 / (2 * effective)) / shrinkage
    spread = share * (1 - share) / effective + z**2 / (4 * effective**2)
    half = z / shrinkage * spread**0.5
    low = max(middle - half, 0.0)
    high = min(middle + half, 1.0)
    return Interval(low, high)


def regress(
    won: Array, difference: Array, longer: Array, groups: Array
) -> tuple[float, Interval | None]:
    """Returns the win rate at equal length by logistic regression, and its interval.

    The regression knows which text is longer and by which share of the longer one; at equal length
    both sides weigh the same. The interval is symmetric in log odds, from the larger of the
    variance that prompts show (a sandwich) and the one that the model implies. It is None for fewer
    than two prompts.

    Shapes are (pairs,). won: 0 to 1. difference: -1 to 1. longer: 1, 0.5 or 0, see
    `control_length`. groups: the number of each pair's prompt.
    """
    features = [np.ones_like(won), difference, np.sign(difference)]
    x = np.stack(features, axis=1)
    ridge = np.diag(RIDGE)
    # the pairs in which ours is the longer weigh as much in all as those in which it is the shorter
    shorter = 1 - longer
    weights = len(won) / 2 * (longer / longer.sum() + shorter / shorter.sum())
    draw_features = np.eye(1, x.shape[1])  # the intercept alone, as at equal length
    draw_outcome = np.array([0.5])
    draw_weight = np.array([DRAW_WEIGHT])
    coefficients = np.zeros(x.shape[1])
    for _ in range(MAX_STEPS):
        # derivatives of the likelihood of the pairs and the draw, less the ridge
        pair_gradients, curvatures = derivatives(x, won, weights, coefficients)
        draw_gradients, draw_curvatures = derivatives(
            draw_features, draw_outcome, draw_weight, coefficients
        )
        curvature = curvatures.sum(0) + draw_curvatures.sum(0) + ridge
        gradient = pair_gradients.sum(0) + draw_gradients.sum(0) - ridge @ coefficients
        # a Newton step, shortened because far from the solution it can be much too long
        step = np.linalg.solve(curvature, gradient)
        size = float(np.abs(step).max())
        shortened = min(1.0, LONGEST_STEP / max(size, 1e-12))
        coefficients = coefficients + step * shortened
        if size < TOLERANCE:
            break
    rate = float(expit(coefficients[0]))
    # the gradients at the solution, summed by prompt, show how prompts vary
    gradients = per_prompt(pair_gradients, groups)
    prompts = len(gradients)
    if prompts < 2:
        return rate, None
    inverse = np.linalg.inv(curvature)
    spread_of_prompts = prompts / (prompts - 1) * gradients.T @ gradients
    sandwich = inverse @ spread_of_prompts @ inverse
    variance = max(sandwich[0, 0], inverse[0, 0])
    half = float(student.ppf(0.975, prompts - 1) * variance**0.5)
    low = float(expit(coefficients[0] - half))
    high = float(expit(coefficients[0] + half))
    return rate, Interval(low, high)


def derivatives(x: Array, won: Array, weights: Array, coefficients: Array) -> tuple[Array, Array]:
    """Returns, per pair, the gradient (pairs, k) and negative Hessian (pairs, k, k) of the weighted
    log-likelihood.

    x: features, (pairs, k). won: outcomes, 0 to 1, (pairs,). weights: (pairs,). coefficients: (k,).
    """
    rates = expit(x @ coefficients)
    certain = rates * (1 - rates)
    curvature = weights * np.maximum(certain, 1e-9)  # above 0, so that the Hessian has an inverse
    residuals = weights * (won - rates)
    gradients = x * residuals[:, None]
    products = x[:, :, None] * x[:, None, :]
    return gradients, products * curvature[:, None, None]


def per_prompt(values: Array, groups: Array) -> Array:
    """Returns the sums over the pairs of each prompt, shape (prompts, ...).

    values: (pairs, ...). groups: the number of each pair's prompt, (pairs,).
    """
    _, places = np.unique(groups, return_inverse=True)
    prompts = places.max() + 1
    sums = np.zeros((prompts, *values.shape[1:]))
    np.add.at(sums, places, values)
    return sums
