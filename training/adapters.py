"""LoRA adapters: over which layers a recipe trains a new one, and how it goes on from a saved one.

    config = lora_config(recipe.policy.lora, model)      # a new one
    check_adapter(recipe.policy)                         # before anything is loaded
    model, processor = saved_adapter("outputs/sft", "bfloat16")      # of an SFT run, to train on

A saved adapter is trained on as it is, and not merged: what DAPO writes after SFT is then an
adapter over the same base, and needs no other folder.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from peft import LoraConfig, PeftModel
from transformers import PreTrainedModel

from spanreward.training.policy import Processor, base_of, load_policy, saved_processor
from spanreward.training.recipe import LoraPart, PolicyPart, RecipeError

EVERY_LAYER = "all-linear"  # peft's word


def lora_config(part: LoraPart, model: PreTrainedModel) -> LoraConfig:
    """Returns peft's settings of a recipe's `lora`.

    Without target_modules these are the linear layers of the language model: the vision tower and
    its projector stay as they are.
    """
    settings: dict[str, Any] = {
        "r": part.r,
        "lora_alpha": part.alpha,
        "lora_dropout": part.dropout,
        "target_modules": part.target_modules,
    }
    if part.target_modules is None:
        settings["target_modules"] = EVERY_LAYER
        settings["exclude_modules"] = beside_language(model)
    return LoraConfig(**settings, task_type="CAUSAL_LM")


def beside_language(model: PreTrainedModel) -> str | None:
    """Returns a pattern of the names of all modules outside the language model; None where that is
    the whole model.
    """
    if model.config.get_text_config() is model.config:  # a text model
        return None
    language = model.get_decoder()
    for name, module in model.named_modules():
        if module is language and name:
            # every name but those that begin with the language model's
            return rf"(?!{re.escape(name)}\.).*"
    return None


def check_adapter(policy: PolicyPart) -> None:
    """Raises RecipeError for a policy.model that is an adapter which the recipe's `lora` does not
    describe.
    """
    base = base_of(policy.model)
    if base == policy.model:  # no adapter
        return
    saved = json.loads((Path(policy.model) / "adapter_config.json").read_text("utf-8"))
    described = f"{{r: {saved.get('r')}, alpha: {saved.get('lora_alpha')}}}"
    if policy.lora is None:
        raise RecipeError(
            f"policy.model {policy.model} is an adapter over {base}: to train on from it set "
            f"policy.lora to {described}."
        )
    for name, ours, theirs in differences(policy.lora, saved):  # the first one
        raise RecipeError(
            f"policy.lora has {name} {ours!r}, and the adapter {policy.model}, from which the run "
            f"goes on, has {theirs!r}: set policy.lora to {described}, or merge the adapter into "
            "its base (docs/recipes.md) to begin another."
        )


def differences(part: LoraPart, saved: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yields the settings in which the recipe and a saved adapter differ: name, ours and its.

    saved: what the adapter's adapter_config.json holds.
    """
    if saved.get("peft_type") != "LORA":
        yield "the kind", "LORA", saved.get("peft_type")
    # our names, and peft's
    for name, key in (("r", "r"), ("alpha", "lora_alpha"), ("dropout", "lora_dropout")):
        if vars(part)[name] != saved.get(key):
            yield name, vars(part)[name], saved.get(key)
    # peft has put the layers' names in place of "all-linear"
    named = part.target_modules not in (None, EVERY_LAYER)
    if named and part.target_modules != saved.get("target_modules"):
        yield "target_modules", part.target_modules, saved.get("target_modules")


def saved_adapter(folder: str, seed: int, dtype: str) -> tuple[PeftModel, Processor]:
    """Returns a saved adapter, to be trained, over its base, and the folder's processor.

    dtype: of the base. Raises as load_policy does.
    """
    base, _ = load_policy(base_of(folder), seed, dtype)
    model = PeftModel.from_pretrained(base, folder, is_trainable=True)
    return model, saved_processor(folder, base.config)
