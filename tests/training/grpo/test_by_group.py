"""Span credit of one group: the trainer's for such a batch, and carried by TRL's async parts."""

import asyncio
import runpy
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import trl.trainer
from trl.experimental import async_grpo
from trl.experimental.async_grpo.async_grpo_trainer import DataCollatorForRollout
from trl.experimental.async_grpo.async_rollout_worker import (
    AsyncRolloutWorker,
    RolloutGroup,
    TrainingSequence,
)
from trl.experimental.async_grpo.packing import TreeRow

from spanreward.rewards import MatchJudge, PoshReward
from spanreward.rewards.base.verdict import Verdict
from spanreward.training.grpo.by_group import group_advantages
from spanreward.training.grpo.recorder import Recorder
from tests.support.batches import ids_of, score_ids
from tests.support.paths import ROOT
from tests.support.tokenizer import tokenizer

TEXTS = ["A red circle is above a blue square.", "A blue square."]
TEXTS += ["A green star and a red circle.", "Nothing."]


def test_a_batch_of_one_group_has_the_trainers_advantages(make: Any) -> None:
    settings = {"per_device_train_batch_size": 4, "max_completion_length": 64}
    trainer = make(PoshReward(MatchJudge()), span_coef=0.5, **settings)
    ids = ids_of(trainer, TEXTS)
    ids[1].pop()  # as if it had been cut
    output = score_ids(trainer, ids)
    (recorder,) = trainer.recorders
    texts = [sample.completion for sample in recorder.samples]
    encode = trainer.processing_class.tokenizer.backend_tokenizer
    finished = [True, False, True, True]
    advantages = group_advantages(
        recorder.verdicts, texts, ids, finished, encode, recorder.advantages, 0.5
    )
    assert [len(row) for row in advantages] == list(map(len, ids))
    for row, own in enumerate(advantages):
        assert own == pytest.approx(output["advantages"][row, : len(own)].tolist(), abs=1e-6)
    assert len(set(advantages[0])) > 2
    assert len(set(advantages[1])) == 1


def test_without_spans_all_tokens_have_the_scalar() -> None:
    encode = tokenizer().backend_tokenizer
    judged = PoshReward(MatchJudge())
    samples = judged.read_samples([""] * 2, ["red", ""], reference=["A red dog."] * 2)
    ids = [encode.encode("red", add_special_tokens=False).ids, []]
    batch = judged.assess(samples), ["red", ""], ids, [True, True]
    expected = [[1.5] * len(ids[0]), []]
    assert group_advantages(*batch, encode, [1.5, -1.5], 0.0) == expected


@pytest.mark.parametrize("count", [0, 2])
def test_a_group_without_tokens_has_no_advantages(count: int) -> None:
    ids: list[list[int]] = [[] for _ in range(count)]
    nothing = [Verdict(0.0)] * count, [""] * count, ids, [True] * count
    encode = tokenizer().backend_tokenizer
    assert group_advantages(*nothing, encode, [0.0] * count, 0.5) == [[]] * count


def script() -> Any:
    return SimpleNamespace(**runpy.run_path(str(ROOT / "docs/other_trainers/trl_async.py")))


def as_in_trl_1_18(monkeypatch: pytest.MonkeyPatch, **loops: Any) -> None:
    """The stable trainer's names, which stand for 1.16's classes."""
    parts = ModuleType("trl.trainer.async_grpo_trainer")
    vars(parts).update(loops)
    monkeypatch.setitem(sys.modules, parts.__name__, parts)
    monkeypatch.setattr(trl.trainer, "async_grpo_trainer", parts, raising=False)
    for name in ("AsyncGRPOConfig", "AsyncGRPOTrainer"):
        monkeypatch.setattr(trl, name, getattr(async_grpo, name), raising=False)


class Renamed:
    """A loop that scores by another name."""


@pytest.mark.parametrize(
    ("loops", "lacks"),
    [
        ({"AsyncRolloutLoop": Renamed}, "Renamed'> of TRL .* has no _score_group"),
        ({}, r"async_grpo_trainer of TRL .* no single rollout loop, but \[\]"),
        ({"ARolloutLoop": Renamed, "BRolloutLoop": Renamed}, r"\['ARolloutLoop', 'BRolloutLoop'\]"),
    ],
)
def test_a_trl_that_lacks_a_part(monkeypatch: pytest.MonkeyPatch, loops: Any, lacks: str) -> None:
    as_in_trl_1_18(monkeypatch, **loops)
    with pytest.raises(ImportError, match=lacks):
        script()


@pytest.mark.parametrize("stable", [False, True])
def test_trls_async_parts_carry_them(monkeypatch: pytest.MonkeyPatch, stable: bool) -> None:
    """What a CPU can run of TRL's async trainer: scoring a group, packing and collating it."""
    if stable:
        as_in_trl_1_18(monkeypatch, AsyncRolloutLoop=AsyncRolloutWorker._loop_cls)
    module = script()
    tokens = tokenizer()
    prompt = tokens("Describe it.")["input_ids"]
    ids = [[*tokens(text)["input_ids"], tokens.eos_token_id] for text in TEXTS]
    sequences = []
    for number, own in enumerate(ids):
        mask = [0] * len(prompt) + [1] * len(own)
        sequences.append([TrainingSequence([*prompt, *own], mask, [0.0] * len(mask), str(number))])
    group = RolloutGroup(
        prompts=[[{"role": "user", "content": "Describe it."}]] * 4,
        reward_kwargs={"reference": ["A red circle is above a blue square."] * 4},
        completions=[[{"role": "assistant", "content": text}] for text in TEXTS],
        completions_ids=ids, completions_sequences=sequences,
        tool_call_counts=[0] * 4, tool_failure_counts=[0] * 4, model_version=0, group_id=0,
        env_rewards=[None] * 4, rollout_rewards=[None] * 4,
    )  # fmt: skip
    loop = object.__new__(module.SpanLoop)
    recorder = Recorder(PoshReward(MatchJudge()))
    loop.reward_funcs, loop.reward_func_names, loop._env_reward_types = [recorder], ["posh"], []
    loop.tokenizer, loop.eos_token_ids = tokens, [tokens.eos_token_id]
    samples = asyncio.run(loop._score_group(group))
    row = TreeRow()
    names = ("input_ids", "completion_mask", "old_log_probs", "advantage", "group_id", "metrics")
    expected, scalars = [], []
    for sample in samples:
        row.add({name: getattr(sample, name) for name in names})
        expected += sample.metrics[module.KEY]
        scalars += [sample.advantage] * int(sample.completion_mask.sum())
    collate = DataCollatorForRollout(tokens.eos_token_id)
    batch = module.by_token(collate)([[row]])
    assert batch["advantages"][0].tolist() == pytest.approx(expected)
    assert batch["advantages"].shape == batch["old_log_probs"].shape
    assert np.abs(np.subtract(expected, scalars)).max() > 0.1
    kept = {"reward", "reward_std", "rewards/posh"}
    assert all(set(sample.metrics) == kept for sample in samples)
    assert torch.isfinite(batch["advantages"]).all()
