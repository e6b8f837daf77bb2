"""Writes a stand-in for a tiny model of the hub under the hub's own name, where from_pretrained
finds it.

    save_model(Path("trl-internal-testing/tiny-Qwen3ForCausalLM"))

A model's class is the second part of its name.
"""

from pathlib import Path

import torch
import transformers
from transformers.utils import is_torchvision_available

from experiments.trl_tests import picture_models, text_models

REMOTE = "RemoteForCausalLM"


def kind_of(name: str) -> str:
    return name.removeprefix("tiny-").partition("-")[0]


def is_known(name: str) -> bool:
    """Is it a model that can be made here?"""
    family = kind_of(name).partition("For")[0]
    pictures = is_torchvision_available() and family in picture_models.MODELS
    return name.startswith("tiny-") and (
        family in text_models.TEXT or kind_of(name) == REMOTE or pictures
    )


def save_model(folder: Path) -> None:
    """Writes the model of the folder's name, with its tokenizer or processor.

    Raises KeyError for one not known.
    """
    kind = kind_of(folder.name)
    torch.manual_seed(0)
    if kind == REMOTE:
        text_models.save_remote(folder)
        return
    make = (
        picture_models.picture_model
        if "ForConditionalGeneration" in kind
        else text_models.text_model
    )
    config, processor = make(kind)
    getattr(transformers, kind)(config).save_pretrained(folder)
    processor.save_pretrained(folder)
