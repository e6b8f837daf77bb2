"""How many prompts and training seeds a comparison needs to find a difference.

    needed(spread=0.25, difference=0.02)      # 1,229 prompts: in 80 % of comparisons the interval excludes 0
    findable(spread=0.25, count=256)          # 0.044
    spreads = spreads_of(differences)         # (seeds, prompts), from an earlier comparison
    needed_with(spreads, 0.02, seeds=5)       # prompts, where the interval is over prompts and seeds together

spread: the standard deviation of the paired differences per prompt, from an earlier comparison.
"""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.stats import nct, t as student

from spanreward.rewards.comparison.resampling import Array

MOST = 10_000_000
FEWEST = 6  # prompts, below which a comparison decides nothing
WANTED = 0.8  # the chance to find a difference
UPPER = 0.975  # of Student's t: the upper end of a 95 % interval


@dataclass(frozen=True, slots=True)
class Spreads:
    """Variances of differences: between prompts, between training seeds, and of what is left of a single answer."""

    prompts: float
    seeds: float
    rest: float


def spreads_of(differences: Array) -> Spreads:
    """Returns the variances in `differences`, (seeds, prompts) without NaN, two or more of each, by their mean squares.
    A variance that comes out below 0 is 0.
    """
    seeds, prompts = differences.shape
    by_prompt, by_seed = differences.mean(axis=0), differences.mean(axis=1)
    left = differences - by_prompt - by_seed[:, None] + differences.mean()
    rest = float(np.square(left).sum()) / ((seeds - 1) * (prompts - 1))
    of_prompts, of_seeds = float(by_prompt.var(ddof=1)) - rest / seeds, float(by_seed.var(ddof=1)) - rest / prompts
    return Spreads(max(of_prompts, 0.0), max(of_seeds, 0.0), rest)


def power_with(spreads: Spreads, difference: float, seeds: int, prompts: int) -> float:
    """Returns the chance that the interval over prompts and seeds together (crossed.py) lies on the true side of 0."""
    both = spreads.rest / (seeds * prompts)
    of_prompts, of_seeds = spreads.prompts / prompts + both, spreads.seeds / seeds + both
    variance = of_prompts + of_seeds - both
    freedom = of_prompts**2 / (prompts - 1) + (of_seeds**2 + both**2 / (prompts - 1)) / (seeds - 1)
    count = max(variance**2 / freedom, seeds - 1)
    return float(nct.sf(student.ppf(UPPER, count), count, difference / variance**0.5))


def needed_with(spreads: Spreads, difference: float, seeds: int) -> int | None:
    """Returns the fewest prompts, FEWEST or more, that with so many seeds find `difference` with a chance of WANTED;
    None where no number does, up to MOST.
    """
    counts = np.unique(np.geomspace(FEWEST, MOST, 400).astype(int))
    found = next((n for n in counts.tolist() if power_with(spreads, difference, seeds, n) >= WANTED), None)
    if found is None:
        return None
    low = max(FEWEST - 1, int(counts[max(np.searchsorted(counts, found) - 1, 0)]) - 1)
    return next(n for n in range(low + 1, found + 1) if power_with(spreads, difference, seeds, n) >= WANTED)


def power(spread: float, difference: float, count: int) -> float:
    """Returns the chance, in [0, 1], that the t interval of `count` paired differences lies on the true side of 0."""
    shift = abs(difference) / spread * count**0.5
    edge = student.ppf(UPPER, count - 1)
    return float(nct.sf(edge, count - 1, shift))


def needed(spread: float, difference: float) -> int:
    """Returns the smallest number of prompts, FEWEST or more, that find `difference` with a chance of WANTED. Raises
    ValueError for a spread or difference that is not above 0, and for a number above MOST.
    """
    if not (spread > 0 and difference > 0):
        raise ValueError(f"spread and difference must be above 0, got {spread} and {difference}")
    count = bisect_left(range(MOST + 1), True, lo=FEWEST, key=lambda count: power(spread, difference, count) >= WANTED)
    if count > MOST:
        raise ValueError(f"more than {MOST:,} would be needed to find {difference} where the spread is {spread}")
    return count


def findable(spread: float, count: int) -> float:
    """Returns the smallest difference that so many prompts find with a chance of WANTED. Raises ValueError
    for a spread that is not above 0, and for fewer than two.
    """
    if not spread > 0 or count < 2:
        raise ValueError(f"spread must be above 0 and there must be two or more, got {spread} and {count}")
    return float(spread * brentq(lambda effect: power(1.0, effect, count) - WANTED, 1e-6, 100.0))
