"""A reward of weight 0 is watched: it is judged and logged, and decides nothing."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from spanreward.rewards import Sample, Span, Status, Verdict
from spanreward.training.callbacks.reward_health import RewardHealthCallback
from spanreward.training.grpo.dynamic_sampling import reward_of
from spanreward.training.grpo.trainer import NothingScored
from tests.support.tiny_trainer import Scored, advantages_of, make_trainer, scenes

TEXTS = ["A star.", "A red star.", "A blue star.", "A square and a red star."]
NOTE = "the judge is away"


def by_length(sample: Sample) -> float:
    return len(sample.completion) / 100


def failing(sample: Sample) -> Verdict:
    """Fails on three of four, and marks a word of the fourth."""
    if len(sample.completion) > 8:
        return Verdict(None, Status.ERROR, note=NOTE)
    spans = (Span(0, 1, 0.0, -0.5, "entity", "", 0), Span(2, 6, 1.0, 0.5, "entity", "", 1))
    return Verdict(0.9, spans=spans)


def endless(completions: list[Any], **_: Any) -> list[float]:
    return [math.inf] * len(completions)


@pytest.mark.parametrize("coefficient", [0.0, 0.5])
@pytest.mark.parametrize("watched", [Scored(failing, "watched"), endless], ids=["fails", "inf"])
@pytest.mark.parametrize("aggregation", ["sum_then_normalize", "normalize_then_sum"])
def test_it_changes_no_advantage(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    coefficient: float,
    watched: Any,
    aggregation: Any,
) -> None:
    dataset = scenes()
    settings: dict[str, Any] = {
        "span_coef": coefficient,
        "multi_objective_aggregation": aggregation,
        "max_failed_fraction": 0.0,
    }
    alone = make_trainer(tmp_path / "a", dataset, [Scored(by_length)], **settings)
    expected = advantages_of(alone, dataset, TEXTS * 2, monkeypatch)["advantages"]
    both = [Scored(by_length), watched]
    weights = [1.0, 0.0]
    trainer = make_trainer(tmp_path / "b", dataset, both, reward_weights=weights, **settings)
    output = advantages_of(trainer, dataset, TEXTS * 2, monkeypatch)["advantages"]
    assert torch.equal(output, expected)
    assert output.std() > 0.1
    metrics = trainer._metrics["train"]
    assert metrics["judge/failed_fraction"] == [0.0]
    if watched is not endless:
        assert metrics["watched/failed_fraction"] == [0.75]


def test_its_failures_stop_no_run(tmp_path: Path) -> None:
    away = Scored(lambda _: Verdict(None, Status.ERROR, note=NOTE), "away")
    settings: dict[str, Any] = {
        "reward_weights": [1.0, 0.0],
        "dynamic_sampling": True,
        "max_failed_fraction": 0.0,
        "max_completion_length": 8,
    }
    trainer = make_trainer(tmp_path, scenes(), [Scored(by_length), away], **settings)
    health = RewardHealthCallback(trainer.recorders)
    trainer.add_callback(health)
    trainer.train()
    assert trainer.state.global_step == 2
    assert health.stopped == ""
    (line, _) = [line for line in trainer.state.log_history if "loss" in line]
    assert line["away/failed_fraction"] == 1
    assert line["learning/rows"] > 0


def test_its_scores_are_none_where_the_others_have_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    none = Verdict(None, Status.NOT_APPLICABLE)
    some = Scored(lambda sample: none if "blue" in sample.completion else by_length(sample))
    watched = Scored(lambda _: 0.5, "watched")
    dataset = scenes()
    weights = [1.0, 0.0]
    trainer = make_trainer(tmp_path, dataset, [some, watched], reward_weights=weights)
    advantages = advantages_of(trainer, dataset, TEXTS * 2, monkeypatch)["advantages"]
    three = torch.tensor([7, 11, 24]) / 100
    expected = (three - three.mean()) / (three.std() + 1e-4)
    assert advantages[[0, 1, 3]].tolist() == pytest.approx(expected.tolist(), abs=1e-4)
    assert advantages[2] == 0
    lacking = Scored(lambda _: none)
    trainer = make_trainer(tmp_path, dataset, [lacking, watched], reward_weights=weights)
    with pytest.raises(NothingScored, match="none of this step's 8"):
        advantages_of(trainer, dataset, TEXTS * 2, monkeypatch)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"span_coef": 0.5}, "span_coef=0.5 needs a reward that gives spans, .* with a weight"),
        ({"dynamic_sampling": True}, "and there is none with a weight"),
    ],
)
def test_what_needs_a_reward_needs_its_weight(
    tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    functions = [endless, Scored(by_length)]
    with pytest.raises(ValueError, match=message):
        make_trainer(tmp_path, scenes(), functions, reward_weights=[1.0, 0.0], **settings)


def test_dynamic_sampling_does_not_look_at_it() -> None:
    failed = Verdict(None, Status.TIMEOUT)
    assert reward_of({"a": Verdict(0.5), "b": failed}, {"a": 2.0, "b": 0.0}) == 1.0
    assert reward_of({"a": failed, "b": Verdict(0.5)}, {"a": 2.0, "b": 0.0}) is None
    assert reward_of({"b": Verdict(0.5)}, {"b": 0.0}) is None
