"""An adapter's base is bit-equal after fifty pushes to vLLM, which gets what TRL pushes."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from peft import LoraConfig
from transformers import LlamaForCausalLM

from experiments.benchmark.adapters import policy
from spanreward.training.grpo.trl_internals.adapter_push import keep_base, merged_parameters
from tests.support.tiny_trainer import Scored

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


def push(model: Any, parameters: Any) -> bool:
    """Whether the base is what it was after fifty steps, each of which is pushed."""
    before = base_of(model)
    for _ in range(PUSHES):
        learn(model)
        list(parameters())
    after = base_of(model)
    return all(torch.equal(before[name], after[name]) for name in before)


adapters = pytest.mark.parametrize(
    "lora", [{}, {"use_dora": True}, {"modules_to_save": ["lm_head"]}], ids=str
)
dtypes = pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])


@adapters
@dtypes
def test_the_base_is_bit_equal_after_fifty_pushes(dtype: torch.dtype, lora: dict[str, Any]) -> None:
    ours = generation(dtype, **lora)
    assert push(ours.model, lambda: merged_parameters(ours))


def test_with_trls_own_push_it_is_not() -> None:
    theirs = generation(torch.bfloat16)
    assert not push(theirs.model, theirs._iter_named_params)


@adapters
@dtypes
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


def test_a_trainer_takes_it(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr("spanreward.training.grpo.trainer.keep_base", seen.append)
    adapter = LoraConfig(r=2, target_modules="all-linear")
    assert [make(Scored(lambda sample: 0.5), peft_config=adapter)] == seen
