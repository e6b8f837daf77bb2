"""SpanGRPOTrainer in the place of TRL's GRPOTrainer: the same arguments, the same numbers."""

import logging
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import DatasetDict
from peft import LoraConfig
from trl import GRPOConfig, GRPOTrainer

from experiments.scenes.parts import TINY
from spanreward.rewards import PoshReward, Span, Verdict
from spanreward.training.grpo.config import SpanGRPOConfig, read_config
from spanreward.training.grpo.trainer import SpanGRPOTrainer
from spanreward.training.policy import load_policy
from tests.support.batches import batch_of, config_of, weights_of
from tests.support.tiny_trainer import COMMON, Scored, Scripted, scenes


def of_length(completions: list[Any], **_: Any) -> list[float]:
    return [float(len(completion[0]["content"])) for completion in completions]


def test_arguments_in_trls_order_and_its_own_config(tmp_path: Path) -> None:
    model, processor = load_policy(TINY, seed=1)
    stock = GRPOConfig(str(tmp_path), **COMMON)
    assert vars(stock).items() <= vars(read_config(stock, model)).items()
    trainer = SpanGRPOTrainer(model, of_length, stock, scenes(), None, processor)
    args = trainer.args
    assert isinstance(args, SpanGRPOConfig)
    assert (args.span_coef, args.dynamic_sampling, args.soft_overlong_cache) == (0.0, False, None)
    assert trainer.recorders == []


def test_trls_own_config_has_no_spans(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    model, processor = load_policy(TINY, seed=1)
    processor.tokenizer.padding_side = "left"
    with caplog.at_level(logging.WARNING, "spanreward.training.grpo.config"):
        for kind in (SpanGRPOConfig, GRPOConfig):
            assert caplog.messages == []
            args = kind(str(tmp_path), **COMMON)
            SpanGRPOTrainer(model, PoshReward("match"), args, scenes(), processing_class=processor)
    (message,) = caplog.messages
    assert message.startswith("args is a GRPOConfig, ")
    assert "SpanGRPOConfig(..., span_coef=0.5)" in message


def test_without_settings_the_folder_is_trls(monkeypatch: pytest.MonkeyPatch) -> None:
    config = "spanreward.training.grpo.config.SpanGRPOConfig"
    monkeypatch.setattr(f"{config}.__post_init__", lambda self: None)
    model, _ = load_policy(TINY, seed=1)
    model.config._name_or_path = "someone/policy"
    for policy in (model, "someone/policy"):
        assert read_config(None, policy).output_dir == "policy-GRPO"


def splits() -> DatasetDict:
    return DatasetDict({"train": scenes()})


@pytest.mark.parametrize(
    ("rewards", "data", "error", "said"),
    [
        (None, scenes, ValueError, "No reward source provided"),
        # of one split, where a batch takes two prompts
        (of_length, splits, TypeError, "`Dataset` or `IterableDataset`, got `DatasetDict`"),
    ],
)
def test_what_trl_refuses_is_trls_error(
    tmp_path: Path, rewards: Any, data: Any, error: type[Exception], said: str
) -> None:
    model, processor = load_policy(TINY, seed=1)
    with pytest.raises(error, match=said):
        SpanGRPOTrainer(model, rewards, config_of(tmp_path), data(), processing_class=processor)


@dataclass
class Weighted:
    """A callable without a hash, as a dataclass is."""

    weight: float

    def __call__(self, completions: list[Any], **_: Any) -> list[float]:
        return [self.weight * length for length in of_length(completions)]


def test_rewards_without_a_judge_log_no_judge(make: Any) -> None:
    found = []
    for reward in (Scored(lambda sample: 0.5), PoshReward("match")):
        trainer = make(reward, max_steps=1)
        trainer.train()
        keys = {key for line in trainer.state.log_history for key in line}
        found.append({key for key in keys if key.startswith("judge/")})
    assert found[0] == {"judge/failed_fraction"}
    assert "judge/questions" in found[1]


def test_spans_that_reach_nothing_are_told(make: Any, caplog: pytest.LogCaptureFixture) -> None:
    spans = (Span(2, 5, 1.0, 0.1, "attribute", "", 0), Span(6, 10, 1.0, 0.1, "entity", "", 1))
    trainer = make(Scripted({"A red star.": Verdict(0.5, spans=spans)}), span_coef=0.5)
    with caplog.at_level(logging.WARNING, "spanreward.training.grpo.span_credit"):
        batch_of(trainer, ["A red star."] * 8)
        assert caplog.messages == []
        for _ in range(2):
            batch_of(trainer, ["A red star."] * 8, end=False)
    (message,) = caplog.messages
    assert re.search("no completion .*span credit: .* cut at 24 tokens", message)
    assert trainer._metrics["train"]["spans/rows_without_credit"] == [0.0, 1.0, 1.0]


class Room:
    """An environment that owns its reward, and offers no tool."""

    def reset(self, **row: Any) -> None:
        return None

    def get_reward(self) -> float:
        return 0.25


async def of_words(completions: list[Any], **_: Any) -> list[float | None]:
    """An asynchronous reward that does not apply to short completions."""
    texts = [completion[0]["content"] for completion in completions]
    return [float(len(text.split())) if len(text) > 20 else None for text in texts]


def trained(
    kind: type[GRPOTrainer], path: Path, funcs: Any, settings: dict[str, Any], **parts: Any
) -> Any:
    """A trainer with TRL's own arguments, after two steps."""
    model, processor = load_policy(TINY, seed=1)
    args = GRPOConfig(str(path), **{**COMMON, **settings})
    # TRL puts what an environment gives into the list
    funcs = list(funcs) if isinstance(funcs, list) else funcs
    trainer = kind(model, funcs, args, scenes(), processing_class=processor, **parts)
    trainer.train()
    return trainer


FOUR = {"per_device_train_batch_size": 4}
SEQUENCE = {"importance_sampling_level": "sequence"}
LORA = LoraConfig(r=4, target_modules=["q_proj"], task_type="CAUSAL_LM")


@pytest.mark.parametrize(
    ("funcs", "settings", "parts"),
    [
        (of_length, {}, {}),
        (Weighted(0.01), {}, {}),
        ([of_length, of_words], {"reward_weights": [0.5, 2.0]}, {}),
        ([of_words], {"loss_type": "grpo", "scale_rewards": "batch"}, {}),
        (of_length, {"num_iterations": 2, "steps_per_generation": 2, **FOUR}, {}),
        (of_length, {"mask_truncated_completions": True, "loss_type": "dr_grpo"}, {}),
        (of_length, {"off_policy_mask_threshold": 0.5, **SEQUENCE}, {}),
        (of_length, {"loss_type": "vespo"}, {}),
        (of_length, {"top_entropy_quantile": 0.5, "gradient_accumulation_steps": 2}, {}),
        (of_length, {"loss_type": "bnpo", "top_entropy_quantile": 0.2, "num_iterations": 3}, {}),
        (of_length, {"loss_type": "luspo", "steps_per_generation": 4, **FOUR}, {}),
        (of_length, {"loss_type": "cispo", "epsilon_high": 5.0, "num_iterations": 3}, {}),
        (of_length, {"loss_type": "sapo", "num_iterations": 2}, {}),
        (of_length, {"multi_objective_aggregation": "normalize_then_sum"}, {}),
        (of_length, {"eval_strategy": "steps", "eval_steps": 1}, {"eval_dataset": "scenes"}),
        (None, {}, {"environment_factory": Room}),
        ([of_length], {}, {"environment_factory": Room}),
        (of_length, {"beta": 0.1}, {"peft_config": LORA}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else None,
)
def test_with_trls_arguments_it_is_trls_trainer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, funcs: Any, settings: Any, parts: Any
) -> None:
    """Bit for bit: the weights after two steps, and every number of the log but times."""
    monkeypatch.setattr("trl.trainer.grpo_trainer.supports_tool_calling", lambda _: True)
    parts = {**parts, **({"eval_dataset": scenes(8)} if "eval_dataset" in parts else {})}
    stock = trained(GRPOTrainer, tmp_path / "stock", funcs, settings, **parts)
    ours = trained(SpanGRPOTrainer, tmp_path / "ours", funcs, settings, **parts)
    assert torch.equal(weights_of(ours), weights_of(stock))
    expected, actual = untimed(stock), untimed(ours)
    assert str(actual) == str(expected)
    assert len(expected) > 2


def untimed(trainer: Any) -> list[dict[str, Any]]:
    times = re.compile("time|runtime|per_second")
    lines = []
    for line in trainer.state.log_history:
        lines.append({key: value for key, value in line.items() if not times.search(key)})
    return lines
