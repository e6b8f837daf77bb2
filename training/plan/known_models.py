"""How large a model is, without loading or downloading it.

    size_by_name("Qwen/Qwen2.5-VL-7B-Instruct")      # a Size, or None where nothing on this machine knows it

Looks at a folder's config.json, then the hub's local cache, then the table below.
"""

import json
from pathlib import Path
from typing import Any

from transformers import AutoConfig

from spanreward.training.plan.memory import Size, size_of


def text(
    hidden: int, intermediate: int, layers: int, heads: int, kv_heads: int, context: int, tied: Any = False, **more: Any
) -> dict[str, Any]:
    sizes = {"hidden_size": hidden, "intermediate_size": intermediate, "max_position_embeddings": context}
    counts = {"num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": kv_heads}
    return {**sizes, **counts, "vocab_size": 151_936, "tie_word_embeddings": tied, **more}


def picture_model(kind: str, vision: dict[str, Any], text_config: dict[str, Any]) -> dict[str, Any]:
    tied = text_config["tie_word_embeddings"]
    return {"model_type": kind, "text_config": text_config, "vision_config": vision, "tie_word_embeddings": tied}


def qwen2_5_vision(out: int) -> dict[str, Any]:
    return {"hidden_size": 1280, "depth": 32, "num_heads": 16, "intermediate_size": 3420, "out_hidden_size": out}


def qwen3_vision(hidden: int, intermediate: int, depth: int, out: int, deepstack: list[int]) -> dict[str, Any]:
    sizes = {"hidden_size": hidden, "intermediate_size": intermediate, "depth": depth, "num_heads": 16}
    return {**sizes, "out_hidden_size": out, "deepstack_visual_indexes": deepstack}


QWEN3_8B = {"hidden": 4096, "intermediate": 12_288, "layers": 36, "heads": 32, "kv_heads": 8, "head_dim": 128}
QWEN3_1_7B = {"hidden": 2048, "intermediate": 6144, "layers": 28, "heads": 16, "kv_heads": 8, "head_dim": 128}
CONFIGS: dict[str, dict[str, Any]] = {  # what decides the size, as in the models' config.json
    "Qwen/Qwen2.5-VL-3B-Instruct": picture_model(
        "qwen2_5_vl", qwen2_5_vision(2048), text(2048, 11_008, 36, 16, 2, 128_000, tied=True)
    ),
    "Qwen/Qwen2.5-VL-7B-Instruct": picture_model(
        "qwen2_5_vl", qwen2_5_vision(3584), text(3584, 18_944, 28, 28, 4, 128_000, vocab_size=152_064)
    ),
    "Qwen/Qwen3-VL-2B-Instruct": picture_model(
        "qwen3_vl", qwen3_vision(1024, 4096, 24, 2048, [5, 11, 17]), text(**QWEN3_1_7B, context=262_144, tied=True)
    ),
    "Qwen/Qwen3-VL-8B-Instruct": picture_model(
        "qwen3_vl", qwen3_vision(1152, 4304, 27, 4096, [8, 16, 24]), text(**QWEN3_8B, context=262_144)
    ),
    "Qwen/Qwen2.5-14B-Instruct": {"model_type": "qwen2", **text(5120, 13_824, 48, 40, 8, 32_768, vocab_size=152_064)},
    "Qwen/Qwen3-4B": {"model_type": "qwen3", **text(2560, 9728, 36, 32, 8, 40_960, tied=True, head_dim=128)},
    "Qwen/Qwen3-8B": {"model_type": "qwen3", **text(**QWEN3_8B, context=40_960)},
    "Qwen/Qwen3-14B": {"model_type": "qwen3", **text(5120, 17_408, 40, 40, 8, 40_960, head_dim=128)},
    "smollm2": {"model_type": "llama", **text(576, 1536, 30, 9, 3, 8192, tied=True, vocab_size=49_152)},
}


def size_by_name(model: str) -> Size | None:
    """Returns a model's size by its hub id or folder; None where it is not known here. Downloads nothing."""
    adapter = Path(model) / "adapter_config.json"
    if adapter.is_file() and not (Path(model) / "config.json").is_file():
        return size_by_name(json.loads(adapter.read_text())["base_model_name_or_path"])
    try:
        return size_of(AutoConfig.from_pretrained(model, local_files_only=True))
    except (OSError, ValueError):
        return known_size(model) if model in CONFIGS else None


def known_size(model: str) -> Size:
    """Returns a model's size from the table alone. Raises KeyError for a model that is not in it."""
    config = dict(CONFIGS[model])
    return size_of(AutoConfig.for_model(config.pop("model_type"), **config))
