"""A run that learns nothing stops and says why; one that learns says so in its log."""

import logging
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import TrainerCallback
from trl import GRPOTrainer

from experiments.scenes.parts import TINY
from spanreward.rewards.base.verdict import Sample
from spanreward.training.grpo.config import SpanGRPOConfig
from spanreward.training.grpo.learning_monitor import MAX_IDLE_BATCHES
from spanreward.training.grpo.trainer import SpanGRPOTrainer
from spanreward.training.policy import load_policy
from tests.support.tiny_trainer import COMMON, Scored, make_trainer, scenes

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
    assert trainer.learning_monitor.stopped == ""
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
            MAX_IDLE_BATCHES,
            "cut at max_completion_l",
        ),
        ({}, lambda _: 0.5, 16, "have the same reward"),
        ({"learning_rate": 0.0}, by_length, MAX_IDLE_BATCHES, "the learning rate is 0"),
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
    assert f"{steps} steps moved no weight" in trainer.learning_monitor.stopped
    assert cause in trainer.learning_monitor.stopped


def test_weight_decay_is_no_lesson(tmp_path: Path) -> None:
    """It moves weights where no completion has an advantage."""
    settings = {**LONG, "weight_decay": 0.1}
    trainer = make_trainer(tmp_path, scenes(), [Scored(lambda _: 0.5)], **settings)
    before = weights(trainer)
    trainer.train()
    assert not torch.equal(weights(trainer), before)
    assert trainer.state.global_step == 16
    assert "16 steps moved weights" in trainer.learning_monitor.stopped
    assert "have the same reward" in trainer.learning_monitor.stopped


def test_momentum_is_no_lesson(tmp_path: Path) -> None:
    """After one batch that teaches, Adam goes on moving weights."""
    calls: list[int] = []

    def score(sample: Sample) -> float:
        calls.append(1)
        return by_length(sample) if len(calls) <= 8 else 0.5

    trainer = make_trainer(tmp_path, scenes(), [Scored(score)], **LONG)
    trainer.train()
    assert trainer.state.global_step == 17
    moved = [line["learning/moved"] for line in trainer.state.log_history if "loss" in line]
    assert moved[5] > 0.1
    assert "16 steps moved weights" in trainer.learning_monitor.stopped


@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({"steps_per_generation": 4}, 20),  # five batches of two groups are four updates each
        ({"num_iterations": 2}, 10),
        ({"gradient_accumulation_steps": 4, "steps_per_generation": 2}, MAX_IDLE_BATCHES),
        ({"gradient_accumulation_steps": 2, "steps_per_generation": 4, "num_iterations": 2}, 20),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else None,
)
def test_idle_batches_are_counted_and_not_their_updates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], steps: int
) -> None:
    monkeypatch.setattr("spanreward.training.grpo.learning_monitor.MIN_EQUAL_GROUPS", 0)
    settings = {"max_steps": 40, "per_device_train_batch_size": 4, **settings}
    settings = {**LONG, **settings, "weight_decay": 0.1}
    trainer = make_trainer(tmp_path, scenes(64), [Scored(lambda _: 0.5)], **settings)
    trainer.train()
    assert trainer.state.global_step == steps
    assert f"{steps} steps moved weights" in trainer.learning_monitor.stopped


def test_one_update_that_teaches_saves_its_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One group of four has an advantage, so three of a batch's four updates have no row of it."""
    monkeypatch.setattr("spanreward.training.grpo.learning_monitor.MIN_EQUAL_GROUPS", 0)
    calls: list[int] = []

    def score(sample: Sample) -> float:
        calls.append(1)
        return by_length(sample) if (len(calls) - 1) % 16 == 0 else 0.5

    sizes = {"per_device_train_batch_size": 4, "steps_per_generation": 4, "max_steps": 24}
    trainer = make_trainer(tmp_path, scenes(64), [Scored(score)], **{**LONG, **sizes})
    trainer.train()
    assert trainer.learning_monitor.stopped == ""
    assert trainer.state.global_step == 24


class Layers(TrainerCallback):
    """Trains one of two sets of layers in each step, as LISA does."""

    def on_step_begin(
        self, args: Any, state: Any, control: Any, model: Any = None, **_: Any
    ) -> None:
        for number, parameter in enumerate(model.parameters()):
            parameter.requires_grad_(number % 2 == state.global_step % 2)


def test_a_callback_may_freeze_and_unfreeze(tmp_path: Path) -> None:
    settings = {"max_steps": 8, "max_completion_length": 8}
    trainer = make_trainer(tmp_path, scenes(), [Scored(by_length)], **settings)
    trainer.add_callback(Layers())  # after the monitor's own
    trainer.train()
    assert trainer.learning_monitor.stopped == ""
    assert trainer.state.global_step == 8
    lines = [line for line in trainer.state.log_history if "loss" in line]
    assert all(line["learning/moved"] > 0.1 for line in lines)


def merged_policy() -> Any:
    """A policy and its processor; an adapter was merged into the policy in memory."""
    model, processor = load_policy(TINY, seed=1)
    processor.tokenizer.padding_side = "left"
    config = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    torch.manual_seed(0)
    return get_peft_model(model, config).merge_and_unload(), processor


def test_a_merged_policy_has_nothing_to_train(tmp_path: Path) -> None:
    model, processor = merged_policy()
    reward = Scored(by_length)
    args = SpanGRPOConfig(str(tmp_path), **COMMON)
    with pytest.raises(ValueError, match="no parameter of the policy"):
        SpanGRPOTrainer(model, reward, args, scenes(), processing_class=processor)
    assert reward.seen == []


@pytest.mark.parametrize("merged", [False, True])
def test_a_reference_that_is_another_policy_is_named_once(
    tmp_path: Path, merged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    saved, processor = load_policy(TINY, seed=1)
    saved.save_pretrained(tmp_path / "base")
    processor.save_pretrained(tmp_path / "base")
    model: Any
    model, processor = load_policy(str(tmp_path / "base"))
    processor.tokenizer.padding_side = "left"
    if merged:
        config = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
        model = get_peft_model(model, config).merge_and_unload()
        model.requires_grad_(True)
    sizes = {"per_device_train_batch_size": 4, "steps_per_generation": 2, "max_steps": 4}
    args = SpanGRPOConfig(str(tmp_path / "out"), **{**COMMON, **sizes, "beta": 0.1})
    with caplog.at_level(logging.WARNING, "spanreward.training.grpo.learning_monitor"):
        trainer = SpanGRPOTrainer(
            model, Scored(by_length), args, scenes(), processing_class=processor
        )
        trainer.train()
    messages = [message for message in caplog.messages if "the KL before the first" in message]
    assert len(messages) == merged
    if merged:
        assert f"loaded from '{tmp_path / 'base'}'" in messages[0]


def test_an_optimizer_without_the_policy_is_named(tmp_path: Path) -> None:
    trainer = make_trainer(
        tmp_path, scenes(), [Scored(by_length)], **{**LONG, "max_completion_length": 24}
    )
    frozen(trainer)
    trainer.train()
    assert "optimizer holds no trained" in trainer.learning_monitor.stopped


def test_idle_steps_between_others_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three of four batches teach nothing, and the run goes on."""
    calls: list[int] = []
    monkeypatch.setattr("spanreward.training.grpo.learning_monitor.MIN_EQUAL_GROUPS", 0)

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
