"""Bootstrap intervals that draw whole prompts: all that belongs to one prompt (orders, seeds) is
drawn together.

    ratio_interval([1, 0, 1, 1])                  # of the mean over four prompts
    ratio_interval(won, votes)  # of sum(won) / sum(votes), a pair of sums per prompt
    bootstrap(groups, statistic)                  # of any statistic of a list of groups

Votes on one prompt depend on each other, so drawing single votes gives intervals that are too
narrow.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm, t as student

DRAWS = 9_999
LEVEL = 0.95  # of the intervals
CHUNK = 500  # draws that are in memory together

Array = NDArray[np.float64]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Interval:
    """Bounds of a confidence interval, in the statistic's unit."""

    low: float
    high: float


def drawn_places(count: int, draws: int = DRAWS, seed: int = 0) -> Iterator[NDArray[np.int64]]:
    """Yields `draws` rows of bootstrap indices into `count` units, in arrays of shape (at most
    CHUNK, count). The same seed gives the same rows.
    """
    generator = np.random.default_rng(seed)
    for start in range(0, draws, CHUNK):
        rows = min(CHUNK, draws - start)
        yield generator.integers(count, size=(rows, count))


def ratio_interval(
    numerators: ArrayLike,
    denominators: ArrayLike | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Interval | None:
    """Returns the bootstrap interval of sum(numerators) / sum(denominators), one of each per
    prompt.

    denominators: 1 by default. Draws whose denominators sum to 0 are left out. None for fewer than
    two prompts, and where every draw is left out. The same seed draws the same prompts, so two
    statistics of the same prompts move together. Raises ValueError where the lengths differ.
    """
    above = np.asarray(numerators, dtype=np.float64)
    below = np.ones_like(above)
    if denominators is not None:
        below = np.asarray(denominators, dtype=np.float64)
    if above.shape != below.shape or above.ndim != 1:
        raise ValueError(
            f"a ratio needs as many numerators as denominators, got {above.shape} and {below.shape}"
        )
    if len(above) < 2:
        return None
    ratios = []
    for places in drawn_places(len(above), draws, seed):
        over = above[places].sum(axis=1)
        under = below[places].sum(axis=1)
        has_ratio = under > 0  # not a draw of prompts without any vote
        ratios.append(over[has_ratio] / under[has_ratio])
    return quantiles(np.concatenate(ratios), len(above))


def quantiles(values: Array, prompts: int) -> Interval | None:
    """Returns the central interval of the statistic's draws over so many prompts; None without
    draws.

    It is widened as Student's t widens the normal (Hesterberg, 2015, "expanded percentile").
    Without this the interval of 20 prompts covers .92 in place of .95; with 500 prompts it changes
    nothing. prompts: at least 2.
    """
    if not len(values):
        return None
    quantile = student.ppf((1 - LEVEL) / 2, prompts - 1)
    # a bootstrap's variance is too small by this factor
    widening = prompts / (prompts - 1)
    tail = float(norm.cdf(widening**0.5 * quantile))
    low, high = np.quantile(values, [tail, 1 - tail])
    return Interval(float(low), float(high))


def bootstrap(
    units: Sequence[T],
    statistic: Callable[[Sequence[T]], float],
    draws: int = 500,
) -> Interval:
    """Returns the 95 % percentile interval of a statistic over independent units, such as the
    ratings of each picture.

    Draws whose statistic is nan are left out; both bounds are nan where all are. Raises ValueError
    without units.
    """
    if not units:
        raise ValueError("a bootstrap needs at least one unit")
    values = []
    for places in drawn_places(len(units), draws):
        for row in places.tolist():
            drawn = [units[place] for place in row]
            value = statistic(drawn)
            if not math.isnan(value):
                values.append(value)
    if not values:
        return Interval(math.nan, math.nan)
    levels = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    low, high = np.quantile(values, levels)
    return Interval(float(low), float(high))
