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
)
from spanreward.rewards.judges.by_name import as_judge

METRICS = [
    CriteriaReward, DifferencesReward, HarmonicReward, LaveReward, PairwiseReward, PoshReward,
]  # fmt: skip


@pytest.mark.parametrize("metric", METRICS)
def test_a_metric_takes_the_name_of_a_judge_and_refuses_what_is_none(metric: Any) -> None:
    reward = metric("match")
    assert isinstance(reward.judge, MatchJudge)
    assert reward.judges == (reward.judge,)
    for judge in (3, "matsch"):
        with pytest.raises(ValueError, match=r"judge .*'match'"):
            metric(judge)


@pytest.mark.parametrize("judge", [None, 3, MatchJudge, object(), lambda text: 5])
def test_what_is_no_judge(judge: Any) -> None:
    with pytest.raises(ValueError, match="a Judge or its name"):
        as_judge(judge)
