"""How large a model is, without loading or downloading it.

    size_by_name("Qwen/Qwen2.5-VL-7B-Instruct")      # a Size, or None where nothing on this machine knows it

Looks at a folder's config.json, then the hub's local cache, then known_models.yaml.
"""

from pathlib import Path
from typing import Any

from transformers import AutoConfig

from spanreward.rewards.files.yaml_file import read_yaml_file
from spanreward.training.plan.memory import Size, size_of

CONFIGS: dict[str, dict[str, Any]] = read_yaml_file(Path(__file__).with_suffix(".yaml"))


def size_by_name(model: str) -> Size | None:
    """Returns a model's size by its hub id or folder; None where it is not known here. Downloads nothing."""
    try:
        return size_of(AutoConfig.from_pretrained(model, local_files_only=True))
    except (OSError, ValueError):
        config = dict(CONFIGS.get(model, {}))
        return size_of(AutoConfig.for_model(config.pop("model_type"), **config)) if config else None
