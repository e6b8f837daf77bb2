"""A win rate from many votes of a judge and a few of people: prediction-powered inference.

    corrected = prediction_powered(people=[1, 0, 1], judge_on_those=[1, 1, 1], judge_on_the_rest=[1, 1, 0, 1, ...])
    corrected.value, corrected.interval

The judge's mean over many prompts, less what it gets wrong on those that people have seen too. Right whatever the judge
is worth (Angelopoulos et al., 2023); the better it agrees with people, the narrower the interval.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from rewards.comparison.resampling import Interval

MIN_PEOPLE = 3
UNSEEN = 1.0  # one more error of the judge than people met: without it 20 people and a good judge cover .82, not .95


@dataclass(frozen=True, slots=True)
class Corrected:
    """A mean in the outcomes' unit with its interval, and how far the judge was trusted, in [0, 1]."""

    value: float
    interval: Interval
    trust: float


def prediction_powered(
    people: Sequence[float],
    judge_on_those: Sequence[float],
    judge_on_the_rest: Sequence[float],
    level: float = 0.95,
) -> Corrected:
    """The mean that people would give over all prompts. One value per prompt: several votes on it are averaged before.

    The judge's mean counts by `trust` = cov(people, judge) / var(judge), shrunk by the share of prompts that people saw
    (PPI++, Angelopoulos et al., 2023) and kept within [0, 1]: a judge that agrees with nobody is not heard. Outcomes
    lie in [0, 1]. Raises ValueError for fewer than MIN_PEOPLE prompts that people saw, no other prompt, or lengths that
    differ.
    """
    seen, guessed, rest = (
        np.asarray(values, dtype=np.float64) for values in (people, judge_on_those, judge_on_the_rest)
    )
    if len(seen) != len(guessed):
        raise ValueError(
            f"people and judge must have seen the same prompts, got {len(seen)} and {len(guessed)} outcomes"
        )
    if len(seen) < MIN_PEOPLE or not len(rest):
        raise ValueError(
            f"a correction needs {MIN_PEOPLE} prompts that people judged and others that only the judge did, got "
            f"{len(seen)} and {len(rest)}"
        )
    spread = float(np.var(np.concatenate([guessed, rest])))
    trust = 0.0
    if spread > 0:
        covariance = float(np.cov(seen, guessed)[0, 1])
        trust = min(max(covariance / spread / (1 + len(seen) / len(rest)), 0.0), 1.0)
    errors = seen - trust * guessed
    value = float(trust * rest.mean() + errors.mean())
    spread_of_errors = (float(((errors - errors.mean()) ** 2).sum()) + UNSEEN) / (len(seen) - 1)
    variance = trust**2 * float(np.var(rest)) / len(rest) + spread_of_errors / len(seen)
    half = float(student.ppf((1 + level) / 2, len(seen) - 1)) * variance**0.5
    return Corrected(value, Interval(value - half, value + half), trust)
