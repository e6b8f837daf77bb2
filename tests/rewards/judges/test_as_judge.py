"""A judge may be given by its name; what is no judge is refused when the metric is made."""

from typing import Any

import pytest

from spanreward import (
    CriteriaReward,
    DifferencesReward,
    HarmonicReward,
    LaveReward,
    MatchJudge,
    PairwiseReward,
    PoshReward,
    Sample,
)

METRICS = [
    CriteriaReward,
    DifferencesReward,
    HarmonicReward,
    LaveReward,
    PairwiseReward,
    PoshReward,
]


@pytest.mark.parametrize("metric", METRICS)
def test_a_name_is_the_judge_of_that_name(metric: Any) -> None:
    reward = metric("match")
    assert isinstance(reward.judge, MatchJudge)
    assert reward.judges == (reward.judge,)


def test_it_judges() -> None:
    sample = Sample("", "A red circle.", references=("A red circle.",))
    assert PoshReward("match").assess([sample]) == PoshReward(MatchJudge()).assess([sample])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("judge", [None, 3, MatchJudge, object(), lambda text: 5])
def test_what_is_no_judge(metric: Any, judge: Any) -> None:
    with pytest.raises(
        ValueError, match="a judge is a Judge or its name, such as 'match' or 'vllm:MODEL', got"
    ):
        metric(judge)


@pytest.mark.parametrize("metric", METRICS)
def test_a_name_that_does_not_exist(metric: Any) -> None:
    with pytest.raises(ValueError, match="unknown judge"):
        metric("matsch")
