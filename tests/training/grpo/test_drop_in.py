"""SpanGRPOTrainer in the place of TRL's GRPOTrainer: the same arguments in the same order, and what
is said instead.
"""

import logging
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset, DatasetDict
from peft import LoraConfig
from trl import GRPOConfig, GRPOTrainer

from experiments.scenes.parts import TINY
from spanreward.rewards import LaveReward, MatchJudge, PoshReward, Span, Verdict
from spanreward.training.grpo.config import SpanGRPOConfig, read_config
from spanreward.training.grpo.trainer import SpanGRPOTrainer
from spanreward.training.policy import load_policy
from tests.support.tiny_trainer import COMMON, Scored, Scripted, advantages_of, make_trainer, scenes


def of_length(completions: list[Any], **_: Any) -> list[float]:
    return [float(len(completion[0]["content"])) for completion in completions]


def test_arguments_in_trls_order_and_its_own_config(tmp_path: Path) -> None:
    model, processor = load_policy(TINY, seed=1)
    stock = GRPOConfig(str(tmp_path), **{**COMMON, "max_steps": 1})
    read = read_config(stock, model)
    assert vars(read) == vars(stock) | {
        name: value for name, value in vars(read).items() if name not in vars(stock)
    }
    trainer = SpanGRPOTrainer(model, of_length, stock, scenes(), None, processor)
    trainer.train()
    assert isinstance(trainer.args, SpanGRPOConfig)
    assert (
        trainer.args.span_coef,
        trainer.args.dynamic_sampling,
        trainer.args.soft_overlong_cache,
    ) == (
        0.0,
        False,
        None,
    )
    assert trainer.recorders == []
    assert not [
        key
        for line in trainer.state.log_history
        for key in line
        if key.startswith(("judge/", "spans/"))
    ]


def test_trls_own_config_has_no_spans_and_that_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model, processor = load_policy(TINY, seed=1)
    processor.tokenizer.padding_side = "left"
    parts = {"train_dataset": scenes(), "processing_class": processor}
    with caplog.at_level(logging.WARNING, "spanreward.training.grpo.config"):
        SpanGRPOTrainer(
            model, PoshReward(MatchJudge()), SpanGRPOConfig(str(tmp_path), **COMMON), **parts
        )
        assert caplog.messages == []
        SpanGRPOTrainer(
            model, PoshReward(MatchJudge()), GRPOConfig(str(tmp_path), **COMMON), **parts
        )
    (message,) = caplog.messages
    assert message.startswith("args is a GRPOConfig, ")
    assert "SpanGRPOConfig(..., span_coef=0.5)" in message


def test_without_settings_the_folder_is_trls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "spanreward.training.grpo.config.SpanGRPOConfig.__post_init__", lambda self: None
    )
    model, _ = load_policy(TINY, seed=1)
    model.config._name_or_path = "someone/policy"
    assert (
        read_config(None, model).output_dir
        == read_config(None, "someone/policy").output_dir
        == "policy-GRPO"
    )


def test_no_reward_at_all_is_trls_error(tmp_path: Path) -> None:
    model, processor = load_policy(TINY, seed=1)
    with pytest.raises(ValueError, match="No reward source provided"):
        SpanGRPOTrainer(
            model,
            args=SpanGRPOConfig(str(tmp_path), **COMMON),
            train_dataset=scenes(),
            processing_class=processor,
        )


@pytest.mark.parametrize("kind", [GRPOTrainer, SpanGRPOTrainer])
def test_what_is_no_dataset_of_rows_is_trls_error(tmp_path: Path, kind: type[GRPOTrainer]) -> None:
    model, processor = load_policy(TINY, seed=1)
    splits = DatasetDict({"train": scenes()})  # one split, where a batch takes two prompts
    with pytest.raises(
        TypeError, match="must be a `Dataset` or `IterableDataset`, got `DatasetDict`"
    ):
        kind(
            model,
            of_length,
            GRPOConfig(str(tmp_path), **COMMON),
            splits,
            processing_class=processor,
        )


@pytest.mark.parametrize("part", ["train_dataset", "eval_dataset", "eval_dataset['new']"])
def test_a_missing_column_is_told_before_anything_is_sampled(tmp_path: Path, part: str) -> None:
    model, processor = load_policy(TINY, seed=1)
    whole, lacking = scenes(), scenes().remove_columns("reference")
    parts: dict[str, Any] = {"train_dataset": whole, "eval_dataset": lacking}
    if part == "train_dataset":
        parts = {"train_dataset": lacking}
    elif "new" in part:
        parts["eval_dataset"] = {"new": lacking}
    with pytest.raises(ValueError, match=r"the dataset column 'reference'") as raised:
        SpanGRPOTrainer(
            model,
            PoshReward(MatchJudge()),
            SpanGRPOConfig(str(tmp_path), **COMMON),
            processing_class=processor,
            **parts,
        )
    assert f"{part} has ['context', " in str(raised.value)


def test_weights_are_counted_without_what_the_user_did_not_pass(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError,
        match=r"reward_weights has 2 numbers .* 1 reward functions",
    ):
        make_trainer(
            tmp_path, scenes(), [of_length], reward_weights=[1.0, 2.0], soft_overlong_cache=8
        )


@dataclass
class Weighted:
    """A callable without a hash, as a dataclass is."""

    weight: float

    def __call__(self, completions: list[Any], **_: Any) -> list[float]:
        return [self.weight * length for length in of_length(completions)]


def test_a_callable_without_a_hash_is_a_reward(tmp_path: Path) -> None:
    logs = []
    for stock in (True, False):
        trainer = make_trainer(tmp_path / str(stock), scenes(), [Weighted(0.01)], stock=stock)
        trainer.train()
        logs.append([line["loss"] for line in trainer.state.log_history if "loss" in line])
    assert logs[0] == logs[1]
    assert len(logs[0]) == 2


def test_rewards_without_a_judge_log_no_judge(tmp_path: Path) -> None:
    trainer = make_trainer(tmp_path / "a", scenes(), [Scored(lambda sample: 0.5)], max_steps=1)
    trainer.train()
    keys = {key for line in trainer.state.log_history for key in line if key.startswith("judge/")}
    assert keys == {"judge/failed_fraction"}
    trainer = make_trainer(tmp_path / "b", scenes(), [PoshReward(MatchJudge())], max_steps=1)
    trainer.train()
    assert "judge/questions" in {key for line in trainer.state.log_history for key in line}


def test_spans_that_reach_no_completion_are_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    dataset: Dataset = scenes()
    spans = (Span(2, 5, 1.0, 0.1, "attribute", "", 0), Span(6, 10, 1.0, 0.1, "entity", "", 1))
    trainer = make_trainer(
        tmp_path, dataset, [Scripted({"A red star.": Verdict(0.5, spans=spans)})], span_coef=0.5
    )
    with caplog.at_level(logging.WARNING, "spanreward.training.grpo.span_credit"):
        advantages_of(trainer, dataset, ["A red star."] * 8, monkeypatch)
        assert caplog.messages == []
        for _ in range(2):
            advantages_of(trainer, dataset, ["A red star."] * 8, monkeypatch, end=False)
    assert len(caplog.messages) == 1
    assert re.search("no completion .*span credit: .* cut at 24 tokens", caplog.messages[0])
    assert trainer._metrics["train"]["spans/rows_without_credit"] == [0.0, 1.0, 1.0]


def test_lave_needs_its_columns_too(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"lave needs .* 'question', and train_dataset has"):
        make_trainer(tmp_path, scenes(), [LaveReward(MatchJudge(), rationale=False)])


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


@pytest.mark.parametrize(
    ("funcs", "settings", "parts"),
    [
        (of_length, {}, {}),
        ([of_length, of_words], {"reward_weights": [0.5, 2.0]}, {}),
        ([of_words], {"loss_type": "grpo", "scale_rewards": "batch"}, {}),
        (
            of_length,
            {"num_iterations": 2, "steps_per_generation": 2, "per_device_train_batch_size": 4},
            {},
        ),
        (of_length, {"mask_truncated_completions": True, "loss_type": "dr_grpo"}, {}),
        (
            of_length,
            {"off_policy_mask_threshold": 0.5, "importance_sampling_level": "sequence"},
            {},
        ),
        (of_length, {"loss_type": "vespo"}, {}),
        (of_length, {"top_entropy_quantile": 0.5, "gradient_accumulation_steps": 2}, {}),
        (of_length, {"loss_type": "bnpo", "top_entropy_quantile": 0.2, "num_iterations": 3}, {}),
        (
            of_length,
            {"loss_type": "luspo", "per_device_train_batch_size": 4, "steps_per_generation": 4},
            {},
        ),
        (of_length, {"loss_type": "cispo", "epsilon_high": 5.0, "num_iterations": 3}, {}),
        (of_length, {"loss_type": "sapo", "num_iterations": 2}, {}),
        (of_length, {"multi_objective_aggregation": "normalize_then_sum"}, {}),
        (of_length, {"eval_strategy": "steps", "eval_steps": 1}, {"eval_dataset": "scenes"}),
        (None, {}, {"environment_factory": Room}),
        ([of_length], {}, {"environment_factory": Room}),
        (
            of_length,
            {"beta": 0.1},
            {"peft_config": LoraConfig(r=4, target_modules=["q_proj"], task_type="CAUSAL_LM")},
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else None,
)
def test_with_trls_arguments_it_is_trls_trainer(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    funcs: Any,
    settings: dict[str, Any],
    parts: dict[str, Any],
) -> None:
    """Bit for bit: the weights after two steps, and every number of the log but times."""
    monkeypatch.setattr("trl.trainer.grpo_trainer.supports_tool_calling", lambda _: True)
    parts = {**parts, **({"eval_dataset": scenes(8)} if "eval_dataset" in parts else {})}
    stock = trained(GRPOTrainer, tmp_path / "stock", funcs, settings, **parts)
    ours = trained(SpanGRPOTrainer, tmp_path / "ours", funcs, settings, **parts)
    for expected, actual in zip(stock.model.parameters(), ours.model.parameters(), strict=True):
        assert torch.equal(actual, expected)
    times = re.compile("time|runtime|per_second")
    logs = [
        [
            {key: value for key, value in line.items() if not times.search(key)}
            for line in trainer.state.log_history
        ]
        for trainer in (stock, ours)
    ]
    assert str(logs[1]) == str(logs[0])
    assert len(logs[0]) > 2
