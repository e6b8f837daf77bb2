"""The model that is trained: a checkpoint that reads pictures and text, or text alone, or what your
own function makes.

    model, processor = load_policy("Qwen/Qwen2.5-VL-3B-Instruct")  # a hub id or a folder
    model, tokenizer = load_policy("smollm2")  # a text model: SmolLM2-135M-Instruct, packaged
    # FILE.py:FUNCTION, called with the seed
    model, processor = load_policy("my_policy.py:small", seed=0)
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import (
    AutoConfig,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    ProcessorMixin,
)
from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING

from spanreward.rewards.files.custom_file import custom_function, is_custom
from spanreward.rewards.files.hub import offline_without_hub
from spanreward.rewards.judges.encoding.bounded_template import check_template
from spanreward.rewards.judges.encoding.picture_chat import load_processor
from spanreward.training.policy_folder import policy_folder
from spanreward.training.recipe import RecipeError
from spanreward.training.turn_end import tokenizer_of

# a folder with one of these has a processor, or a tokenizer, of its own
PROCESSOR_FILES = ("processor_config.json", "preprocessor_config.json")
TOKENIZER_FILES = ("tokenizer_config.json",)
Processor = ProcessorMixin | PreTrainedTokenizerBase


def load_policy(
    model: str, seed: int = 0, dtype: str = "float32"
) -> tuple[PreTrainedModel, Processor]:
    """Returns a policy and its processor, of a text model its tokenizer.

    Args:
        model: a hub id, a folder, `smollm2`, or FILE.py:FUNCTION, which is called with the seed,
            returns both and chooses the dtype itself. A folder may hold an adapter, which is loaded
            with its base; its processor may be the base's.
        seed: for the function.
        dtype: of the weights, by torch's name.

    Raises:
        RecipeError: where `model` is neither an image-text-to-text nor a text-generation model,
            where there is no such function, and for a chat template that does not end.
    """
    if is_custom(model):
        try:
            make = custom_function(model)
        except ValueError as error:
            raise RecipeError(f"policy.model {model}: {error}") from error
        policy, processor = make(seed)
        return policy, processor
    try:
        return saved_policy(policy_folder(model), dtype)
    except (torch.OutOfMemoryError, RecipeError):  # which say themselves what to do
        raise
    except Exception as error:
        # A missing file and another kind of model are OSError and ValueError. A damaged folder
        # raises whatever its reader does: tokenizers a plain Exception, safetensors its own.
        lines = str(error).strip().splitlines()
        if not lines:  # an error without words
            lines = [type(error).__name__]
        reason = lines[0].rstrip(".:")
        raise RecipeError(
            f"there is no image-text-to-text or text-generation policy in {model!r} ({reason}): "
            "policy.model takes a folder that a run has written (run its recipe first), a hub id, "
            "smollm2, or FILE.py:FUNCTION; HF_HUB_OFFLINE=1 looks in the local cache only."
        ) from error


def saved_policy(model: str, dtype: str) -> tuple[PreTrainedModel, Processor]:
    """Returns the policy in a folder, or of a hub id.

    Raises OSError and ValueError as transformers does.
    """
    if not Path(model).is_dir():
        offline_without_hub()
    config = AutoConfig.from_pretrained(base_of(model), trust_remote_code=False)
    policy = model_class(config).from_pretrained(
        model, dtype=getattr(torch, dtype), trust_remote_code=False
    )
    return policy, saved_processor(model, config)


def saved_processor(model: str, config: PretrainedConfig | None = None) -> Processor:
    """Returns a processor, of a text model its tokenizer. config: the model's, read where it is not
    given.

    Raises RecipeError for a chat template that does not end, and otherwise as transformers does.
    """
    if config is None:
        config = AutoConfig.from_pretrained(base_of(model), trust_remote_code=False)
    processor: Any
    if model_class(config) is transformers.AutoModelForCausalLM:
        folder = processor_folder(model, TOKENIZER_FILES)
        processor = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        # as TRL does for a tokenizer without one
        processor.pad_token = processor.pad_token or processor.eos_token
    else:
        folder = processor_folder(model, PROCESSOR_FILES)
        processor = load_processor(folder, config)
    try:
        check_template(folder, processor.chat_template, tokenizer_of(processor).special_tokens_map)
    except ValueError as error:
        raise RecipeError(str(error)) from error
    return processor


def model_class(config: PretrainedConfig) -> Any:
    """Returns the class that loads a model of this kind: with pictures, or of text alone."""
    if type(config) in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING:
        return transformers.AutoModelForImageTextToText
    return transformers.AutoModelForCausalLM


def base_of(model: str) -> str:
    """Returns the model that an adapter's folder names as its base, and any other model as it
    is.
    """
    adapter = Path(model) / "adapter_config.json"
    if not adapter.is_file():
        return model
    return str(json.loads(adapter.read_text("utf-8"))["base_model_name_or_path"])


def processor_folder(model: str, files: Sequence[str]) -> str:
    """Returns where the policy's processor is: for an adapter without any of its files, its
    base.
    """
    for name in files:
        if (Path(model) / name).is_file():
            return model
    return base_of(model)
