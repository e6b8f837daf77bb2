"""A reward from a function: its scores, its columns and its pickle."""

import pickle

import pytest

from spanreward import Sample, Span, Status, Verdict, reward
from tests.support.own_parts import overlap


def test_a_number_none_or_a_verdict() -> None:
    whole = Verdict(0.25, spans=(Span(0, 1, 0.0, -0.75, "word", "wrong", 0),))

    @reward("reference")
    def judged(sample: Sample) -> float | Verdict | None:
        return {"a": 0.5, "b": None, "c": whole, "d": 1}[sample.completion]

    assert judged.columns == ("reference",)  # one column is a list of one
    found = judged.assess([Sample("", text) for text in "abcd"])
    assert [verdict.score for verdict in found] == [0.5, None, 0.25, 1.0]
    assert found[1].status is Status.NOT_APPLICABLE
    assert found[2] is whole
    assert judged.__name__ == "judged"


def test_it_meets_trls_contract() -> None:
    scores = overlap(["Describe."] * 2, ["a big red dog", "cat"], reference=["red dog", "a dog"])
    assert scores == [pytest.approx(0.8), 0.0]


def test_it_is_pickled_by_its_name() -> None:
    assert pickle.loads(pickle.dumps(overlap)) is overlap
