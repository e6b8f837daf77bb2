"""A metric over lists as Hugging Face's evaluate has it, and what a wrong list is told."""

from typing import Any

import pytest

from spanreward import LaveReward, PoshReward, Sample
from tests.support.own_parts import overlap

TEXTS = ["A red circle.", "A blue dog.", ""]
ONE_EACH = ["A red circle.", "A dog.", "A cat."]
SEVERAL = [["A red circle."], ["A dog.", "A blue dog."], ["A cat."]]


@pytest.mark.parametrize("references", [ONE_EACH, SEVERAL])
def test_means_and_counts(references: Any) -> None:
    found = PoshReward("match").compute(predictions=TEXTS, references=references)
    scores = PoshReward("match")([""] * 3, TEXTS, reference=references)
    assert found["score"] == pytest.approx(sum(scores) / 3)
    assert found["parts"]["f1"] == pytest.approx(found["score"])
    assert found["statuses"] == {"ok": 2, "empty": 1}


def test_references_are_peoples_answers_where_a_metric_reads_these() -> None:
    asked = {"question": ["What is it?"] * 2, "predictions": ["a dog", "a cat"]}
    lave, said = LaveReward("match", rationale=False), [["dog", "dog"], ["dog"]]
    answered = lave.compute(references=said, **asked)
    assert answered["score"] == 0.5
    assert answered == lave.compute(answers=said, **asked)


def test_nothing_to_judge_has_no_mean() -> None:
    expected = PoshReward("match").compute(predictions=[], references=[])
    assert expected == {"score": None, "parts": {}, "statuses": {}}
    unscored = PoshReward("match").compute(predictions=["A dog."], references=[None])
    assert (unscored["score"], unscored["statuses"]) == (None, {"not_applicable": 1})


@pytest.mark.parametrize(
    "metric", [PoshReward("match"), PoshReward("match", mode="published"), overlap]
)
def test_assess_takes_samples(metric: Any) -> None:
    for samples, got in (
        (Sample("", ""), "Sample"),
        ([{}], "dict"),
        ("A.", "str"),
        ([None], "None"),
    ):
        with pytest.raises(TypeError, match=rf"got {got}.*assess\(\[Sample\("):
            metric.assess(samples)
