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


def control_length(
    outcomes: Sequence[float],
    lengths: Sequence[tuple[float, float]],
    prompts: Sequence[Hashable] | None = None,
) -> LengthControl:
    """Returns the raw win rate of a comparison and the win rate at equal length.

    outcomes: for each pair, 1 for our win, 0 for our loss, 0.5 or so for a tie. lengths: for each
    pair, the lengths of our text and of the other text, in words or tokens. prompts: for each pair,
    the name of its prompt; by default each pair has a prompt of its own. Pairs of one prompt count
    as dependent. Raises ValueError without pairs, for a length below 0, and for arguments of
    different lengths.
    """
    won, length_pairs, groups = _checked_pairs(outcomes, lengths, prompts)
    our_lengths, other_lengths = length_pairs.T
    # the difference in length as a share of the longer text, from -1 to 1 (0 for two empty texts)
    longest = np.maximum(our_lengths, other_lengths)
    difference = (our_lengths - other_lengths) / np.maximum(longest, 1)
    # 1 if our text is the longer text, 0 if our text is the shorter text, 0.5 for equal lengths
    longer = 0.5 * (1 + np.sign(difference))
    wins = per_prompt(won, groups)
    pair_counts = per_prompt(np.ones_like(won), groups)
    controlled = None
    controlled_interval = None
    note = ""
    if _is_one_sided(difference, groups):
        one_sided = max(longer.sum(), len(won) - longer.sum())
        note = (
            f"one side's texts are the longer in {one_sided:g} of {len(won)} pairs: too one-sided "
            "for equal length"
        )
    else:
        controlled, controlled_interval = win_rate_at_equal_length(won, difference, longer, groups)
    return LengthControl(
        raw=float(won.mean()),
        raw_interval=share_interval(wins, pair_counts),
        controlled=controlled,
        controlled_interval=controlled_interval,
        longer=float(longer.mean()),
        note=note,
    )


def _checked_pairs(
    outcomes: Sequence[float],
    lengths: Sequence[tuple[float, float]],
    prompts: Sequence[Hashable] | None,
) -> tuple[Array, Array, Array]:
    """Returns the arguments of `control_length` as arrays: the outcomes, (pairs,), the two lengths,
    (pairs, 2), and the number of each pair's prompt, (pairs,).

    Raises ValueError without pairs, for a length below 0, and for arguments of different lengths.
    """
    won = np.asarray(outcomes, dtype=np.float64)
    length_pairs = np.asarray(lengths, dtype=np.float64).reshape(-1, 2)
    names: list[Hashable] = list(range(len(won)))  # each pair has a prompt of its own
    if prompts is not None:
        names = list(prompts)
    if not (0 < len(won) == len(length_pairs) == len(names)):
        raise ValueError(
            f"every pair needs an outcome, two lengths and a prompt, got {len(won)}, "
            f"{len(length_pairs)} and {len(names)}"
        )
    if (length_pairs < 0).any():
        raise ValueError(f"a length is 0 or more, got {length_pairs.min():g}")
    return won, length_pairs, _numbers_of_names(names)


def _is_one_sided(difference: Array, groups: Array) -> bool:
    """Returns whether one side's texts are nearly always the longer texts, so that a regression on
    the length is impossible.

    The regression needs prompts in which our text is the longer text, and prompts in which our text
    is the shorter text. A pair of equal lengths counts as both. difference: our length minus the
    other length of each pair. groups: the number of each pair's prompt.
    """
    prompts = len(np.unique(groups))
    needed_prompts = max(MIN_PROMPTS, MIN_PROMPT_SHARE * prompts)
    prompts_with_longer = len(np.unique(groups[difference >= 0]))
    prompts_with_shorter = len(np.unique(groups[difference <= 0]))
    return prompts_with_longer < needed_prompts or prompts_with_shorter < needed_prompts


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

    won: the wins of each prompt. counts: the pairs of each prompt.

    Wilson's formula is for independent pairs, but pairs of one prompt may depend on each other. So
    the formula gets a smaller number of pairs, the effective number. The share of n independent
    pairs has the variance `share * (1 - share) / n`. The effective number is the n with which this
    is the variance that is measured over the prompts.
    """
    prompts = len(won)
    pairs = float(counts.sum())
    if prompts < 2:
        return None
    share = float(won.sum()) / pairs
    # the variance of the share, measured over the prompts
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
    fit = _fit(features, won, weights)
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


class _Fit(NamedTuple):
    """A logistic regression at the last step of its search.

    coefficients: the solution, shape (k,). gradients: the gradient of each pair's log-likelihood,
    (pairs, k). curvature: the negative Hessian of the penalised log-likelihood, (k, k).
    """

    coefficients: Array
    gradients: Array
    curvature: Array


def _fit(features: Array, won: Array, weights: Array) -> _Fit:
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
    return _Fit(coefficients, pair_gradients, curvature)


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
