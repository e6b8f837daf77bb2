"""How large a model is, without loading or downloading it.

    size_by_name("Qwen/Qwen2.5-VL-7B-Instruct")      # a Size, or None where nothing on this machine says it

A folder's config.json, the hub's local cache, or the table below, in this order.
"""

import json
from pathlib import Path
from typing import Any

from transformers import AutoConfig

from training.plan.memory import Size, size_of

QWEN2_5_VISION = {"hidden_size": 1280, "depth": 32, "num_heads": 16, "intermediate_size": 3420}


def text(
    hidden: int, intermediate: int, layers: int, heads: int, kv_heads: int, context: int, **more: Any
) -> dict[str, Any]:
    return {
        "max_position_embeddings": context,
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "vocab_size": 151_936,
        **more,
    }


def qwen3_vision(hidden: int, intermediate: int, depth: int, out: int, deepstack: list[int]) -> dict[str, Any]:
    return {
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "depth": depth,
        "num_heads": 16,
        "out_hidden_size": out,
        "deepstack_visual_indexes": deepstack,
    }


QWEN3_8B = {"hidden": 4096, "intermediate": 12_288, "layers": 36, "heads": 32, "kv_heads": 8, "head_dim": 128}
QWEN3_1_7B = {"hidden": 2048, "intermediate": 6144, "layers": 28, "heads": 16, "kv_heads": 8, "head_dim": 128}
CONFIGS: dict[str, dict[str, Any]] = {  # what decides the size, as in the models' config.json
    "Qwen/Qwen2.5-VL-3B-Instruct": {
        "model_type": "qwen2_5_vl",
        "text_config": text(2048, 11_008, 36, 16, 2, 128_000, tie_word_embeddings=True),
        "vision_config": {**QWEN2_5_VISION, "out_hidden_size": 2048},
        "tie_word_embeddings": True,
    },
    "Qwen/Qwen2.5-VL-7B-Instruct": {
        "model_type": "qwen2_5_vl",
        "text_config": text(3584, 18_944, 28, 28, 4, 128_000, vocab_size=152_064),
        "vision_config": {**QWEN2_5_VISION, "out_hidden_size": 3584},
        "tie_word_embeddings": False,
    },
    "Qwen/Qwen3-VL-2B-Instruct": {
        "model_type": "qwen3_vl",
        "text_config": text(**QWEN3_1_7B, context=262_144, tie_word_embeddings=True),
        "vision_config": qwen3_vision(1024, 4096, 24, 2048, [5, 11, 17]),
        "tie_word_embeddings": True,
    },
    "Qwen/Qwen3-VL-8B-Instruct": {
        "model_type": "qwen3_vl",
        "text_config": text(**QWEN3_8B, context=262_144),
        "vision_config": qwen3_vision(1152, 4304, 27, 4096, [8, 16, 24]),
        "tie_word_embeddings": False,
    },
    "Qwen/Qwen2.5-14B-Instruct": {
        "model_type": "qwen2",
        **text(5120, 13_824, 48, 40, 8, 32_768, vocab_size=152_064),
        "tie_word_embeddings": False,
    },
    "Qwen/Qwen3-8B": {
        "model_type": "qwen3",
        **text(**QWEN3_8B, context=40_960),
        "tie_word_embeddings": False,
    },
    "Qwen/Qwen3-14B": {
        "model_type": "qwen3",
        **text(5120, 17_408, 40, 40, 8, 40_960, head_dim=128),
        "tie_word_embeddings": False,
    },
    "smollm2": {
        "model_type": "llama",
        **text(576, 1536, 30, 9, 3, 8192, vocab_size=49_152),
        "tie_word_embeddings": True,
    },
}


def size_by_name(model: str) -> Size | None:
    """A model's size by its hub id or folder; None where it is not known here. Nothing is downloaded."""
    if (Path(model) / "adapter_config.json").is_file() and not (Path(model) / "config.json").is_file():
        return size_by_name(json.loads((Path(model) / "adapter_config.json").read_text())["base_model_name_or_path"])
    try:
        return size_of(AutoConfig.from_pretrained(model, local_files_only=True))
    except (OSError, ValueError):
        return known_size(model) if model in CONFIGS else None


def known_size(model: str) -> Size:
    """A model's size by the table alone. Raises KeyError for a model that is not in it."""
    config = dict(CONFIGS[model])
    return size_of(AutoConfig.for_model(config.pop("model_type"), **config))
