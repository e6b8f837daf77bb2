"""Win rate at equal length: does a model win only because it writes more?

    control_length([1, 0, 0.5], [(40, 31), (12, 30), (25, 25)])
    # outcomes, and for each outcome the words of our text and of the other text

A logistic regression predicts the outcome from the difference in length. The controlled win rate is
the regression's prediction for a difference of 0. For a judge that looks at length alone, the
controlled win rate is 50 %.

Both intervals stay within 0 and 100 %. The interval of the raw win rate is Wilson's (1927), with
fewer effective pairs if the pairs of a prompt are dependent. The interval of the controlled win
rate is computed on the scale of log odds.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit
from scipy.stats import t as student

from spanreward.rewards.comparison.resampling import Array, Interval

# The regression needs at least this share of prompts in which our text is the longer text, and at
# least this share of prompts in which our text is the shorter text.
MIN_PROMPT_SHARE = 0.05
MIN_PROMPTS = 5  # the same condition as a number of prompts
# Ridge penalties of the coefficients (intercept, difference, sign). The penalties keep the
# coefficients finite if length alone decides all outcomes.
RIDGE_PENALTIES = (0.0, 0.05, 0.005)
# The weight of an imaginary draw at equal length. The draw keeps the intercept finite if one side
# always wins.
DRAW_WEIGHT = 1.0
MAX_STEPS = 50  # steps of Newton's method
LONGEST_STEP = 2.0  # largest change of a coefficient in a step
COEFFICIENT_TOLERANCE = 1e-8  # the search ends if no coefficient changes more


@dataclass(frozen=True, slots=True)
class LengthControl:
    """Our win rates in [0, 1], with 95 % intervals over prompts. A tie counts as half a win.

    Attributes:
        raw: the win rate over all pairs.
        raw_interval: the interval of `raw`, or None for fewer than two prompts.
        controlled: the win rate at equal length by regression, or None if the texts of one side are
            nearly always the longer texts.
        controlled_interval: the interval of `controlled`, or None if `controlled` is None or there
            are fewer than two prompts.
        longer: the share of pairs in which our text is the longer text. A pair of equal lengths
            counts half.
        note: why `controlled` is None, or "".
    """

    raw: float
    raw_interval: Interval | None
    controlled: float | None
    controlled_interval: Interval | None
    longer: float
    note: str


class _Pairs(NamedTuple):
    """The pairs of a comparison as arrays of the shape (pairs,).

    won: our outcome, from 0 to 1. difference: our length minus the other length, as a share of the
    longer text, from -1 to 1. longer: 1 if our text is the longer text, 0 if it is the shorter
    text, 0.5 for equal lengths. groups: the number of the pair's prompt.
    """

    won: Array
    difference: Array
    longer: Array
    groups: np.ndarray


def control_length(
    outcomes: Sequence[float],
    lengths: Sequence[tuple[float, float]],
    prompts: Sequence[Hashable] | None = None,
) -> LengthControl:
    """Returns the raw win rate of a comparison and the win rate at equal length.

    Example: the outcomes [1, 0, 0.5] have the raw win rate 0.5. Three prompts are too few for a
    win rate at equal length, so `controlled` is None, and `note` says why.

    Args:
        outcomes: for each pair, 1 for our win, 0 for our loss, 0.5 or so for a tie.
        lengths: for each pair, the lengths of our text and of the other text, in words or tokens.
        prompts: for each pair, the name of its prompt. Pairs of one prompt count as dependent. By
            default each pair has a prompt of its own.

    Raises:
        ValueError: without pairs, for a length below 0, and for arguments of different lengths.
    """
    pairs = _pairs_as_arrays(outcomes, lengths, prompts)
    wins = per_prompt(pairs.won, pairs.groups)
    counts = per_prompt(np.ones_like(pairs.won), pairs.groups)
    controlled = None
    controlled_interval = None
    note = _why_too_one_sided(pairs)
    if not note:
        controlled, controlled_interval = win_rate_at_equal_length(
            pairs.won, pairs.difference, pairs.longer, pairs.groups
        )
    return LengthControl(
        raw=float(pairs.won.mean()),
        raw_interval=share_interval(wins, counts),
        controlled=controlled,
        controlled_interval=controlled_interval,
        longer=float(pairs.longer.mean()),
        note=note,
    )


def _pairs_as_arrays(
    outcomes: Sequence[float],
    lengths: Sequence[tuple[float, float]],
    prompts: Sequence[Hashable] | None,
) -> _Pairs:
    """Returns the arguments of `control_length` as arrays, with the differences in length.

    Raises ValueError for arguments that are no pairs.
    """
    won = np.asarray(outcomes, dtype=np.float64)
    both_lengths = np.asarray(lengths, dtype=np.float64).reshape(-1, 2)
    names: list[Hashable] = list(range(len(won)))
    if prompts is not None:
        names = list(prompts)
    if not (0 < len(won) == len(both_lengths) == len(names)):
        raise ValueError(
            f"every pair needs an outcome, two lengths and a prompt, got {len(won)}, "
            f"{len(both_lengths)} and {len(names)}"
        )
    if (both_lengths < 0).any():
        raise ValueError(f"a length is 0 or more, got {both_lengths.min():g}")
    ours, other = both_lengths.T
    longest = np.maximum(ours, other)
    difference = (ours - other) / np.maximum(longest, 1)  # 0 for two empty texts
    longer = 0.5 * (1 + np.sign(difference))
    return _Pairs(won, difference, longer, _numbers_of_names(names))


def _why_too_one_sided(pairs: _Pairs) -> str:
    """Returns the reason why the pairs have no win rate at equal length; "" if they have one.

    The regression needs prompts in which our text is the longer text, and prompts in which our text
    is the shorter text. A pair of equal lengths counts as both.
    """
    prompts_in_all = len(np.unique(pairs.groups))
    fewest = max(MIN_PROMPTS, MIN_PROMPT_SHARE * prompts_in_all)
    longer_prompts = len(np.unique(pairs.groups[pairs.difference >= 0]))
    shorter_prompts = len(np.unique(pairs.groups[pairs.difference <= 0]))
    if min(longer_prompts, shorter_prompts) >= fewest:
        return ""
    longer_pairs = pairs.longer.sum()
    shorter_pairs = (1 - pairs.longer).sum()
    return (
        f"one side's texts are the longer in {max(longer_pairs, shorter_pairs):g} of "
        f"{len(pairs.won)} pairs: too one-sided for equal length"
    )


def _numbers_of_names(names: Sequence[Hashable]) -> np.ndarray:
    """Returns a number for each name, from 0 in the order of first occurrence.

    `["b", "a", "b"]` gives `[0, 1, 0]`.
    """
    numbers: dict[Hashable, int] = {}
    for name in names:
        numbers.setdefault(name, len(numbers))
    return np.array([numbers[name] for name in names])


def share_interval(won: Array, counts: Array) -> Interval | None:
    """Returns Wilson's interval of sum(won) / sum(counts), or None for fewer than two prompts.

    won: the wins of each prompt. counts: the pairs of each prompt. Wilson's formula needs a number
    of independent pairs. This number is chosen so that so many independent pairs would have the
    variance that the prompts have.
    """
    prompts = len(won)
    pairs = float(counts.sum())
    if prompts < 2:
        return None
    share = float(won.sum()) / pairs
    deviations = won - share * counts
    squares = float(np.square(deviations).sum())
    variance = prompts / (prompts - 1) * squares / pairs**2
    # If all prompts have the same share of wins, the variance is 0 and the dependence is unknown.
    # Each prompt then counts as one independent pair.
    effective = float(prompts)
    if variance > 0:
        effective = min(share * (1 - share) / variance, pairs)
    # Wilson's interval, with Student's t distribution in place of the normal distribution
    z = float(student.ppf(0.975, prompts - 1))
    shrinkage = 1 + z**2 / effective
    middle = (share + z**2 / (2 * effective)) / shrinkage
    spread = share * (1 - share) / effective + z**2 / (4 * effective**2)
    half = z / shrinkage * spread**0.5
    low = max(middle - half, 0.0)
    high = min(middle + half, 1.0)
    return Interval(low, high)


def win_rate_at_equal_length(
    won: Array, difference: Array, longer: Array, groups: Array
) -> tuple[float, Interval | None]:
    """Returns the win rate at equal length by logistic regression, and the rate's interval.

    The features are an intercept, the difference in length and the sign of the difference. Pairs in
    which our text is longer have the same total weight as pairs in which our text is shorter. The
    interval is symmetric in log odds, and None for fewer than two prompts.

    All arguments have the shape (pairs,). won: our outcome, 0 to 1. difference: our length minus
    the other length, as a share of the longer text, -1 to 1. longer: 1 if our text is longer, 0 if
    our text is shorter, 0.5 for equal lengths. groups: the number of each pair's prompt.
    """
    features = np.stack([np.ones_like(won), difference, np.sign(difference)], axis=1)
    # both kinds of pairs get the same total weight
    shorter = 1 - longer
    weights = len(won) / 2 * (longer / longer.sum() + shorter / shorter.sum())
    fit = _fit_regression(features, won, weights)
    # at equal length the difference and its sign are 0, so the intercept alone gives the log odds
    log_odds = fit.coefficients[0]
    rate = float(expit(log_odds))
    gradients = per_prompt(fit.gradients, groups)
    prompts = len(gradients)
    if prompts < 2:
        return rate, None
    variance = _variance_of_intercept(gradients, fit.curvature)
    half = float(student.ppf(0.975, prompts - 1) * variance**0.5)
    low = float(expit(log_odds - half))
    high = float(expit(log_odds + half))
    return rate, Interval(low, high)


class _Regression(NamedTuple):
    """A logistic regression at the last step of its search.

    coefficients: the solution, shape (k,). gradients: the gradient of each pair's log-likelihood,
    (pairs, k). curvature: the negative Hessian of the penalised log-likelihood, (k, k).
    """

    coefficients: Array
    gradients: Array
    curvature: Array


def _fit_regression(features: Array, won: Array, weights: Array) -> _Regression:
    """Returns the logistic regression of the outcomes, found by Newton's method.

    A ridge penalty (RIDGE_PENALTIES) and an imaginary draw at equal length (DRAW_WEIGHT) keep the
    coefficients finite.

    features: (pairs, k). won: our outcome of each pair, 0 to 1. weights: the weight of each pair.
    """
    size = features.shape[1]
    ridge = np.diag(RIDGE_PENALTIES)
    draw_features = np.eye(1, size)  # at equal length, all features but the intercept are 0
    draw_outcome = np.array([0.5])
    draw_weight = np.array([DRAW_WEIGHT])
    coefficients = np.zeros(size)
    for _ in range(MAX_STEPS):
        # derivatives of the log-likelihood of the pairs and the draw, minus the ridge penalty
        pair_gradients, curvatures = likelihood_derivatives(features, won, weights, coefficients)
        draw_gradients, draw_curvatures = likelihood_derivatives(
            draw_features, draw_outcome, draw_weight, coefficients
        )
        curvature = curvatures.sum(0) + draw_curvatures.sum(0) + ridge
        gradient = pair_gradients.sum(0) + draw_gradients.sum(0) - ridge @ coefficients
        # a Newton step, which is shortened because it can be too long far from the solution
        step = np.linalg.solve(curvature, gradient)
        largest_change = float(np.abs(step).max())
        shortening = min(1.0, LONGEST_STEP / max(largest_change, 1e-12))
        coefficients = coefficients + step * shortening
        if largest_change < COEFFICIENT_TOLERANCE:
            break
    return _Regression(coefficients, pair_gradients, curvature)


def _variance_of_intercept(gradients: Array, curvature: Array) -> float:
    """Returns the variance of a regression's intercept: the larger of two estimates, the sandwich
    estimate from the prompts and the variance that the model implies.

    gradients: the sum of the gradients of each prompt's pairs, (prompts, k), for at least two
    prompts. curvature: the negative Hessian, (k, k).
    """
    prompts = len(gradients)
    inverse = np.linalg.inv(curvature)
    spread_of_prompts = prompts / (prompts - 1) * gradients.T @ gradients
    sandwich = inverse @ spread_of_prompts @ inverse
    return max(sandwich[0, 0], inverse[0, 0])


def likelihood_derivatives(
    x: Array, won: Array, weights: Array, coefficients: Array
) -> tuple[Array, Array]:
    """Returns the gradients and the negative Hessians of each pair's weighted log-likelihood.

    The shapes are (pairs, k) and (pairs, k, k). x: the features, (pairs, k). won: the outcomes, 0
    to 1, (pairs,). weights: the weight of each pair, (pairs,). coefficients: (k,).
    """
    rates = expit(x @ coefficients)  # the predicted outcome of each pair
    variances = rates * (1 - rates)
    curvature = weights * np.maximum(variances, 1e-9)  # above 0, so that the Hessian has an inverse
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
