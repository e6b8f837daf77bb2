"""A win rate from many votes of a judge and a few of people: prediction-powered inference
(Angelopoulos et al., 2023).

    corrected = prediction_powered(people=[1, 0, 1], judge_on_those=[1, 1, 1], judge_on_the_rest=[1, 1, 0, 1, ...])
    corrected.value, corrected.interval

It is the judge's mean over many prompts, less the judge's error on the prompts that people have
seen too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from spanreward.rewards.comparison.resampling import Interval

MIN_PEOPLE = 3
# a squared error more: without it the interval from 20 people and a good judge covers .82
UNSEEN = 1.0


@dataclass(frozen=True, slots=True)
class Corrected:
    """A mean in the outcomes' unit with its interval, and how far the judge was trusted, in [0,
    1].
    """

    value: float
    interval: Interval
    trust: float


def prediction_powered(
    people: Sequence[float],
    judge_on_those: Sequence[float],
    judge_on_the_rest: Sequence[float],
    level: float = 0.95,
) -> Corrected:
    """Returns the mean that people would give over all prompts.

    Every prompt has one value in [0, 1]: average several votes on it before. The judge's mean
    counts by `trust` = cov(people, judge) / var(judge), shrunk by the share of prompts that people
    saw (PPI++, Angelopoulos et al., 2023) and kept within [0, 1], so a judge that agrees with
    nobody counts nothing. Raises ValueError for fewer than MIN_PEOPLE prompts that people saw, for
    no other prompt, and for lengths that differ.
    """
    seen, guessed, rest = (
        np.asarray(values, dtype=float) for values in (people, judge_on_those, judge_on_the_rest)
    )
    if len(seen) != len(guessed):
        raise ValueError(
            f"people and judge must have seen the same prompts, got {len(seen)} and {len(guessed)} "
            "outcomes"
        )
    if len(seen) < MIN_PEOPLE or not len(rest):
        raise ValueError(
            f"a correction needs {MIN_PEOPLE} prompts that people judged and others that only the "
            f"judge did, got {len(seen)} and {len(rest)}"
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
