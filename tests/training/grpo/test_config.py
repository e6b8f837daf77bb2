"""TRL's options with advantages of tokens: what each does to a token's gradient, that it trains or
is refused.
"""

import math
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from peft import LoraConfig
from trl import GRPOConfig, GRPOTrainer, TrlParser

from spanreward.rewards import Status, Verdict
from spanreward.training.grpo.trainer import NothingScored, SpanGRPOConfig
from tests.support.given_ranks import given, judge
from tests.support.tiny_trainer import Scored, make_trainer, scenes

LORA = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
ADVANTAGES = torch.tensor([[1.0, -1.0, 2.0, 0.0], [-0.5, 0.5, 1.0, 3.0]])
MASK = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])


def gradients(
    trainer: GRPOTrainer, ratios: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> torch.Tensor:
    """How TRL's loss on ADVANTAGES moves each token's log-probability, which was sampled at 1 /
    ratio of its own.
    """
    logps = torch.zeros_like(ADVANTAGES, requires_grad=True)
    entropies = torch.zeros_like(ADVANTAGES)
    monkeypatch.setattr(
        trainer, "_get_per_token_logps_and_entropies", lambda *_, **__: (logps, entropies, None)
    )
    trainer.current_gradient_accumulation_steps = 1
    inputs = {name: torch.ones(2, 1, dtype=torch.long) for name in ("prompt_ids", "prompt_mask")}
    inputs |= {
        "completion_ids": torch.ones_like(MASK),
        "completion_mask": MASK,
        "advantages": ADVANTAGES,
    }
    inputs |= {"old_per_token_logps": -ratios.log(), "num_items_in_batch": MASK.sum()}
    trainer.model.train()
    trainer.compute_loss(trainer.model, inputs).backward()
    assert logps.grad is not None
    return -logps.grad


def trainer_with(path: Path, **settings: Any) -> GRPOTrainer:
    return make_trainer(path, scenes(), [Scored(judge)], **settings)


def test_the_token_level_loss_weighs_every_token_of_the_batch_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ones = torch.ones_like(ADVANTAGES)
    dapo = gradients(trainer_with(tmp_path / "a", span_coef=0.5), ones, monkeypatch)
    torch.testing.assert_close(dapo, ADVANTAGES * MASK / 6)
    grpo = gradients(
        trainer_with(tmp_path / "b", span_coef=0.5, loss_type="grpo"), ones, monkeypatch
    )
    torch.testing.assert_close(grpo, ADVANTAGES * MASK / torch.tensor([[4], [2]]) / 2)


def test_clip_higher_leaves_room_upwards_token_by_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = trainer_with(tmp_path, span_coef=0.5, epsilon=0.2, epsilon_high=0.28)
    ratios = torch.tensor([[1.25, 1.25, 1.3, 1.0], [0.75, 0.75, 1.0, 1.0]])
    passed = torch.tensor([[1, 1, 0, 1], [0, 1, 0, 0]])  # rising: below 1.28; falling: above 0.8
    torch.testing.assert_close(
        gradients(trainer, ratios, monkeypatch), ADVANTAGES * ratios * passed / 6
    )


def test_one_ratio_for_a_sequence_moves_its_tokens_alike_in_trl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Why spans are refused there: every token gets its row's mean advantage, but for CISPO."""
    ones = torch.ones_like(ADVANTAGES)
    level = {"importance_sampling_level": "sequence"}
    moved = gradients(trainer_with(tmp_path / "a", **level), ones, monkeypatch)
    mean = (ADVANTAGES * MASK).sum(dim=1, keepdim=True) / MASK.sum(dim=1, keepdim=True)
    torch.testing.assert_close(moved, mean * MASK / 6)
    settings = {**level, "loss_type": "cispo", "epsilon_high": 5.0, "span_coef": 0.5}
    moved = gradients(trainer_with(tmp_path / "b", **settings), ones, monkeypatch)
    torch.testing.assert_close(moved, ADVANTAGES * MASK / 6)


@pytest.mark.parametrize(
    "settings",
    [
        {
            "epsilon_high": 0.28,
            "num_iterations": 2,
            "steps_per_generation": 2,
            "per_device_train_batch_size": 4,
        },
        {"num_iterations": 2, "delta": 1.5},
        {"gradient_accumulation_steps": 2, "per_device_train_batch_size": 4},
        {"mask_truncated_completions": True, "soft_overlong_cache": 8},
        {"peft_config": LORA, "beta": 0.1},
        {"importance_sampling_level": "sequence", "loss_type": "cispo", "epsilon_high": 5.0},
        {"loss_type": "grpo", "scale_rewards": "batch"},
        {"loss_type": "dr_grpo", "scale_rewards": "none"},
        {"loss_type": "bnpo"},
        {"loss_type": "luspo", "entropy_coef": 0.01},
        {"loss_type": "sapo", "multi_objective_aggregation": "normalize_then_sum"},
    ],
    ids=lambda settings: " ".join(settings),
)
def test_options_train_and_spans_count_in_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    """Two steps on given completions with and without spans: finite losses, and parameters that
    differ.
    """
    monkeypatch.setattr(GRPOTrainer, "_generate_single_turn", given)
    after = []
    for coefficient in (0.0, 0.5):
        trainer = trainer_with(
            tmp_path / str(coefficient), span_coef=coefficient, dynamic_sampling=True, **settings
        )
        trainer.train()
        losses = [line["loss"] for line in trainer.state.log_history if "loss" in line]
        assert len(losses) == 2
        assert all(map(math.isfinite, losses))
        after.append(
            torch.cat([p.detach().flatten() for p in trainer.model.parameters() if p.requires_grad])
        )
    assert torch.isfinite(after[1]).all()
    assert (after[0] - after[1]).abs().max() > 1e-5


def test_the_overlong_punishment_falls_linearly_within_its_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equation 13 of DAPO at a limit of 12 tokens and a cache of 8: nothing up to 4, then 1/8 a
    token.
    """
    trainer = trainer_with(
        tmp_path, soft_overlong_cache=8, soft_overlong_size=1.0, max_completion_length=12
    )
    tokenizer = trainer.processing_class.tokenizer
    texts = ["A red star.", "A", "A red circle in the center left", "A square and a red star."] * 2
    ids = [tokenizer(text)["input_ids"] + [tokenizer.eos_token_id] for text in texts]
    monkeypatch.setattr(trainer, "_generate_single_turn", lambda *_, **__: (ids, None))
    trainer.model.train()
    trainer._generate_and_score_completions([trainer.train_dataset[1]] * 8)
    expected = [-max(len(row) - 4, 0) / 8 for row in ids]
    assert len(set(expected)) > 2
    assert list(trainer._logs["rewards"]["soft_overlong_punishment_reward"]) == expected
    assert trainer.reward_weights.tolist() == [1.0, 1.0]


def test_a_weight_of_its_own_keeps_the_rewards_weights(tmp_path: Path) -> None:
    args: dict[str, Any] = {"soft_overlong_cache": 8, "reward_weights": [0.25]}
    trainer = trainer_with(tmp_path, **args)
    assert trainer.reward_weights.tolist() == [0.25, 1.0]
    trainer = trainer_with(tmp_path, **args, soft_overlong_size=0.1)
    assert trainer.reward_weights.tolist() == pytest.approx([0.25, 0.1])


@pytest.mark.parametrize("status", [Status.NOT_APPLICABLE, Status.ERROR])
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_batch_without_any_reward_moves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: Status, dynamic: bool
) -> None:
    monkeypatch.setattr(GRPOTrainer, "_generate_single_turn", given)
    settings: dict[str, Any] = {
        "span_coef": 0.5,
        "max_failed_fraction": 1.0,
        "dynamic_sampling": dynamic,
    }
    trainer = make_trainer(
        tmp_path, scenes(), [Scored(lambda _: Verdict(None, status))], **settings
    )
    before = [parameter.detach().clone() for parameter in trainer.model.parameters()]
    with pytest.raises(NothingScored) if status is Status.NOT_APPLICABLE else nullcontext():
        trainer.train()
    for expected, actual in zip(before, trainer.model.parameters(), strict=True):
        assert torch.equal(actual, expected)


def test_a_batch_of_truncated_completions_moves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(trainer: Any, *args: Any, **kwargs: Any) -> tuple[list[list[int]], None]:
        ids, _ = given(trainer, *args, **kwargs)
        return [row[:-1] for row in ids], None

    monkeypatch.setattr(GRPOTrainer, "_generate_single_turn", endless)
    trainer = trainer_with(tmp_path, span_coef=0.5, mask_truncated_completions=True)
    before = [parameter.detach().clone() for parameter in trainer.model.parameters()]
    trainer.train()
    for expected, actual in zip(before, trainer.model.parameters(), strict=True):
        assert torch.equal(actual, expected)


def test_sequence_ratios_without_spans_are_trls_own_matter(tmp_path: Path) -> None:
    SpanGRPOConfig(
        output_dir=str(tmp_path), use_cpu=True, bf16=False, importance_sampling_level="sequence"
    )
    SpanGRPOConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False, loss_type="vespo")


def a_tool(word: str) -> str:
    """Looks a word up.

    Args:
        word: what to look up.
    """
    return word


@pytest.mark.parametrize(
    ("parts", "settings", "message"),
    [
        ({"tools": [a_tool]}, {"dynamic_sampling": True}, "and tools makes several"),
        ({"environment_factory": object}, {"dynamic_sampling": True}, "environment_factory makes"),
        ({"rollout_func": a_tool}, {"span_coef": 0.5}, "span_coef=0.5 needs tokens"),
        ({"rollout_func": a_tool}, {"dynamic_sampling": True}, "and rollout_func makes several"),
    ],
)
def test_completions_of_several_turns_are_refused(
    tmp_path: Path, parts: dict[str, Any], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make_trainer(tmp_path, scenes(), [Scored(judge)], **parts, **settings)


def length(completions: list[Any], **columns: Any) -> list[float]:
    return [1.0] * len(completions)


def test_data_of_which_no_batch_can_be_made_is_refused(tmp_path: Path) -> None:
    empty: Dataset = scenes().select([])
    streamed: Any = scenes().with_format(None).to_iterable_dataset()
    for data, reward, settings, told in (
        (empty, Scored(judge), {}, "has 0 rows, .* 2 prompts"),
        (scenes(1), Scored(judge), {}, "has 1 rows, .* 2 prompts .*8 / num_generations 4"),
        (streamed, Scored(judge), {"dynamic_sampling": True}, "dynamic_sampling .* streamed"),
        (scenes(), length, {"dynamic_sampling": True}, "dynamic_sampling .* of a Reward"),
    ):
        with pytest.raises(ValueError, match=told):
            make_trainer(tmp_path, data, [reward], **settings)


def test_of_several_messages_the_assistants_last_is_judged() -> None:
    turns = [{"role": "assistant", "content": "a"}, {"role": "tool", "content": "b"}]
    reward = Scored(lambda sample: 0.5)
    for messages in (turns, turns[:1], [*turns, {"role": "assistant", "content": "c"}]):
        assert reward(["?"], [messages]) == [0.5]
    assert [sample.completion for sample in reward.seen] == ["a", "a", "c"]
    with pytest.raises(ValueError, match="one of the assistant's"):
        reward(["?"], [turns[1:] * 2])


def test_each_setting_of_ours_is_explained_in_help() -> None:
    ours = {setting.name: setting for setting in fields(SpanGRPOConfig)}
    for setting in fields(GRPOConfig):
        del ours[setting.name]
    kinds: Any = [SpanGRPOConfig]
    shown = " ".join(TrlParser(kinds).format_help().split())
    assert "span_coef" in ours
    for name, setting in ours.items():
        text = setting.metadata.get("help", "")
        assert len(text.split()) > 5, name
        assert text[:40] in shown, name
