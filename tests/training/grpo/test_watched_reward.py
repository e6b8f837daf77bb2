"""A reward of weight 0 is watched: it is judged and logged, and decides nothing."""

import math
from typing import Any

import pytest
import torch

from spanreward.rewards import Sample, Span, Status, Verdict
from spanreward.training.callbacks.reward_health import RewardHealthCallback
from spanreward.training.grpo.dynamic_sampling import reward_of
from spanreward.training.grpo.trainer import NothingScored
from tests.support.batches import batch_of, lines_of
from tests.support.tiny_trainer import Scored

TEXTS = ["A star.", "A red star.", "A blue star.", "A square and a red star."] * 2
FAILED = Verdict(None, Status.ERROR, note="the judge is away")
WEIGHTS = {"reward_weights": [1.0, 0.0]}


def by_length(sample: Sample) -> float:
    return len(sample.completion) / 100


def failing(sample: Sample) -> Verdict:
    """Fails on three of four, and marks a word of the fourth."""
    if len(sample.completion) > 8:
        return FAILED
    spans = (Span(0, 1, 0.0, -0.5, "entity", "", 0), Span(2, 6, 1.0, 0.5, "entity", "", 1))
    return Verdict(0.9, spans=spans)


def endless(completions: list[Any], **_: Any) -> list[float]:
    return [math.inf] * len(completions)


@pytest.mark.parametrize("coefficient", [0.0, 0.5])
@pytest.mark.parametrize("watched", [Scored(failing, "watched"), endless], ids=["fails", "inf"])
@pytest.mark.parametrize("aggregation", ["sum_then_normalize", "normalize_then_sum"])
def test_it_changes_no_advantage(
    make: Any, coefficient: float, watched: Any, aggregation: str
) -> None:
    settings = {"multi_objective_aggregation": aggregation, "max_failed_fraction": 0.0}
    settings |= {"span_coef": coefficient}
    expected = batch_of(make(Scored(by_length), **settings), TEXTS)["advantages"]
    trainer = make(Scored(by_length), watched, **WEIGHTS, **settings)
    output = batch_of(trainer, TEXTS)["advantages"]
    assert torch.equal(output, expected)
    assert output.std() > 0.1
    metrics = trainer._metrics["train"]
    assert metrics["judge/failed_fraction"] == [0.0]
    if watched is not endless:
        assert metrics["watched/failed_fraction"] == [0.75]


def test_its_failures_stop_no_run(make: Any) -> None:
    away = Scored(lambda _: FAILED, "away")
    settings = {"dynamic_sampling": True, "max_failed_fraction": 0.0, "max_completion_length": 8}
    trainer = make(Scored(by_length), away, **WEIGHTS, **settings)
    health = RewardHealthCallback(trainer.recorders)
    trainer.add_callback(health)
    trainer.train()
    assert (trainer.state.global_step, health.stopped) == (2, "")
    first, _ = lines_of(trainer)
    assert first["away/failed_fraction"] == 1
    assert first["learning/rows"] > 0


def test_its_scores_are_none_where_the_others_have_none(make: Any) -> None:
    none = Verdict(None, Status.NOT_APPLICABLE)
    some = Scored(lambda sample: none if "blue" in sample.completion else by_length(sample))
    watched = Scored(lambda _: 0.5, "watched")
    advantages = batch_of(make(some, watched, **WEIGHTS), TEXTS)["advantages"]
    three = torch.tensor([7, 11, 24]) / 100
    expected = (three - three.mean()) / (three.std() + 1e-4)
    assert advantages[[0, 1, 3]].tolist() == pytest.approx(expected.tolist(), abs=1e-4)
    assert advantages[2] == 0
    with pytest.raises(NothingScored, match="none of this step's 8"):
        batch_of(make(Scored(lambda _: none), watched, **WEIGHTS), TEXTS)


def test_dynamic_sampling_does_not_look_at_it() -> None:
    for verdicts, reward in (
        ({"a": Verdict(0.5), "b": FAILED}, 1.0),
        ({"a": FAILED, "b": Verdict(0.5)}, None),
        ({"b": Verdict(0.5)}, None),
    ):
        assert reward_of(verdicts, {"a": 2.0, "b": 0.0}) == reward
