"""Policies of the recipes' architectures with some 200,000 random parameters."""

from collections.abc import Callable
from pathlib import Path

import torch
from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from tests.support.tiny_models import QWEN_TEMPLATE, QWEN_TOKENS, save_llama, save_qwen
from tests.support.tokenizer import tokenizer

PATCH = 16


def save_qwen3(folder: Path) -> None:
    """Two layers of Qwen3-VL: learned positions, patches of 16."""
    words = tokenizer(QWEN_TEMPLATE)
    words.add_tokens(list(QWEN_TOKENS), special_tokens=True)
    start, end, image, video = words.convert_tokens_to_ids(list(QWEN_TOKENS))
    torch.manual_seed(0)
    config = Qwen3VLConfig(
        text_config={
            "vocab_size": len(words), "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
            "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 2048,
            "eos_token_id": words.eos_token_id, "bos_token_id": None,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3]},
        },
        vision_config={
            "depth": 2, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2, "out_hidden_size": 64,
            "patch_size": PATCH, "spatial_merge_size": 2, "num_position_embeddings": 64,
            "deepstack_visual_indexes": [0],
        },
        vision_start_token_id=start, vision_end_token_id=end, image_token_id=image, video_token_id=video,
    )  # fmt: skip
    Qwen3VLForConditionalGeneration(config).save_pretrained(folder)
    words.save_pretrained(folder)
    limits = {"shortest_edge": 4 * PATCH * PATCH, "longest_edge": 400 * PATCH * PATCH}
    Qwen2VLImageProcessorPil(size=limits, patch_size=PATCH).save_pretrained(folder)


SAVE: dict[str, Callable[[Path], None]] = {
    "Qwen/Qwen2.5-VL": save_qwen,
    "Qwen/Qwen3-VL": save_qwen3,
    "smollm2": save_llama,  # the same architecture, which reads text only
}
