"""Does a model win, or does it only write more? The win rate at equal length, in two ways.

    control_length([1, 0, 0.5], [(40, 31), (12, 30), (25, 25)])      # outcomes; (words of ours, of the other)

`controlled`: a logistic regression of the outcome on the length difference, read off where it is 0. `matched`: the mean
over pairs of nearly equal length, those where ours is the longer and those where it is the shorter counting alike. A
judge that only looks at length gives 50 % by both. Where one side is nearly always the longer there is nothing to read
off: both are None and `note` says so, as no regression knows what it was never shown.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from rewards.comparison.resampling import DRAWS, Array, Interval, drawn_sums, quantiles, ratio_interval

MATCHED = 0.25  # of the longer text: how far the lengths of a matched pair may differ
SUPPORT = 0.05  # of the prompts: on so many at least must ours be the longer, and on so many the shorter
FEWEST = 5  # prompts on either side, in any case
RIDGE = np.diag([0.0, 0.05, 0.005])  # keeps finite what length alone decides; the intercept is free
STEPS = 50


@dataclass(frozen=True, slots=True)
class LengthControl:
    """Win rates in [0, 1], ties half, with 95 % intervals over prompts.

    Attributes:
        raw: over all pairs.
        controlled: by regression, at equal length; None where the lengths do not reach it.
        matched: over the `matched_pairs` whose lengths differ by at most MATCHED; None for too few.
        longer: the share of the pairs in which ours is the longer, equal ones half.
        overlap: of the two length distributions, in [0, 1]: what they share over ten bins of equal mass.
        note: why something is None, "" where nothing is.
    """

    raw: float
    raw_interval: Interval | None
    controlled: float | None
    controlled_interval: Interval | None
    matched: float | None
    matched_interval: Interval | None
    matched_pairs: int
    longer: float
    overlap: float
    note: str


def control_length(
    outcomes: Sequence[float],
    lengths: Sequence[tuple[float, float]],
    prompts: Sequence[Hashable] | None = None,
    draws: int = DRAWS,
) -> LengthControl:
    """outcomes: 1 where ours won, 0 where it lost, a tie in between. lengths: of ours and of the other's text, in words
    or tokens. prompts: what each pair belongs to, by default each its own; those of one prompt are drawn together.

    Raises ValueError without pairs, for lengths below 0 and where the numbers of entries differ.
    """
    won = np.asarray(outcomes, dtype=np.float64)
    pairs = np.asarray(lengths, dtype=np.float64).reshape(-1, 2)
    names = list(range(len(won))) if prompts is None else list(prompts)
    if not (0 < len(won) == len(pairs) == len(names)):
        raise ValueError(
            f"every pair needs an outcome, two lengths and a prompt, got {len(won)}, {len(pairs)} and {len(names)}"
        )
    if (pairs < 0).any():
        raise ValueError(f"a length is 0 or more, got {pairs.min():g}")
    ours, other = pairs.T
    difference = (ours - other) / np.maximum(np.maximum(ours, other), 1)
    longer = 0.5 * (1 + np.sign(difference))
    groups = numbered(names)
    raw_interval = ratio_interval(per_prompt(won, groups), per_prompt(np.ones_like(won), groups), draws)
    near = np.abs(difference) <= MATCHED
    fewest = max(FEWEST, SUPPORT * len(np.unique(groups)))
    controlled, controlled_interval, matched, matched_interval, notes = None, None, None, None, []
    if fewer_side(difference, groups) < fewest:
        notes.append(f"of {len(won)} pairs ours is the longer in {longer.sum():g}: equal length is out of reach")
    else:
        controlled, controlled_interval = regress(won, difference, longer, groups, draws)
    if fewer_side(difference[near], groups[near]) < FEWEST:
        notes.append(f"{near.sum()} pairs of nearly equal length are too few, or on one side")
    else:
        matched, matched_interval = match(won[near], longer[near], groups[near], draws)
    return LengthControl(
        raw=float(won.mean()),
        raw_interval=raw_interval,
        controlled=controlled,
        controlled_interval=controlled_interval,
        matched=matched,
        matched_interval=matched_interval,
        matched_pairs=int(near.sum()),
        longer=float(longer.mean()),
        overlap=overlap(ours, other),
        note="; ".join(notes),
    )


def fewer_side(difference: Array, groups: Array) -> int:
    """On how many prompts ours is the longer, or the shorter, whichever is less; equal lengths are on both sides."""
    return min(len(np.unique(groups[side * difference >= 0])) for side in (1, -1))


def regress(won: Array, difference: Array, longer: Array, groups: Array, draws: int) -> tuple[float, Interval | None]:
    """The win rate at equal length by logistic regression, and its interval.

    It depends on which text is longer and on by how much (a share of the longer one), both sides of equal length
    weighing the same. Draws take one Newton step from the solution, each with its own prompts.
    """
    x = np.stack([np.ones_like(won), difference, np.sign(difference)], axis=1)
    weights = len(won) / 2 * (longer / longer.sum() + (1 - longer) / (1 - longer).sum())
    coefficients = np.zeros(3)
    for _ in range(STEPS):
        gradients, curvatures = derivatives(x, won, weights, coefficients)
        step = np.linalg.solve(curvatures.sum(0) + RIDGE, gradients.sum(0) - RIDGE @ coefficients)
        coefficients = coefficients + step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-12))
        if np.abs(step).max() < 1e-8:
            break
    gradients, curvatures = derivatives(x, won, weights, coefficients)
    of_prompts = per_prompt(np.concatenate([gradients, curvatures.reshape(-1, 9)], axis=1), groups)
    rate = float(sigmoid(coefficients[0]))
    if len(of_prompts) < 2:
        return rate, None
    sums = drawn_sums(of_prompts, draws)
    steps = np.linalg.solve(sums[:, 3:].reshape(-1, 3, 3) + RIDGE, (sums[:, :3] - RIDGE @ coefficients)[..., None])
    return rate, quantiles(sigmoid(coefficients[0] + steps[:, 0, 0]), len(of_prompts))


def derivatives(x: Array, won: Array, weights: Array, coefficients: Array) -> tuple[Array, Array]:
    """Per pair, of the weighted log-likelihood: gradient (pairs, 3) and negative Hessian (pairs, 3, 3)."""
    rates = sigmoid(x @ coefficients)
    curvature = weights * np.maximum(rates * (1 - rates), 1e-9)
    return x * (weights * (won - rates))[:, None], x[:, :, None] * x[:, None, :] * curvature[:, None, None]


def match(won: Array, longer: Array, groups: Array, draws: int) -> tuple[float, Interval | None]:
    """The mean of the win rates where ours is the longer and where it is the shorter, and its interval."""
    parts = np.stack([won * longer, longer, won * (1 - longer), 1 - longer], axis=1)
    of_prompts = per_prompt(parts, groups)

    def balanced(sums: Array) -> Array:
        return (sums[..., 0] / sums[..., 1] + sums[..., 2] / sums[..., 3]) / 2

    rate = float(balanced(of_prompts.sum(0)))
    if len(of_prompts) < 2:
        return rate, None
    sums = drawn_sums(of_prompts, draws)
    return rate, quantiles(balanced(sums[(sums[:, 1] > 0) & (sums[:, 3] > 0)]), len(of_prompts))


def overlap(ours: Array, other: Array) -> float:
    """What two samples of lengths share, in [0, 1]: the sum of the smaller share in each of ten bins of equal mass."""
    inner = np.unique(np.quantile(np.concatenate([ours, other]), np.arange(1, 10) / 10))
    shares = [
        np.bincount(np.searchsorted(inner, sample), minlength=len(inner) + 1) / len(sample) for sample in (ours, other)
    ]
    return float(np.minimum(*shares).sum())


def sigmoid(value: Array) -> Array:
    return 1 / (1 + np.exp(-np.clip(value, -30, 30)))


def numbered(names: Sequence[Hashable]) -> Array:
    """A number for every prompt, in order of appearance."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names])


def per_prompt(values: Array, groups: Array) -> Array:
    """Sums over the pairs of each prompt, shape (prompts, ...)."""
    _, places = np.unique(groups, return_inverse=True)
    sums = np.zeros((places.max() + 1, *values.shape[1:]))
    np.add.at(sums, places, values)
    return sums
