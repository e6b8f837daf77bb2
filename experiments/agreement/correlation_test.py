"""Is one metric's correlation with people above another's? LAVE's test (section 5.3) of metrics of
answers.

for test in answer_tests(records, judged, "lave"):
    test.other, test.spearman.difference, test.spearman.interval, test.spearman.p
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata, ttest_rel

from experiments.labels.judgments import Judgment
from experiments.labels.measures import answer_quality
from experiments.labels.tables import Judged
from spanreward.rewards.comparison.resampling import Interval, bootstrap_interval, drawn_places

RESAMPLES = 5_000


@dataclass(frozen=True, slots=True)
class CorrelationTest:
    """difference: the first correlation less the second. interval: its 95 % over resamples. p: the
    t-test's.
    """

    difference: float
    interval: Interval | None
    p: float
    resamples: int


@dataclass(frozen=True, slots=True)
class AnswerTest:
    """Spearman's correlation of `metric` against that of `other`, on the n records that both have
    scores for.
    """

    metric: str
    other: str
    spearman: CorrelationTest
    n: int


def answer_tests(
    records: Sequence[Judgment],
    judged: Mapping[str, Judged],
    metric: str,
    resamples: int = RESAMPLES,
) -> list[AnswerTest]:
    """Compares the metric with each of the others that has a record in common with it."""
    tests = []
    for other in judged:
        both = [
            (record, ours, theirs)
            for record, ours, theirs in zip(records, judged[metric], judged[other], strict=True)
            if ours[0].score is not None and theirs[0].score is not None
        ]
        if other == metric or not both:
            continue
        first, people = zip(
            *(answer_quality(record, ours)[0] for record, ours, _ in both), strict=True
        )
        second = [answer_quality(record, theirs)[0][0] for record, _, theirs in both]
        groups = [record.group for record, *_ in both]
        test = compare_correlations(people, first, second, groups, resamples)
        tests.append(AnswerTest(metric, other, test, len(both)))
    return tests


def compare_correlations(
    people: Sequence[float],
    first: Sequence[float],
    second: Sequence[float],
    groups: Sequence[str],
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> CorrelationTest:
    """Returns whether the first metric's Spearman correlation with people is above the second's.

    LAVE, section 5.3: "bootstrapping with 5000 resamples and running a t-test with a significance
    level of 5% between pairs of correlations". Groups of rows are resampled. The paper's t-test
    pairs the two correlations of a resample; its p goes to 0 with the number of resamples, whatever
    the data, so look at the interval of the difference. Resamples in which one of the three is
    constant are left out. Raises ValueError where lengths differ.
    """
    if not len(people) == len(first) == len(second) == len(groups):
        raise ValueError(
            f"got {len(people)}, {len(first)} and {len(second)} values and {len(groups)} groups"
        )
    values = np.asarray([people, first, second], dtype=np.float64)
    order = np.argsort(groups, kind="stable")
    _, starts, sizes = np.unique(np.asarray(groups)[order], return_index=True, return_counts=True)
    drawn = [
        two_spearmans(values[:, order[rows_of(starts[chosen], sizes[chosen])]])
        for places in drawn_places(len(starts), resamples, seed)
        for chosen in places
    ]
    pairs = np.asarray([pair for pair in drawn if not np.isnan(pair).any()]).reshape(-1, 2)
    ours, others = two_spearmans(values)
    if len(pairs) < 2 or len(starts) < 2:
        return CorrelationTest(ours - others, None, float("nan"), len(pairs))
    differences = pairs[:, 0] - pairs[:, 1]
    p = float(ttest_rel(pairs[:, 0], pairs[:, 1]).pvalue) if differences.std() else float("nan")
    return CorrelationTest(
        ours - others, bootstrap_interval(differences, len(starts)), p, len(pairs)
    )


def rows_of(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Returns the numbers of the rows of these groups, one group after another."""
    return np.repeat(starts - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())


def two_spearmans(values: np.ndarray) -> tuple[float, float]:
    """Returns Spearman's correlations of rows 1 and 2 with row 0, of shape (3, n); nan where a row
    is constant. 5,000 resamples of LAVE's 22,050 answers take a minute; with `statistics.spearman`
    they take ten.
    """
    ranks = rankdata(values, axis=1)
    ranks -= ranks.mean(axis=1, keepdims=True)
    sizes = np.sqrt((ranks**2).sum(axis=1))
    if not sizes.all():
        return float("nan"), float("nan")
    ranks /= sizes[:, None]
    return float(ranks[0] @ ranks[1]), float(ranks[0] @ ranks[2])
