"""A metric over lists as Hugging Face's evaluate has it, and what a wrong list is told."""

from typing import Any

import pytest

from spanreward import LaveReward, PoshReward, Sample, reward
from tests.support.own_parts import overlap

TEXTS = ["A red circle.", "A blue dog.", ""]


@pytest.mark.parametrize(
    "references",
    [
        ["A red circle.", "A dog.", "A cat."],
        [["A red circle."], ["A dog.", "A blue dog."], ["A cat."]],
    ],
)
def test_means_and_counts(references: Any) -> None:
    found = PoshReward("match").compute(predictions=TEXTS, references=references)
    scores = PoshReward("match")([""] * 3, TEXTS, reference=references)
    assert found["score"] == pytest.approx(sum(scores) / 3)
    assert found["parts"]["f1"] == pytest.approx(found["score"])
    assert found["statuses"] == {"ok": 2, "empty": 1}


def test_references_are_peoples_answers_where_a_metric_reads_these() -> None:
    asked = {"question": ["What is it?"] * 2, "predictions": ["a dog", "a cat"]}
    answered = LaveReward("match", rationale=False).compute(
        references=[["dog", "dog"], ["dog"]], **asked
    )
    assert answered["score"] == 0.5
    assert answered == LaveReward("match", rationale=False).compute(
        answers=[["dog", "dog"], ["dog"]], **asked
    )


def test_nothing_to_judge_has_no_mean() -> None:
    assert PoshReward("match").compute(predictions=[], references=[]) == {
        "score": None,
        "parts": {},
        "statuses": {},
    }
    unscored = PoshReward("match").compute(predictions=["A dog."], references=[None])
    assert (unscored["score"], unscored["statuses"]) == (None, {"not_applicable": 1})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"predictions": TEXTS, "references": ["A dog."]},
            "the column 'reference' has 1 values for 3 completions",
        ),
        ({"predictions": TEXTS}, "posh needs 'reference': write compute"),
        (
            {"predictions": "A dog.", "references": "A dog."},
            "completions must be a list, a text or message for each",
        ),
    ],
)
def test_a_wrong_list_is_told(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PoshReward("match").compute(**given)


def test_as_many_prompts_as_completions() -> None:
    with pytest.raises(
        ValueError, match="there are 1 prompts for 2 completions: give one for each"
    ):
        overlap(["Describe."], ["A dog.", "A cat."], reference=["A dog."] * 2)


SAMPLE = Sample("", "A dog.", references=("A dog.",))


@pytest.mark.parametrize(
    "metric", [PoshReward("match"), PoshReward("match", mode="published"), overlap]
)
@pytest.mark.parametrize(
    ("samples", "got"), [(SAMPLE, "Sample"), ([{}], "dict"), ("A dog.", "str"), ([None], "None")]
)
def test_assess_takes_samples(metric: Any, samples: Any, got: str) -> None:
    with pytest.raises(
        TypeError, match=rf"assess takes a list of Samples, got {got}.*: write assess\(\[Sample\("
    ):
        metric.assess(samples)


def test_the_decorator_needs_its_parentheses_and_one_column_is_a_list_of_one() -> None:
    with pytest.raises(ValueError, match=r"write @reward\(\) above def mine, with parentheses"):

        @reward
        def mine(sample: Sample) -> float:
            return 0.5

    @reward("reference")
    def other(sample: Sample) -> float:
        return 0.5

    assert other.columns == ("reference",)
