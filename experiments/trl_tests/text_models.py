"""The tiny text models that TRL's tests name: the hub's architectures, two layers, random weights.

config, tokenizer = text_model("Qwen2ForSequenceClassification")
save_remote(Path("trl-internal-testing/tiny-RemoteForCausalLM"))
# one whose code lies beside its weights
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import transformers
from transformers import PretrainedConfig, PreTrainedTokenizerBase

from experiments.trl_tests.words import qwen, small, template

WIDTH = 8
SMALL = {
    "hidden_size": WIDTH, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 4096,
}  # fmt: skip
MOE = {"moe_intermediate_size": 16, "num_experts": 4, "num_experts_per_tok": 2}
TEXT: dict[str, tuple[Callable[[], PreTrainedTokenizerBase], dict[str, Any]]] = {
    "Qwen2": (lambda: qwen("qwen2_5"), {}),
    "Qwen3": (lambda: qwen("qwen3"), {"head_dim": 4}),
    "Qwen3Moe": (lambda: qwen("qwen3"), {"head_dim": 4, **MOE}),
    "Llama": (
        lambda: small(
            *("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|finetune_right_pad_id|>"),
            chat=template("llama3_2"),
        ),
        {},
    ),
    "Gemma2": (small, {"head_dim": 4, "query_pre_attn_scalar": 4}),
    "Cohere2": (small, {}),
    "Glm4Moe": (small, {"head_dim": 4, "moe_intermediate_size": 16, "n_routed_experts": 4, "num_experts_per_tok": 2}),
    "GptOss": (small, {"head_dim": 4, "num_local_experts": 4, "num_experts_per_tok": 2}),
    "NemotronH": (
        small,
        {
            "layers_block_type": ["linear_attention", "moe", "full_attention", "mlp"], "head_dim": 4,
            "mamba_num_heads": 4, "mamba_head_dim": 4, "n_groups": 2, "ssm_state_size": 8, "n_routed_experts": 4,
            "moe_intermediate_size": 16, "moe_shared_expert_intermediate_size": 16,
        },
    ),
}  # fmt: skip
REMOTE = {  # a model whose code lies beside its weights
    "configuration_remote.py": """from transformers import LlamaConfig


class RemoteConfig(LlamaConfig):
    model_type = "remote"
""",
    "modeling_remote.py": """from transformers import LlamaForCausalLM

from .configuration_remote import RemoteConfig


class RemoteForCausalLM(LlamaForCausalLM):
    config_class = RemoteConfig
""",
}


def text_model(kind: str) -> tuple[PretrainedConfig, PreTrainedTokenizerBase]:
    family = kind.partition("For")[0]
    words, settings = TEXT[family]
    tokenizer = words()
    config = getattr(transformers, f"{family}Config")(**SMALL, **settings, **ids_of(tokenizer))
    if "SequenceClassification" in kind:
        config.num_labels = 1
    return config, tokenizer


def ids_of(tokenizer: PreTrainedTokenizerBase) -> dict[str, int | None]:
    names = ("bos_token_id", "eos_token_id", "pad_token_id")
    return {"vocab_size": len(tokenizer), **{name: getattr(tokenizer, name) for name in names}}


def save_remote(folder: Path) -> None:
    config, tokenizer = text_model("LlamaForCausalLM")
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    saved = transformers.LlamaConfig.from_pretrained(folder).to_dict()
    saved |= {"model_type": "remote", "architectures": ["RemoteForCausalLM"]}
    saved["auto_map"] = {
        "AutoConfig": "configuration_remote.RemoteConfig",
        "AutoModelForCausalLM": "modeling_remote.RemoteForCausalLM",
    }
    (folder / "config.json").write_text(json.dumps(saved))
    for name, code in REMOTE.items():
        (folder / name).write_text(code)
