"""How many prompts and training seeds "better" needs, from the differences of an earlier
comparison.

    spreads = spreads_of(differences)          # (seeds, prompts)
    needed(spreads, 0.02, seeds=5)  # prompts, or None where no number of prompts is enough

"better" is said where the 95 % interval over prompts and seeds together (crossed.py) excludes 0. A
planned comparison finds the difference in 80 % of the cases.
"""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from scipy.stats import nct, t as student

from spanreward.rewards.comparison.resampling import Array

MOST = 10_000_000
FEWEST = 6  # prompts, below which a comparison decides nothing


@dataclass(frozen=True, slots=True)
class Spreads:
    """Variances of differences: between prompts, between training seeds, and of what is left of a
    single answer.
    """

    prompts: float
    seeds: float
    rest: float


def spreads_of(differences: Array) -> Spreads:
    """Returns the variance components of a two-way table (seeds, prompts), estimated from its mean
    squares. An estimate below 0 is 0. differences: without NaN, of two seeds and two prompts or
    more.
    """
    seeds, prompts = differences.shape
    by_prompt, by_seed = differences.mean(axis=0), differences.mean(axis=1)
    left = differences - by_prompt - by_seed[:, None] + differences.mean()
    rest = float(np.square(left).sum()) / ((seeds - 1) * (prompts - 1))
    of_prompts, of_seeds = (
        float(by_prompt.var(ddof=1)) - rest / seeds,
        float(by_seed.var(ddof=1)) - rest / prompts,
    )
    return Spreads(max(of_prompts, 0.0), max(of_seeds, 0.0), rest)


def power(
    spreads: Spreads, difference: float, seeds: int, prompts: int, level: float = 0.95
) -> float:
    """Returns the chance that the interval over prompts and seeds together lies on the true side of
    0. Of `difference` the sign does not matter. seeds and prompts: two or more of each.
    """
    both = spreads.rest / (seeds * prompts)
    of_prompts, of_seeds = spreads.prompts / prompts + both, spreads.seeds / seeds + both
    variance = of_prompts + of_seeds - both
    squares = of_prompts**2 / (prompts - 1) + (of_seeds**2 + both**2 / (prompts - 1)) / (seeds - 1)
    degrees_of_freedom = max(variance**2 / squares, seeds - 1)
    edge = student.ppf((1 + level) / 2, degrees_of_freedom)
    return float(nct.sf(edge, degrees_of_freedom, abs(difference) / variance**0.5))


def needed(spreads: Spreads, difference: float, seeds: int, chance: float = 0.8) -> int | None:
    """Returns the fewest prompts, FEWEST or more, that with so many seeds find `difference` with
    `chance`; None where no number does, up to MOST. seeds: two or more.
    """
    counts = np.unique(np.geomspace(FEWEST, MOST, 400).astype(int)).tolist()

    def enough(prompts: int) -> bool:
        return power(spreads, difference, seeds, prompts) >= chance

    last = next((index for index, count in enumerate(counts) if enough(count)), None)
    if last is None:
        return None
    return bisect_left(range(counts[last]), True, lo=counts[max(last - 1, 0)], key=enough)
