"""How many prompts, or training seeds, a comparison needs to find a difference.

    needed(spread=0.25, difference=0.02)      # 1,229 prompts: in 80 % of comparisons the interval excludes 0
    findable(spread=0.25, count=256)          # 0.044

spread: the standard deviation of the paired differences per prompt (or seed), from an earlier comparison.
"""

from scipy.optimize import brentq
from scipy.stats import nct, t as student

MOST = 10_000_000


def power(spread: float, difference: float, count: int, level: float = 0.95) -> float:
    """Returns the chance, in [0, 1], that the t interval of `count` paired differences lies on the true side of 0."""
    shift = abs(difference) / spread * count**0.5
    edge = student.ppf((1 + level) / 2, count - 1)
    return float(nct.sf(edge, count - 1, shift))


def needed(spread: float, difference: float, wanted: float = 0.8) -> int:
    """Returns the smallest number of prompts (or seeds) that find `difference` with a chance of `wanted`. Raises
    ValueError for a spread or difference that is not above 0, and for a number above MOST.
    """
    if not (spread > 0 and difference > 0):
        raise ValueError(f"spread and difference must be above 0, got {spread} and {difference}")
    low, high = 1, 2
    while power(spread, difference, high) < wanted:
        low, high = high, 2 * high
        if high > MOST:
            raise ValueError(f"more than {MOST:,} would be needed to find {difference} where the spread is {spread}")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(spread, difference, middle) >= wanted else (middle, high)
    return high


def findable(spread: float, count: int, wanted: float = 0.8) -> float:
    """Returns the smallest difference that so many prompts (or seeds) find with a chance of `wanted`. Raises ValueError
    for a spread that is not above 0, and for fewer than two.
    """
    if not spread > 0 or count < 2:
        raise ValueError(f"spread must be above 0 and there must be two or more, got {spread} and {count}")
    return float(spread * brentq(lambda effect: power(1.0, effect, count) - wanted, 1e-6, 100.0))
