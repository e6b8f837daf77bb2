"""The names of the metrics, known before the metrics are imported."""

import pytest

from spanreward.rewards.metric_names import NAMES, check_metric
from spanreward.rewards.metrics import METRICS


def test_they_are_the_metrics_of_the_one_dict() -> None:
    assert set(NAMES) == {*METRICS, "remote"}


def test_a_name_that_is_none_is_refused() -> None:
    check_metric("posh")
    check_metric("mine.py:Colour")
    with pytest.raises(ValueError, match="unknown metric 'pohs': did you mean 'posh'"):
        check_metric("pohs")
