"""LoRA adapters: a new adapter for a recipe, or a saved adapter that is trained further.

    config = lora_config(recipe.policy.lora, model)      # a new adapter
    check_adapter(recipe.policy)                         # before anything is loaded
    model, processor = saved_adapter("outputs/sft", 0, "bfloat16")      # written by an SFT run

A saved adapter is trained further without merging it into its base. So DAPO after SFT writes an
adapter over the original base, which can be loaded without the folder of the SFT run.
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
    """Returns peft's settings for a recipe's block `lora`.

    If the recipe names no target_modules, the adapter covers all linear layers of the language
    model, and no layer of the vision tower and its projector.
    """
    settings: dict[str, Any] = {
        "r": part.r,
        "lora_alpha": part.alpha,
        "lora_dropout": part.dropout,
        "target_modules": part.target_modules,
    }
    if part.target_modules is None:
        settings["target_modules"] = EVERY_LAYER
        settings["exclude_modules"] = modules_outside_language(model)
    return LoraConfig(**settings, task_type="CAUSAL_LM")


def modules_outside_language(model: PreTrainedModel) -> str | None:
    """Returns a regular expression that matches the names of all modules outside the language
    model; None for a text model, which has no other modules.
    """
    if model.config.get_text_config() is model.config:  # a text model
        return None
    language_model = model.get_decoder()
    for name, module in model.named_modules():
        if module is language_model and name:
            # matches every name that does not begin with the name of the language model
            return rf"(?!{re.escape(name)}\.).*"
    return None


def check_adapter(policy: PolicyPart) -> None:
    """Raises RecipeError if policy.model is a saved adapter and the recipe's `lora` has other
    settings than the adapter, such as another rank `r`.
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
    difference = next(adapter_differences(policy.lora, saved), None)
    if difference is not None:
        name, in_recipe, in_adapter = difference
        raise RecipeError(
            f"policy.lora has {name} {in_recipe!r}, and the adapter {policy.model}, from which the "
            f"run goes on, has {in_adapter!r}: set policy.lora to {described}, or merge the "
            "adapter into its base (docs/recipes.md) to begin another."
        )


def adapter_differences(part: LoraPart, saved: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yields (name, value in the recipe, value of the adapter) of each setting in which the recipe
    and a saved adapter differ, such as ("r", 8, 16).

    saved: the content of the adapter's adapter_config.json.
    """
    if saved.get("peft_type") != "LORA":
        yield "the kind", "LORA", saved.get("peft_type")
    # our name of each setting, and peft's name
    for name, key in (("r", "r"), ("alpha", "lora_alpha"), ("dropout", "lora_dropout")):
        if vars(part)[name] != saved.get(key):
            yield name, vars(part)[name], saved.get(key)
    # "all-linear" is not compared: peft writes the layers' names to the file instead
    names_layers = part.target_modules not in (None, EVERY_LAYER)
    if names_layers and part.target_modules != saved.get("target_modules"):
        yield "target_modules", part.target_modules, saved.get("target_modules")


def saved_adapter(folder: str, seed: int, dtype: str) -> tuple[PeftModel, Processor]:
    """Returns a saved adapter over its base, ready for further training, and its processor.

    seed: used only if the base is made by a function, FILE.py:FUNCTION. dtype: torch's name of the
    base's dtype. Raises RecipeError if the base cannot be loaded (`load_policy`).
    """
    base, _ = load_policy(base_of(folder), seed, dtype)
    model = PeftModel.from_pretrained(base, folder, is_trainable=True)
    return model, saved_processor(folder, base.config)
