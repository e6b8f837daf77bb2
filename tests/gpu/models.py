"""Models of real sizes with random weights, made where they are used; of toy sizes where there is
no GPU.
"""

from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoTokenizer,
    GenerationConfig,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from spanreward.rewards.judges.encoding.picture_chat import load_processor
from spanreward.rewards.judges.local.transformers_judge import TransformersJudge
from spanreward.rewards.judges.smollm2 import smollm2_folder
from spanreward.training.plan.memory import KNOWN_CONFIGS
from tests.gpu.conftest import Machine
from tests.support.tiny_models import QWEN_TEMPLATE, QWEN_TOKENS
from tests.support.tokenizer import tokenizer

TOY: dict[str, Any] = {
    "hidden_size": 128, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 2048,
}  # fmt: skip
TOY_VISION: dict[str, Any] = {
    "hidden_size": 32, "intermediate_size": 64, "depth": 2, "num_heads": 2, "out_hidden_size": 128,
    "fullatt_block_indexes": [1], "deepstack_visual_indexes": [0, 1],
}  # fmt: skip


def config_of(name: str, machine: Machine) -> Any:
    """The model's configuration; with a toy's sizes where there is no GPU."""
    settings = dict(KNOWN_CONFIGS[name])
    kind = settings.pop("model_type")
    if "vision_config" in settings:
        heads = {} if machine.real else TOY
        width = {**settings["text_config"], **heads}
        pairs = (width.get("head_dim") or width["hidden_size"] // width["num_attention_heads"]) // 2
        rope = {
            "rope_type": "default",
            "rope_theta": 1e6,
            "mrope_section": [pairs - 2 * (pairs // 3), *[pairs // 3] * 2],
            # as in its published config.json
            **({"mrope_interleaved": True} if kind.startswith("qwen3") else {}),
        }
        settings["text_config"] = {**width, "rope_parameters": rope}
        if not machine.real:
            settings["vision_config"] = {**settings["vision_config"], **TOY_VISION}
    elif not machine.real:
        settings |= TOY
    return AutoConfig.for_model(kind, **settings)


def build(config: Any, machine: Machine, dtype: torch.dtype) -> Any:
    """The model with random weights, made on its device."""
    before = torch.get_default_dtype()
    torch.manual_seed(0)
    torch.set_default_dtype(dtype)
    try:
        with torch.device(machine.device):
            kind: Any = (
                AutoModelForImageTextToText
                if hasattr(config, "vision_config")
                else AutoModelForCausalLM
            )
            return kind.from_config(config)
    finally:
        torch.set_default_dtype(before)


def processor(config: Any, folder: Path, words: Any = None) -> Any:
    """A processor of Qwen's picture models over the tests' tokenizer, or over another whose chat
    template shows pictures. Its ids are written into the configuration.
    """
    words = words or tokenizer(QWEN_TEMPLATE)
    words.add_tokens(list(QWEN_TOKENS), special_tokens=True)
    start, end, image, video = words.convert_tokens_to_ids(list(QWEN_TOKENS))
    config.vision_start_token_id, config.vision_end_token_id = start, end
    config.image_token_id, config.video_token_id = image, video
    config.text_config.eos_token_id = words.eos_token_id
    config.text_config.vocab_size = max(config.text_config.vocab_size, len(words))
    words.save_pretrained(folder)
    patch = config.vision_config.patch_size
    limits = {"shortest_edge": 16 * patch * patch, "longest_edge": 256 * patch * patch}
    Qwen2VLImageProcessorPil(size=limits, patch_size=patch).save_pretrained(folder)
    config.save_pretrained(folder)
    return load_processor(folder)


def save_judge(name: str, machine: Machine, folder: Path, words: Any = None) -> None:
    """A text model as any other judge's folder, with the tests' tokenizer or another. Its weights
    are larger than at a start of training, so that its answers differ from question to question.
    """
    config = config_of(name, machine)
    words = words or tokenizer()
    config.vocab_size = max(config.vocab_size, len(words))
    config.eos_token_id, config.initializer_range = (
        words.eos_token_id,
        1.6 / config.hidden_size**0.5,
    )
    build(config, machine, torch.bfloat16).save_pretrained(folder)
    words.save_pretrained(folder)


def save_policy(name: str, machine: Machine, folder: Path) -> None:
    """A model that reads pictures, with its processor. Its words are SmolLM2's: among so many, a
    token that may not be sampled takes no probability that one would see.
    """
    words = AutoTokenizer.from_pretrained(smollm2_folder())
    words.chat_template = QWEN_TEMPLATE
    config = config_of(name, machine)
    processor(config, folder, words)
    build(config, machine, torch.bfloat16).save_pretrained(folder)


def judge_of(name: str, machine: Machine, folder: Path, **options: Any) -> TransformersJudge:
    """A `transformers:` judge whose weights were never written: only what says how to read."""
    config = config_of(name, machine)
    words = tokenizer()
    config.eos_token_id = words.eos_token_id
    config.save_pretrained(folder)
    words.save_pretrained(folder)
    judge = TransformersJudge(str(folder), min_mass=0.0, **options)
    judge._model = build(config, machine, getattr(torch, judge.dtype)).eval()
    judge._model.generation_config = GenerationConfig(
        eos_token_id=words.eos_token_id, pad_token_id=words.eos_token_id
    )
    return judge
