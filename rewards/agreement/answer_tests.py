"""Which of several metrics' correlations with people, on answers, are apart: LAVE's test over its tables' records.

for test in answer_tests(records, judged, "lave"):
    test.other, test.spearman.difference, test.spearman.interval, test.spearman.p
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rewards.agreement.correlation_test import RESAMPLES, CorrelationTest, compare_correlations
from rewards.agreement.measures import answer_quality
from rewards.agreement.records import Record
from rewards.agreement.tables import Judged


@dataclass(frozen=True, slots=True)
class AnswerTest:
    """The named metric's Spearman correlation against another's, on the n records that both have scores for."""

    metric: str
    other: str
    spearman: CorrelationTest
    n: int


def answer_tests(
    records: Sequence[Record], judged: Mapping[str, Judged], metric: str, resamples: int = RESAMPLES
) -> list[AnswerTest]:
    """The metric against each of the others (LAVE, section 5.3). An other without a common record is left out."""
    tests = []
    for other in judged:
        both = [
            (record, ours, theirs)
            for record, ours, theirs in zip(records, judged[metric], judged[other], strict=True)
            if ours[0].score is not None and theirs[0].score is not None
        ]
        if other == metric or not both:
            continue
        first = [answer_quality(record, ours)[0] for record, ours, _ in both]
        second = [answer_quality(record, theirs)[0][0] for record, _, theirs in both]
        people = [quality for _, quality in first]
        groups = [record.group for record, *_ in both]
        test = compare_correlations(people, [score for score, _ in first], second, groups, resamples)
        tests.append(AnswerTest(metric, other, test, len(both)))
    return tests
