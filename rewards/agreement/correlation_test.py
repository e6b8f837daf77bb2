"""Answers' scores against people's (LAVE), and whether one metric's correlation is above another's.

quality_of_votes([True, True, True, True, False])          # 1.0
compare_correlations(people, lave, vqa_accuracy)           # CorrelationTest(difference=.09, ...)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import ttest_rel

from rewards.comparison.resampling import Interval, quantiles

RESAMPLES = 5_000
CERTAIN, DOUBTFUL = 4, 2  # of five people

Correlation = Callable[[Sequence[float], Sequence[float]], float]


@dataclass(frozen=True, slots=True)
class CorrelationTest:
    """difference: the first correlation less the second. interval: its 95 % over resamples. p: the t-test's."""

    difference: float
    interval: Interval | None
    p: float
    resamples: int


def quality_of_votes(votes: Sequence[float]) -> float:
    """1 where at least four of five people call an answer right, .5 where two or three do, else 0 (LAVE, section 5.2).

    Raises ValueError for another number of votes, and for votes that are not 0 or 1.
    """
    if len(votes) != 5 or any(vote not in (0, 1) for vote in votes):
        raise ValueError(f"an answer's quality is made of five votes of 0 or 1, got {list(votes)}")
    right = sum(votes)
    return 1.0 if right >= CERTAIN else 0.5 if right >= DOUBTFUL else 0.0


def compare_correlations(
    people: Sequence[float],
    first: Sequence[float],
    second: Sequence[float],
    groups: Sequence[str],
    correlation: Correlation,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> CorrelationTest:
    """Whether the first metric's correlation with people is above the second's, by resampling groups of rows.

    LAVE, section 5.3: "bootstrapping with 5000 resamples and running a t-test with a significance level of 5% between
    pairs of correlations". The t-test, which pairs the two correlations of a resample, is the paper's; its p goes to 0
    with the number of resamples, whatever the data, so look at the interval of the difference. Raises ValueError where
    lengths differ.
    """
    if not len(people) == len(first) == len(second) == len(groups):
        raise ValueError(f"got {len(people)}, {len(first)} and {len(second)} values and {len(groups)} groups")
    values = np.asarray([people, first, second], dtype=np.float64)
    places: dict[str, list[int]] = {}
    for number, group in enumerate(groups):
        places.setdefault(group, []).append(number)
    rows = [np.asarray(numbers) for numbers in places.values()]
    generator = np.random.default_rng(seed)
    drawn = []
    for _ in range(resamples):
        chosen = values[:, np.concatenate([rows[i] for i in generator.integers(len(rows), size=len(rows))])]
        drawn.append((correlation(chosen[1], chosen[0]), correlation(chosen[2], chosen[0])))
    pairs = np.asarray([pair for pair in drawn if pair[0] == pair[0] and pair[1] == pair[1]])
    whole = correlation(values[1], values[0]) - correlation(values[2], values[0])
    if len(pairs) < 2 or len(rows) < 2:
        return CorrelationTest(whole, None, float("nan"), len(pairs))
    differences = pairs[:, 0] - pairs[:, 1]
    p = float(ttest_rel(pairs[:, 0], pairs[:, 1]).pvalue) if differences.std() else float("nan")
    return CorrelationTest(whole, quantiles(differences, len(rows)), p, len(pairs))
