"""A run that learns nothing stops and says why; one that learns says so in its log."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import TrainerCallback

from experiments.scenes.parts import TINY
from spanreward.rewards.base.verdict import Sample
from spanreward.training.grpo.learning_monitor import MAX_IDLE_BATCHES
from spanreward.training.grpo.trainer import SpanGRPOTrainer
from spanreward.training.policy import load_policy
from tests.support.batches import config_of, lines_of, weights_of
from tests.support.tiny_trainer import Scored, scenes

LONG: dict[str, Any] = {"max_steps": 20, "max_completion_length": 4}


def by_length(sample: Sample) -> float:
    return len(sample.completion) % 7 / 7


def by_call(teaches: Callable[[int], bool]) -> Scored:
    """A reward in which the n-th completion differs from others where it teaches, n from 0."""
    calls: list[int] = []

    def score(sample: Sample) -> float:
        calls.append(1)
        return by_length(sample) if teaches(len(calls) - 1) else 0.5

    return Scored(score)


@pytest.fixture
def counts_steps_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chance would need no number of groups."""
    monkeypatch.setattr("spanreward.training.grpo.learning_monitor.MIN_EQUAL_GROUPS", 0)


def test_a_run_that_learns_logs_it(make: Any) -> None:
    trainer = make(Scored(by_length))
    trainer.train()
    (first, *_) = [line for line in trainer.state.log_history if "learning/rows" in line]
    assert 0 < first["learning/rows"] <= 1
    assert 0 < first["learning/tokens"] <= 1
    assert first["learning/gradients"] > 0.9
    assert first["learning/moved"] > 0.5
    assert (trainer.learning_monitor.stopped, trainer.state.global_step) == ("", 2)


CUT = {"mask_truncated_completions": True, "max_completion_length": 1}


@pytest.mark.parametrize(
    ("settings", "score", "steps", "cause"),
    [
        (CUT, by_length, MAX_IDLE_BATCHES, "cut at max_completion_l"),
        ({}, lambda _: 0.5, 16, "have the same reward"),
        # weights move where no completion has an advantage, and that is no lesson
        ({"weight_decay": 0.1}, lambda _: 0.5, 16, "have the same reward"),
        ({"learning_rate": 0.0}, by_length, MAX_IDLE_BATCHES, "the learning rate is 0"),
    ],
    ids=["cut", "equal", "decay", "rate"],
)
def test_a_run_that_learns_nothing_stops(
    make: Any, settings: dict[str, Any], score: Any, steps: int, cause: str
) -> None:
    trainer = make(Scored(score), **{**LONG, **settings})
    before = weights_of(trainer)
    trainer.train()
    decays = "weight_decay" in settings
    assert torch.equal(weights_of(trainer), before) != decays
    # 16 steps of two groups are the 32 that chance would need
    assert trainer.state.global_step == steps
    moved = "moved weights" if decays else "moved no weight"
    assert f"{steps} steps {moved}" in trainer.learning_monitor.stopped
    assert cause in trainer.learning_monitor.stopped


def test_momentum_is_no_lesson(make: Any) -> None:
    """After one batch that teaches, Adam goes on moving weights."""
    trainer = make(by_call(lambda n: n < 8), **LONG)
    trainer.train()
    assert trainer.state.global_step == 17
    assert lines_of(trainer)[5]["learning/moved"] > 0.1
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
@pytest.mark.usefixtures("counts_steps_alone")
def test_idle_batches_count_and_not_their_updates(make: Any, settings: Any, steps: int) -> None:
    sizes = {**LONG, "max_steps": 40, "per_device_train_batch_size": 4, "weight_decay": 0.1}
    trainer = make(Scored(lambda _: 0.5), data=scenes(64), **sizes, **settings)
    trainer.train()
    assert trainer.state.global_step == steps
    assert f"{steps} steps moved weights" in trainer.learning_monitor.stopped


QUARTERS = {"per_device_train_batch_size": 4, "steps_per_generation": 4}


@pytest.mark.parametrize(
    ("teaches", "steps", "settings"),
    [
        # one group of four has an advantage, so three of a batch's four updates have no row of it
        (lambda n: n % 16 == 0, 24, QUARTERS),
        (lambda n: n // 8 % 4 == 0, 9, {}),  # three of four batches teach nothing
    ],
    ids=["updates", "batches"],
)
@pytest.mark.usefixtures("counts_steps_alone")
def test_idle_steps_between_others(make: Any, teaches: Any, steps: int, settings: Any) -> None:
    trainer = make(by_call(teaches), data=scenes(64), **{**LONG, **settings, "max_steps": steps})
    trainer.train()
    assert (trainer.learning_monitor.stopped, trainer.state.global_step) == ("", steps)


class Layers(TrainerCallback):
    """Trains one of two sets of layers in each step, as LISA does."""

    def on_step_begin(
        self, args: Any, state: Any, control: Any, model: Any = None, **_: Any
    ) -> None:
        for number, parameter in enumerate(model.parameters()):
            parameter.requires_grad_(number % 2 == state.global_step % 2)


def test_a_callback_may_freeze_and_unfreeze(make: Any) -> None:
    trainer = make(Scored(by_length), max_steps=8, max_completion_length=8)
    trainer.add_callback(Layers())  # after the monitor's own
    trainer.train()
    assert (trainer.learning_monitor.stopped, trainer.state.global_step) == ("", 8)
    assert all(line["learning/moved"] > 0.1 for line in lines_of(trainer))


def merged(model: Any) -> Any:
    """The policy with an adapter merged into it in memory."""
    torch.manual_seed(0)
    config = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    return get_peft_model(model, config).merge_and_unload()


def test_a_merged_policy_has_nothing_to_train(tmp_path: Path) -> None:
    model, processor = load_policy(TINY, seed=1)
    reward = Scored(by_length)
    parts = {"args": config_of(tmp_path), "train_dataset": scenes(), "processing_class": processor}
    with pytest.raises(ValueError, match="no parameter of the policy"):
        SpanGRPOTrainer(merged(model), reward, **parts)
    assert reward.seen == []


@pytest.mark.parametrize("another", [False, True])
def test_a_reference_that_is_another_policy_is_named_once(
    tmp_path: Path, another: bool, caplog: pytest.LogCaptureFixture
) -> None:
    for part in load_policy(TINY, seed=1):
        part.save_pretrained(tmp_path / "base")
    model: Any
    model, processor = load_policy(str(tmp_path / "base"))
    processor.tokenizer.padding_side = "left"
    if another:
        model = merged(model).requires_grad_(True)
    sizes = {"per_device_train_batch_size": 4, "steps_per_generation": 2, "max_steps": 4}
    args = config_of(tmp_path / "out", **sizes, beta=0.1)
    with caplog.at_level(logging.WARNING, "spanreward.training.grpo.learning_monitor"):
        reward = Scored(by_length)
        SpanGRPOTrainer(model, reward, args, scenes(), processing_class=processor).train()
    messages = [message for message in caplog.messages if "the KL before the first" in message]
    assert len(messages) == another
    assert not another or f"loaded from '{tmp_path / 'base'}'" in messages[0]


def test_an_optimizer_without_the_policy_is_named(make: Any) -> None:
    trainer = make(Scored(by_length), **{**LONG, "max_completion_length": 24})
    trainer.model.requires_grad_(False)
    trainer.model.lm_head.weight.requires_grad_(True)
    trainer.create_optimizer()
    trainer.optimizer.param_groups[0]["params"] = [torch.nn.Parameter(torch.zeros(1))]
    trainer.train()
    assert "optimizer holds no trained" in trainer.learning_monitor.stopped
