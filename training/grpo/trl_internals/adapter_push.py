"""An adapter's policy for vLLM, without a change of the frozen base.

    keep_base(trainer)                  # after the trainer is built

TRL merges the adapter into the live base weights at every push, and takes it out again. In bfloat16
each round trip is rounded, so after 125 pushes the base has moved by 40 % of what the adapter
learnt, and only the adapter is saved (docs/evidence/scale.md; TRL issue 6688). Here one layer at a
time is merged, copied and put back as it was. That needs memory for two copies of one layer's
weights.

ZeRO-3 and FSDP keep TRL's way. There the merged weights are gathered copies, which are dropped
after the push.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import torch
from peft import PeftModel
from peft.tuners.tuners_utils import BaseTunerLayer
from transformers.integrations import is_deepspeed_zero3_enabled

BASE_LAYER = ".base_layer"


def keep_base(trainer: Any) -> None:
    """Makes a GRPOTrainer with vLLM and an adapter on whole weights push with `merged_parameters`.

    Any other trainer stays as it is.
    """
    whole = not (trainer.is_fsdp_enabled or is_deepspeed_zero3_enabled())
    if trainer.use_vllm and isinstance(trainer.model, PeftModel) and whole:
        generation = trainer.vllm_generation
        generation._iter_named_params = partial(merged_parameters, generation)


def merged_parameters(generation: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Yields each of vLLM's parameters with its merged value, as
    `VLLMGeneration._iter_named_params` does.

    generation: TRL's VLLMGeneration, whose model is a PeftModel with whole weights on this rank.
    """
    model: PeftModel = generation.model
    layers = {}  # those that an adapter is on, by name
    for name, module in model.named_modules():
        if isinstance(module, BaseTunerLayer):
            layers[name] = module
    merged: dict[str, torch.Tensor] = {}  # of the layer that is being read
    for name, parameter in model.named_parameters():
        plain = name.removeprefix("base_model.model.").replace(BASE_LAYER, "")
        # the adapter's own weights, which are merged, and those that modules_to_save has copied
        if model.prefix in plain or "original_module" in plain:
            continue
        # "...q_proj.base_layer.weight" is a weight of the layer "...q_proj"
        owner = name.rpartition(f"{BASE_LAYER}.")[0]
        if owner in layers and name not in merged:
            merged = {}  # the layer before is dropped
            for key, value in _merged_layer(layers[owner]).items():
                merged[f"{owner}{BASE_LAYER}.{key}"] = value
        plain = generation._fix_param_name_to_vllm(
            plain, extra_prefixes=["modules_to_save.default."]
        )
        yield plain, merged.get(name, parameter.data)


@torch.no_grad()
def _merged_layer(layer: BaseTunerLayer) -> dict[str, torch.Tensor]:
    """Returns copies of a layer's base parameters with the active adapters merged, and leaves the
    base as it was.
    """
    base = dict(layer.get_base_layer().named_parameters())
    unmerged = _copies_of(base)
    layer.merge()
    merged = _copies_of(base)
    layer.unmerge()
    # unmerge subtracts what merge added, and rounds: the copies are exact
    for name, parameter in base.items():
        parameter.copy_(unmerged[name])
    return merged


def _copies_of(parameters: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Returns copies of the values that the parameters have now, by name."""
    return {name: parameter.detach().clone() for name, parameter in parameters.items()}
