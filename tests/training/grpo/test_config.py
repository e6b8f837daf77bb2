"""TRL's options with advantages of tokens: what each does to a token, or that it is refused."""

import logging
import math
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig
from trl import GRPOConfig, TrlParser

from spanreward.training.grpo.config import SpanGRPOConfig
from spanreward.training.grpo.idle_settings import warn_of_idle, warn_of_small_rate
from tests.support.batches import config_of, ids_of, lines_of, score_ids, weights_of
from tests.support.given_ranks import WORDS, judge
from tests.support.tiny_trainer import Scored

LORA = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
ADVANTAGES = torch.tensor([[1.0, -1.0, 2.0, 0.0], [-0.5, 0.5, 1.0, 3.0]])
MASK = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
ONES = torch.ones_like(ADVANTAGES)


def gradients(trainer: Any, ratios: torch.Tensor) -> torch.Tensor:
    """How TRL's loss moves each token's log-probability, sampled at 1 / ratio of its own."""
    logps = torch.zeros_like(ADVANTAGES, requires_grad=True)
    read = logps, torch.zeros_like(ADVANTAGES), None
    trainer._get_per_token_logps_and_entropies = lambda *_, **__: read
    trainer.current_gradient_accumulation_steps = 1
    inputs = {name: torch.ones(2, 1, dtype=torch.long) for name in ("prompt_ids", "prompt_mask")}
    inputs |= {"completion_ids": torch.ones_like(MASK), "completion_mask": MASK}
    inputs |= {"advantages": ADVANTAGES, "num_items_in_batch": MASK.sum()}
    inputs |= {"old_per_token_logps": -ratios.log()}
    trainer.model.train()
    trainer.compute_loss(trainer.model, inputs).backward()
    assert logps.grad is not None
    return -logps.grad


RATIOS = torch.tensor([[1.25, 1.25, 1.3, 1.0], [0.75, 0.75, 1.0, 1.0]])
PASSED = torch.tensor([[1, 1, 0, 1], [0, 1, 0, 0]])  # rising: below 1.28; falling: above 0.8
HIGHER = {"epsilon": 0.2, "epsilon_high": 0.28, "span_coef": 0.5}
SEQUENCE = {"importance_sampling_level": "sequence"}
CISPO = {**SEQUENCE, "loss_type": "cispo", "epsilon_high": 5.0, "span_coef": 0.5}
MEANS = (ADVANTAGES * MASK).sum(dim=1, keepdim=True) / MASK.sum(dim=1, keepdim=True)


@pytest.mark.parametrize(
    ("settings", "ratios", "moved"),
    [
        ({"span_coef": 0.5}, ONES, ADVANTAGES / 6),  # each token of the batch alike
        ({"span_coef": 0.5, "loss_type": "grpo"}, ONES, ADVANTAGES / torch.tensor([[8], [4]])),
        (HIGHER, RATIOS, ADVANTAGES * RATIOS * PASSED / 6),
        (SEQUENCE, ONES, MEANS / 6),  # a row's tokens alike, so that spans are refused there
        (CISPO, ONES, ADVANTAGES / 6),
    ],
    ids=["token level", "grpo", "clip higher", "sequence", "cispo"],
)
def test_how_trls_losses_move_a_token(make: Any, settings: Any, ratios: Any, moved: Any) -> None:
    found = gradients(make(Scored(judge), **settings), ratios)
    torch.testing.assert_close(found, moved * MASK)


QUARTERS = {"steps_per_generation": 2, "per_device_train_batch_size": 4}


@pytest.mark.parametrize(
    "settings",
    [
        {"num_iterations": 2, "delta": 1.5, "max_steps": 2, **QUARTERS},
        {"mask_truncated_completions": True, "soft_overlong_cache": 8},
        {"peft_config": LORA, "beta": 0.1},
        {**SEQUENCE, "loss_type": "cispo", "epsilon_high": 5.0},
        {"loss_type": "grpo", "scale_rewards": "batch"},
        {"loss_type": "luspo", "entropy_coef": 0.01},
        {"loss_type": "sapo", "multi_objective_aggregation": "normalize_then_sum"},
    ],
    ids=lambda settings: " ".join(settings),
)
@pytest.mark.usefixtures("given_completions")
def test_options_train_and_spans_count_in_them(make: Any, settings: dict[str, Any]) -> None:
    """test_by_the_docs.py trains in every loss and way of batching, and looks at advantages."""
    after = []
    for coefficient in (0.0, 0.5):
        settings = {"max_steps": 1, "dynamic_sampling": True, **settings}
        trainer = make(Scored(judge), span_coef=coefficient, **settings)
        trainer.train()
        losses = [line["loss"] for line in lines_of(trainer)]
        assert len(losses) == settings["max_steps"]
        assert all(map(math.isfinite, losses))
        after.append(weights_of(trainer))
    assert torch.isfinite(after[1]).all()
    assert (after[0] - after[1]).abs().max() > 1e-5


def test_the_overlong_punishment_falls_linearly_within_its_cache(make: Any) -> None:
    """DAPO's equation 13, limit 12 tokens, cache 8: nothing up to 4 tokens, then 1/8 a token."""
    settings = {"soft_overlong_size": 1.0, "max_completion_length": 12}
    trainer = make(Scored(judge), soft_overlong_cache=8, **settings)
    texts = ["A red star.", "A", "A red circle in the center left", "A square and a red star."]
    ids = ids_of(trainer, texts * 2)
    score_ids(trainer, ids, [1] * 8)
    expected = [-max(len(row) - 4, 0) / 8 for row in ids]
    assert len(set(expected)) > 2
    assert list(trainer._logs["rewards"]["soft_overlong_punishment_reward"]) == expected
    assert trainer.reward_weights.tolist() == [1.0, 1.0]


def test_a_weight_of_its_own_keeps_the_rewards_weights(make: Any) -> None:
    for size, weight in ((None, 1.0), (0.1, 0.1)):
        settings = {"soft_overlong_size": size, "reward_weights": [0.25]}
        trainer = make(Scored(judge), soft_overlong_cache=8, **settings)
        assert trainer.reward_weights.tolist() == pytest.approx([0.25, weight])


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"span_coef": -1.0}, "span_coef: .* 0, got -1.0"),
        ({"max_failed_fraction": -0.1}, "max_failed_fraction: .* 0, got -0.1"),
        ({"max_failed_fraction": 50}, "max_failed_fraction: .* 1, got 50"),
        ({"reasoning_end": ""}, "reasoning_end: .* 1 character"),
        ({"reasoning_end": "</think>", "judged_turns": "all"}, 'judged_turns="all" and reason'),
        ({"soft_overlong_size": 0.5}, "soft_overlong_size=0.5 does nothing"),
        (SEQUENCE, None),  # without spans TRL's own matter
        ({"loss_type": "vespo"}, None),
    ],
)
def test_settings_that_cannot_work(tmp_path: Path, settings: Any, told: str | None) -> None:
    with pytest.raises(ValueError, match=told) if told else nullcontext():
        config_of(tmp_path, **settings)


def test_of_several_messages_the_assistants_last_is_judged() -> None:
    turns = [{"role": "assistant", "content": "a"}, {"role": "tool", "content": "b"}]
    reward = Scored(lambda sample: 0.5)
    for messages in (turns, turns[:1], [*turns, {"role": "assistant", "content": "c"}]):
        assert reward(["?"], [messages]) == [0.5]
    assert [sample.completion for sample in reward.seen] == ["a", "a", "c"]
    with pytest.raises(ValueError, match="one of the assistant's"):
        reward(["?"], [turns[1:] * 2])


def test_each_setting_of_ours_is_explained_in_help() -> None:
    theirs = {setting.name for setting in fields(GRPOConfig)}
    ours = [setting for setting in fields(SpanGRPOConfig) if setting.name not in theirs]
    kinds: Any = [SpanGRPOConfig]
    shown = " ".join(TrlParser(kinds).format_help().split())
    assert "span_coef" in {setting.name for setting in ours}
    for setting in ours:
        text = setting.metadata.get("help", "")
        assert len(text.split()) > 5, setting.name
        assert text[:40] in shown, setting.name


# What must not change a step.


def test_shuffled_rows_have_the_same_advantages(make: Any) -> None:
    """Groups in another order, and the completions of each: every row keeps what it had."""
    texts = [f"A {WORDS[i % 5]} {' '.join(WORDS[: i % 4])}." for i in range(12)]
    rows = [i // 4 + 3 for i in range(12)]
    order = [10, 8, 11, 9, 1, 0, 3, 2, 5, 7, 4, 6]
    trainer = make(Scored(judge), per_device_train_batch_size=12, span_coef=0.5)
    ids = ids_of(trainer, texts)
    straight = score_ids(trainer, ids, rows)
    shuffled = score_ids(trainer, [ids[i] for i in order], [rows[i] for i in order])
    torch.testing.assert_close(shuffled["advantages"], straight["advantages"][order])
    assert straight["advantages"].std() > 0.1
    assert torch.equal(shuffled["completion_ids"], straight["completion_ids"][order])


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.usefixtures("given_completions")
def test_two_accumulated_halves_are_one_batch(make: Any, dynamic: bool) -> None:
    """2 x 8 = 1 x 16 completions a step: the same parameters after two steps."""
    settings = {"span_coef": 0.5, "optim": "sgd", "learning_rate": 1.0, "max_grad_norm": 0.0}
    after = []
    for passes in (1, 2):
        sizes = {"per_device_train_batch_size": 16 // passes, "gradient_accumulation_steps": passes}
        trainer = make(Scored(judge), dynamic_sampling=dynamic, **sizes, **settings)
        before = weights_of(trainer)
        trainer.train()
        assert trainer.state.global_step == 2
        after.append(weights_of(trainer))
    moved = (before - after[0]).abs().max().item()
    assert moved > 1e-3
    assert (after[0] - after[1]).abs().max().item() < 1e-5 * max(moved, 1)


# A setting that was set and cannot act.

ONE_UPDATE = "completions makes one update"
SHORT = {"gradient_accumulation_steps": 4, "steps_per_generation": 2}
SAPO = {"loss_type": "sapo", "num_iterations": 2}
MIXUP = {"sync_ref_model": True, "ref_model_mixup_alpha": 0.5}


@pytest.mark.parametrize(
    ("settings", "named", "cause"),
    [
        ({"epsilon_high": 0.28}, "epsilon_high=0.28", ONE_UPDATE),
        ({"epsilon": 0.1, "delta": 3.0}, "epsilon=0.1, delta=3.0", ONE_UPDATE),
        ({"epsilon": 0.1, **SHORT}, "epsilon=0.1", "gradient_accumulation_steps (4)"),
        ({"epsilon": 0.1, **SAPO}, "epsilon=0.1", "loss_type='sapo' clips no ratio"),
        ({"sync_ref_model": True}, "sync_ref_model=True", "beta=0"),
        (MIXUP, "sync_ref_model=True, ref_model_mixup_alpha=0.5", "beta=0"),
        ({"max_resamples": 9}, "max_resamples=9", "dynamic_sampling is off"),
        ({"vespo_k_pos": 3.0}, "vespo_k_pos=3.0", "this is 'dapo'"),
        # and what acts
        ({}, "", ""),
        ({"epsilon_high": 0.28, "steps_per_generation": 2}, "", ""),
        ({"epsilon_high": 0.28, "num_iterations": 2}, "", ""),
        ({"epsilon": 0.2}, "", ""),  # the default
        ({"beta": 0.04, "sync_ref_model": True}, "", ""),
        ({"dynamic_sampling": True, "max_resamples": 9, "dynamic_sampling_spread": 0.1}, "", ""),
        ({"loss_type": "sapo", "sapo_temperature_pos": 2.0}, "", ""),
    ],
)
def test_what_cannot_act_is_named_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, settings: Any, named: str, cause: str
) -> None:
    args = config_of(tmp_path, **settings)
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        warn_of_idle(args)
    assert len(caplog.messages) == bool(named)
    for warning in caplog.messages:
        assert warning.startswith(f"{named} cannot act: ")
        assert cause in warning
        assert warning.endswith(".")


@pytest.mark.parametrize(("rate", "times"), [(1e-6, "10"), (3e-7, "33.3"), (1e-5, ""), (0.0, "")])
def test_a_rate_too_small_for_adapters(
    rate: float, times: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    args = config_of(tmp_path, learning_rate=rate)
    with caplog.at_level(logging.WARNING):
        warn_of_small_rate(args)
    beginning = f"LoRA with learning_rate {rate:g}: {times} times less than the 1e-05"
    assert caplog.text.count(beginning) == len(caplog.records) == (times != "")


@pytest.mark.parametrize("adapter", [True, False])
def test_the_trainer_says_it(make: Any, adapter: bool, caplog: pytest.LogCaptureFixture) -> None:
    options = {"peft_config": LoraConfig(target_modules="all-linear")} if adapter else {}
    with caplog.at_level(logging.WARNING):
        make(Scored(lambda sample: 1.0), epsilon_high=0.28, learning_rate=1e-6, **options)
    assert caplog.text.count("epsilon_high=0.28 cannot act") == 1
    assert caplog.text.count("LoRA with learning_rate 1e-06: 10 times less") == adapter
