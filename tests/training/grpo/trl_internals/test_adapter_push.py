"""An adapter's frozen base is bit-equal after fifty pushes to vLLM, and vLLM gets what TRL would
give it.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from peft import LoraConfig
from transformers import LlamaForCausalLM

from experiments.benchmark.adapters import policy
from spanreward.training.grpo.trl_internals.adapter_push import keep_base, merged_parameters
from tests.support.tiny_trainer import Scored, make_trainer, scenes

PUSHES = 50
RATE = 1e-4  # what Adam moves a weight in a step


def generation(dtype: torch.dtype, **lora: Any) -> Any:
    return policy(32, dtype, 0, **lora)


def learn(model: Any) -> None:
    """A step of the adapter, of Adam's size."""
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data += RATE * torch.randn_like(parameter).sign()


def base_of(model: Any) -> dict[str, torch.Tensor]:
    return {
        name: each.detach().clone()
        for name, each in model.named_parameters()
        if not each.requires_grad
    }


@pytest.mark.parametrize(
    "lora", [{}, {"use_dora": True}, {"modules_to_save": ["lm_head"]}], ids=str
)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_the_base_is_bit_equal_after_fifty_pushes(dtype: torch.dtype, lora: dict[str, Any]) -> None:
    ours = generation(dtype, **lora)
    before = base_of(ours.model)
    for _ in range(PUSHES):
        learn(ours.model)
        for _ in merged_parameters(ours):
            pass
    after = base_of(ours.model)
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_with_trls_own_push_it_is_not() -> None:
    theirs = generation(torch.bfloat16)
    before = base_of(theirs.model)
    for _ in range(PUSHES):
        learn(theirs.model)
        for _ in theirs._iter_named_params():
            pass
    after = base_of(theirs.model)
    assert any(not torch.equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize(
    "lora", [{}, {"use_dora": True}, {"modules_to_save": ["lm_head"]}], ids=str
)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_what_is_pushed_is_what_trl_pushes(dtype: torch.dtype, lora: dict[str, Any]) -> None:
    both = generation(dtype, **lora)
    learn(both.model)
    ours = {name: value.clone() for name, value in merged_parameters(both)}
    theirs = {name: value.clone() for name, value in both._iter_named_params()}
    assert list(ours) == list(theirs)
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    plain = dict(LlamaForCausalLM(both.model.base_model.model.config).named_parameters())
    assert set(ours) == set(plain)


@pytest.mark.parametrize(
    ("changes", "ours"),
    [({}, True), ({"use_vllm": False}, False), ({"is_fsdp_enabled": True}, False)],
)
def test_it_is_used_where_weights_are_whole(changes: dict[str, bool], ours: bool) -> None:
    made = generation(torch.float32)
    settings = {"use_vllm": True, "is_fsdp_enabled": False, **changes}
    trainer = SimpleNamespace(model=made.model, vllm_generation=made, **settings)
    keep_base(trainer)
    assert ("_iter_named_params" in vars(made)) == ours
    plain = SimpleNamespace(model=made.model.base_model.model, vllm_generation=object(), **settings)
    keep_base(plain)  # a policy without an adapter is pushed as it is


def test_a_trainer_takes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr("spanreward.training.grpo.trainer.keep_base", seen.append)
    trainer = make_trainer(
        tmp_path,
        scenes(),
        [Scored(lambda sample: 0.5)],
        peft_config=LoraConfig(r=2, target_modules="all-linear"),
    )
    assert seen == [trainer]
