"""Several samples of a prompt, by hand."""

from typing import Any

import pytest

from spanreward import Verdict
from spanreward.training.evaluation.answer_scores.answer import JudgedAnswer
from spanreward.training.evaluation.answer_scores.several import (
    answer_of_samples,
    every_sample,
    samples_a_prompt,
)


def sample(text: str, **scores: Any) -> JudgedAnswer:
    return JudgedAnswer(text, Verdict(0.5), scores)


def test_mean_and_best_by_hand() -> None:
    samples = [sample("a", f1=0.2, words=1.0), sample("b", f1=0.8, words=3.0)]
    answer = answer_of_samples(samples, ["f1"])
    assert answer.text == "a"
    assert answer.scores == {"f1": 0.5, "f1_best": 0.8, "words": 2.0}
    assert [one.text for one in every_sample([answer])] == ["a", "b"]
    assert samples_a_prompt([answer]) == 2


@pytest.mark.parametrize("other", [0.8, None])
def test_a_failed_sample_is_no_zero_and_may_have_been_the_best(other: float | None) -> None:
    answer = answer_of_samples([sample("a", f1=None), sample("b", f1=other)], ["f1"])
    assert answer.scores == {"f1": other, "f1_best": None}


@pytest.mark.parametrize("best_of", [[], ["f1"]])
def test_one_sample_is_the_answer_itself(best_of: list[str]) -> None:
    alone = sample("a", f1=0.2)
    assert answer_of_samples([alone], best_of) is alone
    assert list(every_sample([alone])) == [alone]
    assert samples_a_prompt([alone]) == 1
