"""Loads the policy, the model that is trained: a vision-language model, a text model, or a model
that a function of the user makes.

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

# a folder with one of these files has its own processor, or its own tokenizer
PROCESSOR_FILES = ("processor_config.json", "preprocessor_config.json")
TOKENIZER_FILES = ("tokenizer_config.json",)
Processor = ProcessorMixin | PreTrainedTokenizerBase


def load_policy(
    model: str, seed: int = 0, dtype: str = "float32"
) -> tuple[PreTrainedModel, Processor]:
    """Returns (policy, processor). For a text model, the processor is its tokenizer.

    Args:
        model: a hub id, a folder, `smollm2`, or FILE.py:FUNCTION. The function is called with the
            seed, returns (policy, processor), and chooses the dtype itself. If the folder holds an
            adapter, the adapter is loaded with its base. If the folder has no processor, the base's
            processor is used.
        seed: an argument of FILE.py:FUNCTION; unused for other models.
        dtype: torch's name of the weights' dtype, such as "bfloat16".

    Raises:
        RecipeError: if `model` is neither an image-text-to-text nor a text-generation model, if the
            file has no such function, and for a chat template that runs without end.
    """
    if is_custom(model):
        return made_policy(model, seed)
    try:
        return saved_policy(policy_folder(model), dtype)
    except (torch.OutOfMemoryError, RecipeError):  # these messages name the remedy already
        raise
    except Exception as error:
        # A missing file raises OSError, and another kind of model ValueError. A damaged file may
        # raise any error: tokenizers raises a plain Exception, and safetensors an error of its own.
        lines = str(error).strip().splitlines()
        if not lines:  # an error without words
            lines = [type(error).__name__]
        reason = lines[0].rstrip(".:")
        raise RecipeError(
            f"there is no image-text-to-text or text-generation policy in {model!r} ({reason}): "
            "policy.model takes a folder that a run has written (run its recipe first), a hub id, "
            "smollm2, or FILE.py:FUNCTION; HF_HUB_OFFLINE=1 looks in the local cache only."
        ) from error


def made_policy(model: str, seed: int) -> tuple[PreTrainedModel, Processor]:
    """Returns (policy, processor) from a function of the user. model: FILE.py:FUNCTION. Raises
    RecipeError if the file has no such function.
    """
    try:
        make = custom_function(model)
    except ValueError as error:
        raise RecipeError(f"policy.model {model}: {error}") from error
    policy, processor = make(seed)
    return policy, processor


def saved_policy(model: str, dtype: str) -> tuple[PreTrainedModel, Processor]:
    """Returns (policy, processor) of a folder or a hub id.

    dtype: torch's name of the weights' dtype, such as "bfloat16".

    Raises transformers' OSError for a missing file, and its ValueError for another kind of model.
    """
    if not Path(model).is_dir():
        offline_without_hub()
    config = AutoConfig.from_pretrained(base_of(model), trust_remote_code=False)
    policy = model_class(config).from_pretrained(
        model, dtype=getattr(torch, dtype), trust_remote_code=False
    )
    return policy, saved_processor(model, config)


def saved_processor(model: str, config: PretrainedConfig | None = None) -> Processor:
    """Returns the processor of a model, or the tokenizer of a text model.

    model: a folder or a hub id. config: the model's configuration, which is read from the model if
    not given. Raises RecipeError for a chat template that runs without end, and transformers'
    errors for files that cannot be read.
    """
    if config is None:
        config = AutoConfig.from_pretrained(base_of(model), trust_remote_code=False)
    processor: Any
    if model_class(config) is transformers.AutoModelForCausalLM:
        folder = processor_folder(model, TOKENIZER_FILES)
        processor = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        # TRL too lets a tokenizer without a pad token pad with its eos token
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
    """Returns the class of transformers that loads a model with this configuration: one for models
    that read pictures, or one for text models.
    """
    if type(config) in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING:
        return transformers.AutoModelForImageTextToText
    return transformers.AutoModelForCausalLM


def base_of(model: str) -> str:
    """Returns the base of a saved adapter, such as "Qwen/Qwen2.5-VL-3B-Instruct" for "outputs/sft".
    A model that is no adapter is returned as it is.
    """
    adapter = Path(model) / "adapter_config.json"
    if not adapter.is_file():
        return model
    return str(json.loads(adapter.read_text("utf-8"))["base_model_name_or_path"])


def processor_folder(model: str, files: Sequence[str]) -> str:
    """Returns the folder or hub id to load the policy's processor from: the model itself, or the
    base of an adapter whose folder has none of the processor's files.

    files: the names of the processor's files, such as PROCESSOR_FILES.
    """
    for name in files:
        if (Path(model) / name).is_file():
            return model
    return base_of(model)
