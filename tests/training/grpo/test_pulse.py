"""A run that learns nothing stops and says why; one that learns says so in its log."""

from pathlib import Path
from typing import Any

import pytest
import torch
from trl import GRPOTrainer

from spanreward.rewards.base.verdict import Sample
from spanreward.training.grpo.pulse import IDLE
from tests.support.tiny_trainer import Scored, make_trainer, scenes

LONG: dict[str, Any] = {"max_steps": 20, "max_completion_length": 4}


def by_length(sample: Sample) -> float:
    return len(sample.completion) % 7 / 7


def weights(trainer: Any) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in trainer.model.parameters()])


def test_a_run_that_learns_logs_it(tmp_path: Path) -> None:
    trainer = make_trainer(tmp_path, scenes(), [Scored(by_length)])
    trainer.train()
    (first, *_) = [line for line in trainer.state.log_history if "learning/rows" in line]
    assert 0 < first["learning/rows"] <= 1
    assert 0 < first["learning/tokens"] <= 1
    assert first["learning/gradients"] > 0.9
    assert first["learning/moved"] > 0.5
    assert trainer.pulse.stopped == ""
    assert trainer.state.global_step == 2


def frozen(trainer: Any) -> None:
    for parameter in trainer.model.parameters():
        parameter.requires_grad_(False)
    trainer.model.lm_head.weight.requires_grad_(True)
    trainer.create_optimizer()
    trainer.optimizer.param_groups[0]["params"] = [torch.nn.Parameter(torch.zeros(1))]


@pytest.mark.parametrize(
    ("settings", "score", "steps", "cause"),
    [
        (
            {"mask_truncated_completions": True, "max_completion_length": 1},
            by_length,
            IDLE,
            "cut at max_completion_l",
        ),
        ({}, lambda _: 0.5, 16, "all of a group have the same reward"),
        ({"learning_rate": 0.0}, by_length, IDLE, "the learning rate is 0"),
    ],
    ids=["cut", "equal", "rate"],
)
def test_a_run_that_learns_nothing_stops(
    tmp_path: Path, settings: dict[str, Any], score: Any, steps: int, cause: str
) -> None:
    trainer = make_trainer(tmp_path, scenes(), [Scored(score)], **{**LONG, **settings})
    before = weights(trainer)
    trainer.train()
    assert torch.equal(weights(trainer), before)
    # 16 steps of two groups are the 32 that chance would need
    assert trainer.state.global_step == steps
    assert f"{steps} steps moved no weight" in trainer.pulse.stopped
    assert cause in trainer.pulse.stopped


def test_an_optimizer_without_the_policy_is_named(tmp_path: Path) -> None:
    trainer = make_trainer(
        tmp_path, scenes(), [Scored(by_length)], **{**LONG, "max_completion_length": 24}
    )
    frozen(trainer)
    trainer.train()
    assert "the optimizer holds no trained parameter" in trainer.pulse.stopped


def test_idle_steps_between_others_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three of four batches teach nothing, and the run goes on."""
    calls: list[int] = []
    monkeypatch.setattr("spanreward.training.grpo.pulse.GROUPS", 0)

    def score(sample: Sample) -> float:
        calls.append(1)
        return by_length(sample) if (len(calls) - 1) // 8 % 4 == 0 else 0.5

    trainer = make_trainer(tmp_path, scenes(), [Scored(score)], **{**LONG, "max_steps": 9})
    trainer.train()
    assert trainer.state.global_step == 9


def test_without_a_reward_of_ours_the_log_is_trls(tmp_path: Path) -> None:
    of_length = lambda completions, **_: [float(len(str(c))) for c in completions]  # noqa: E731
    logs = []
    for stock in (True, False):
        trainer = make_trainer(tmp_path / str(stock), scenes(), [of_length], stock=stock)
        assert isinstance(trainer, GRPOTrainer)
        trainer.train()
        logs.append({key for line in trainer.state.log_history for key in line})
    assert logs[0] == logs[1]
