"""Pushes a policy with an adapter to vLLM without changing the frozen base weights.

    keep_base(trainer)                  # after the trainer is built

At every push TRL merges the adapter into the base weights, and subtracts the adapter again after
the push. In bfloat16 each merge and subtraction is rounded. After 125 pushes the base weights have
changed by 40 % of the adapter's change, but only the adapter is saved (docs/evidence/scale.md; TRL
issue 6688). This module merges one layer at a time, copies the merged weights, and restores the
exact base weights of the layer. The copies need memory for twice the weights of one layer.

With ZeRO-3 and FSDP TRL's code stays in use, because it merges into gathered copies and drops the
copies after the push.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import torch
from peft import PeftModel
from peft.tuners.tuners_utils import BaseTunerLayer
from transformers.integrations import is_deepspeed_zero3_enabled

# In a layer with an adapter, a module of this name holds the weights without the adapter. So a
# parameter is named "...q_proj.base_layer.weight".
BASE_LAYER = "base_layer"


def keep_base(trainer: Any) -> None:
    """Makes a trainer with vLLM and an adapter push its weights with `merged_parameters`.

    A trainer without vLLM or without an adapter stays unchanged, and so does a trainer with FSDP or
    ZeRO-3.

    trainer: a GRPOTrainer.
    """
    is_sharded = trainer.is_fsdp_enabled or is_deepspeed_zero3_enabled()
    has_adapter = isinstance(trainer.model, PeftModel)
    has_whole_adapter = has_adapter and not is_sharded
    if trainer.use_vllm and has_whole_adapter:
        generation = trainer.vllm_generation
        generation._iter_named_params = partial(merged_parameters, generation)


def merged_parameters(generation: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Yields (name in vLLM, value) of each parameter of the policy, with the adapter merged.

    Example: the parameter "base_model.model.model.layers.0.q_proj.base_layer.weight" has the name
    "model.layers.0.q_proj.weight" in vLLM. The function replaces the method `_iter_named_params` of
    VLLMGeneration.

    generation: TRL's VLLMGeneration. Its model is a PeftModel, with whole weights on this rank.
    """
    model: PeftModel = generation.model
    layers = {}  # the layers with an adapter, by name
    for name, module in model.named_modules():
        if isinstance(module, BaseTunerLayer):
            layers[name] = module
    merged_layer = ""  # the name of the layer that was merged last
    merged: dict[str, torch.Tensor] = {}  # this layer's merged weights: "weight", "bias"
    for name, parameter in model.named_parameters():
        name_without_adapter = name.removeprefix("base_model.model.").replace(f".{BASE_LAYER}", "")
        # skip the adapter's weights, and originals of modules that modules_to_save has copied
        if model.prefix in name_without_adapter or "original_module" in name_without_adapter:
            continue
        value = parameter.data
        # "...q_proj.base_layer.weight" is the parameter "weight" of the layer "...q_proj"
        layer_name, _, name_in_layer = name.rpartition(f".{BASE_LAYER}.")
        if layer_name in layers:
            if layer_name != merged_layer:  # this is the first parameter of the layer
                merged.clear()  # frees the copies of the layer before
                merged = _merged_layer(layers[layer_name])
                merged_layer = layer_name
            value = merged[name_in_layer]
        vllm_name = generation._fix_param_name_to_vllm(
            name_without_adapter, extra_prefixes=["modules_to_save.default."]
        )
        yield vllm_name, value


@torch.no_grad()
def _merged_layer(layer: BaseTunerLayer) -> dict[str, torch.Tensor]:
    """Returns copies of a layer's base parameters with the active adapters merged, by name.

    The base parameters themselves have their old values afterwards.
    """
    base = dict(layer.get_base_layer().named_parameters())
    unmerged = _copies_of(base)
    layer.merge()
    merged = _copies_of(base)
    layer.unmerge()
    # restore the exact values from the copies, because unmerge subtracts with rounding
    for name, parameter in base.items():
        parameter.copy_(unmerged[name])
    return merged


def _copies_of(parameters: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Returns a copy of each parameter's current value, by name."""
    return {name: parameter.detach().clone() for name, parameter in parameters.items()}
