"""The names of the metrics, known before the metrics are imported."""

from spanreward.rewards.metric_names import NAMES, check_metric
from spanreward.rewards.metrics import METRICS


def test_they_are_the_metrics_of_the_one_dict() -> None:
    assert set(NAMES) == {*METRICS, "remote"}


def test_names_and_files_are_taken() -> None:
    for name in ("posh", "mine.py:Colour"):
        check_metric(name)
