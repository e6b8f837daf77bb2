"""The model that is trained: any image-text-to-text checkpoint, or one that a function of your own makes.

model, processor = load_policy("Qwen/Qwen2.5-VL-3B-Instruct")       # a hub id or a folder
model, processor = load_policy("my_policy.py:small", seed=0)        # FILE.py:FUNCTION, called with the seed
"""

import json
from pathlib import Path

import torch
from transformers import AutoModelForImageTextToText, AutoProcessor, PreTrainedModel, ProcessorMixin
from transformers.utils import is_torchvision_available

from spanreward.rewards.hub import offline_without_hub
from spanreward.rewards.judges.encoding.picture_chat import load_processor
from spanreward.rewards.own_file import is_own, own_function
from spanreward.training.recipe import RecipeError

PROCESSOR_FILES = ("processor_config.json", "preprocessor_config.json")


def load_policy(model: str, seed: int = 0, dtype: str = "float32") -> tuple[PreTrainedModel, ProcessorMixin]:
    """Returns a policy and its processor. Raises RecipeError where `model` is no image-text-to-text model.

    model: a hub id, a folder, or FILE.py:FUNCTION, which is called with the seed, returns both and chooses the dtype
    itself. A folder may hold an adapter, which is loaded with its base; its processor may be the base's.
    """
    if is_own(model):
        try:
            make = own_function(model)
        except ValueError as error:
            raise RecipeError(f"policy.model {model}: {error}") from error
        policy, processor = make(seed)
        return policy, processor
    if not Path(model).is_dir():
        offline_without_hub()
    try:
        policy = AutoModelForImageTextToText.from_pretrained(model, dtype=getattr(torch, dtype))
        source = processor_folder(model)
        if is_torchvision_available():
            return policy, AutoProcessor.from_pretrained(source)
        return policy, load_processor(source, policy.config)
    except (OSError, ValueError) as error:  # what transformers raises for a missing file and for another kind of model
        reason = str(error).splitlines()[0].rstrip(".:")
        raise RecipeError(
            f"there is no image-text-to-text policy in {model!r} ({reason}): policy.model takes a folder that a run "
            "has written (run its recipe first), a hub id, or FILE.py:FUNCTION; HF_HUB_OFFLINE=1 looks in the local "
            "cache only."
        ) from error


def processor_folder(model: str) -> str:
    """Returns where the policy's processor is: for an adapter without one, its base."""
    adapter = Path(model) / "adapter_config.json"
    if not adapter.is_file() or any((Path(model) / name).is_file() for name in PROCESSOR_FILES):
        return model
    return str(json.loads(adapter.read_text("utf-8"))["base_model_name_or_path"])
