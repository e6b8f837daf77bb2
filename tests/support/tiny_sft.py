"""What the tests of SFT share: a tiny text policy with a chosen template, and a recipe of rows."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from spanreward.training.recipe import Recipe, check_recipe
from tests.support.files import write_lines
from tests.support.tokenizer import SPECIAL, tokenizer

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LINES = (  # as LLaVA-1.5's on the hub, whose turn ends in a blank
    "{% for m in messages %}{{ m.role.upper() }}: {{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}ASSISTANT:{% endif %}"
)
BASE_TOKENS = ("<|im_start|>", "<|endoftext|>", "<|im_end|>")  # the second is the eos
SETTINGS: dict[str, Any] = {
    "per_device_train_batch_size": 1, "max_steps": 2, "logging_strategy": "no",
    "save_strategy": "no", "report_to": "none", "bf16": False, "gradient_checkpointing": False,
    "use_cpu": True, "disable_tqdm": True,
}  # fmt: skip


def save_with(
    folder: Path, template: str = CHATML, special: tuple[str, ...] = SPECIAL, context: int = 4096
) -> None:
    """Saves two random layers whose tokenizer has the template, and as its eos the second token."""
    torch.manual_seed(0)
    words = tokenizer(template, special)
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}
    sizes |= {"num_attention_heads": 4, "max_position_embeddings": context}
    ends = {"eos_token_id": words.eos_token_id, "bos_token_id": None}
    config = LlamaConfig(vocab_size=len(words), **sizes, **ends)
    LlamaForCausalLM(config).save_pretrained(folder)
    words.save_pretrained(folder)


def sft_recipe(
    folder: Path,
    records: Sequence[dict[str, Any]],
    data: dict[str, Any] | None = None,
    **trainer: Any,
) -> Recipe:
    """Returns a recipe of SFT with the policy in the folder, or a new one, and a file of these rows."""
    if not (folder / "policy").exists():
        save_with(folder / "policy")
    file = write_lines(folder / "rows.jsonl", records)
    return check_recipe(
        {
            "algorithm": "sft",
            "output": str(folder / "out"),
            "policy": {"model": str(folder / "policy")},
            "data": {"source": "jsonl", "path": str(file), **(data or {})},
            "trainer": {**SETTINGS, **trainer},
        }
    )
