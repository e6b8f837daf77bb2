"""Answers' scores against people's (LAVE), and whether one metric's correlation is above another's.

quality_of_votes([True, True, True, True, False])          # 1.0
compare_correlations(people, lave, vqa_accuracy, questions)           # CorrelationTest(difference=.09, ...)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata, ttest_rel

from rewards.comparison.resampling import Interval, quantiles

RESAMPLES = 5_000
CERTAIN, DOUBTFUL = 4, 2  # of five people


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
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> CorrelationTest:
    """Whether the first metric's Spearman correlation with people is above the second's, by resampling groups of rows.

    LAVE, section 5.3: "bootstrapping with 5000 resamples and running a t-test with a significance level of 5% between
    pairs of correlations". The t-test, which pairs the two correlations of a resample, is the paper's; its p goes to 0
    with the number of resamples, whatever the data, so look at the interval of the difference. Resamples in which one
    of the three is constant are left out. Raises ValueError where lengths differ.
    """
    if not len(people) == len(first) == len(second) == len(groups):
        raise ValueError(f"got {len(people)}, {len(first)} and {len(second)} values and {len(groups)} groups")
    values = np.asarray([people, first, second], dtype=np.float64)
    order = np.argsort(groups, kind="stable")
    _, starts, sizes = np.unique(np.asarray(groups)[order], return_index=True, return_counts=True)
    generator = np.random.default_rng(seed)
    drawn = []
    for _ in range(resamples):
        chosen = generator.integers(len(starts), size=len(starts))
        drawn.append(two_spearmans(values[:, order[rows_of(starts[chosen], sizes[chosen])]]))
    pairs = np.asarray([pair for pair in drawn if not np.isnan(pair).any()]).reshape(-1, 2)
    ours, others = two_spearmans(values)
    if len(pairs) < 2 or len(starts) < 2:
        return CorrelationTest(ours - others, None, float("nan"), len(pairs))
    differences = pairs[:, 0] - pairs[:, 1]
    p = float(ttest_rel(pairs[:, 0], pairs[:, 1]).pvalue) if differences.std() else float("nan")
    return CorrelationTest(ours - others, quantiles(differences, len(starts)), p, len(pairs))


def rows_of(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The numbers of the rows of these groups, each from its start on, one group after another."""
    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(sizes.sum())


def two_spearmans(values: np.ndarray) -> tuple[float, float]:
    """Of the second and the third row with the first, shape (3, n), equal values sharing their rank; nan for a constant
    row. So that 5,000 resamples of LAVE's 22,050 answers take a minute, and not ten as with `statistics.spearman`.
    """
    ranks = rankdata(values, axis=1)
    ranks -= ranks.mean(axis=1, keepdims=True)
    sizes = np.sqrt((ranks**2).sum(axis=1))
    if not sizes.all():
        return float("nan"), float("nan")
    ranks /= sizes[:, None]
    return float(ranks[0] @ ranks[1]), float(ranks[0] @ ranks[2])
