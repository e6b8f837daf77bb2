"""What a deletion takes, and that PoSh's credit says it on a small text."""

import pytest

from experiments.agreement import deletions
from spanreward.rewards import MatchJudge, PoshReward
from spanreward.rewards.base.verdict import Sample, Span


def span(start: int, component: int) -> Span:
    return Span(start, start + 2, 1.0, 0.1, "entity", "", component)


def test_only_what_stands_nowhere_else_is_deleted() -> None:
    spans = [span(0, 1), span(4, 1), span(6, 2), span(20, 2), span(30, 3)]
    assert deletions.only_there(spans, 0, 10) == [span(4, 1)]
    assert [one.component for one in deletions.only_there(spans, 0, 40)] == [1, 2, 3]


def test_a_report_by_hand() -> None:
    pairs = [(0.1, 0.2), (-0.1, -0.2), (0.1, 0.0)]
    line = deletions.report("x", [deletions.Deletion(*pair) for pair in pairs])
    assert line.startswith("x: 3, r 0.866, slope 1.33, signs 1.00; credit above 0: 2; ")
    assert "score rises without it: 1" in line


def test_a_sentence_and_a_wrong_attribute_are_deleted() -> None:
    sample = Sample("", "A red circle. A green dog.", references=("A red circle is above a box.",))
    circle, dog = deletions.of_sentences(PoshReward(MatchJudge()), [sample])
    assert circle.credit > 0 < circle.effect
    assert dog.credit < 0 > dog.effect
    reference = "A blue circle is above a box."
    whole = Sample("", "A red circle is above a box.", references=(reference,))
    (red,) = deletions.of_attributes(PoshReward(MatchJudge()), [(whole, ((2, 5),))])
    assert red.credit < 0 > red.effect
    assert red.credit == pytest.approx(red.effect, rel=0.5)
