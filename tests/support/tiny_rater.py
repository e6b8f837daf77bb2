"""A judge that sees, without training: its ratings are noise, and always ratings."""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer, Qwen2_5_VLForConditionalGeneration

from tests.gpu.models import save_policy
from tests.gpu.phases.common import SIZES
from tests.support.torchvision_on_cpu import FOLDER, with_torchvision
from tests.support.vllm_server import vllm_server


def rater_folder(folders: pytest.TempPathFactory) -> Path:
    """Returns the judge's folder. Skips where vLLM cannot show it pictures."""
    if importlib.util.find_spec("vllm") is None or not FOLDER.is_dir():
        pytest.skip("needs vllm and torchvision: make test-vllm")
    folder = folders.mktemp("rater")
    save_rater(folder)
    return folder


@contextmanager
def served_rater(folder: Path) -> Iterator[str]:
    """Yields the address of vLLM's own server with the judge."""
    options = ("--dtype", "float32", "--max-model-len", "1024", "--block-size", "32")
    limits = ("--limit-mm-per-prompt", '{"video": 0}')
    with vllm_server(str(folder), *options, *limits, environment=with_torchvision()) as url:
        yield url


def save_rater(folder: Path) -> None:
    """A tiny Qwen2.5-VL of random weights whose likeliest words are digits: a chat shows 20 words.

    Of two digits with opposite rows one is always likely.
    """
    save_policy("Qwen/Qwen2.5-VL-3B-Instruct", SIZES["toy"], folder)
    model = Qwen2_5_VLForConditionalGeneration.from_pretrained(folder, dtype=torch.float32)
    words = AutoTokenizer.from_pretrained(folder)
    rows = model.get_output_embeddings().weight.detach().clone() * 0.005
    drawn = torch.randn(3, rows.shape[1], generator=torch.Generator().manual_seed(0)) * 6.0
    digits = words.convert_tokens_to_ids(list("12345"))
    rows[digits] = torch.stack([drawn[0], -drawn[0], drawn[1], -drawn[1], drawn[2]])
    for config in (model.config, model.config.get_text_config()):
        config.tie_word_embeddings = False
    model.lm_head.weight = torch.nn.Parameter(rows)
    model.save_pretrained(folder)
