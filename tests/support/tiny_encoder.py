"""A tiny token classifier of random weights: a BERT, or a ModernBERT as LettuceDetect's."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    AutoConfig,
    AutoModelForTokenClassification,
    BertConfig,
    BertForTokenClassification,
    ModernBertConfig,
    ModernBertForTokenClassification,
    PreTrainedTokenizerFast,
)

WORDS = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "red", "blue", "cat", "dog", "sits", "on",
    "the", "mat", "and", "sleeps", ".", "[", "]", "SEP",
]  # fmt: skip
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
SIZES |= {"intermediate_size": 32, "pad_token_id": 0}
ENDS = {"cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3}


def saved(
    folder: Path,
    labels: int = 2,
    modern: bool = False,
    length: int = 64,
    words: Sequence[str] = WORDS,
    changes: Mapping[str, float] = MappingProxyType({}),
) -> str:
    """changes: of the configuration."""
    torch.manual_seed(0)
    sizes = {
        **SIZES, "vocab_size": len(words), "max_position_embeddings": length, "num_labels": labels,
        "initializer_range": 0.5, **changes,
    }  # fmt: skip
    if modern:
        ModernBertForTokenClassification(ModernBertConfig(**sizes, **ENDS)).save_pretrained(folder)
    else:
        BertForTokenClassification(BertConfig(**sizes)).save_pretrained(folder)
    numbers = {word: number for number, word in enumerate(words)}
    core = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    pair = "[CLS] $A [SEP] $B:1 [SEP]:1"
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    core.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", pair, ends)
    kinds = ("pad", "unk", "cls", "sep", "mask")
    special = {f"{kind}_token": f"[{kind.upper()}]" for kind in kinds}
    names = ["input_ids", "attention_mask", *([] if modern else ["token_type_ids"])]
    settings = {"model_max_length": length, "model_input_names": names, **special}
    PreTrainedTokenizerFast(tokenizer_object=core, **settings).save_pretrained(folder)
    return str(folder)


FAMILIES = {  # how many positions each has, and reads
    "bert": (64, 64),
    "roberta": (66, 65),  # counted from the padding token's, here 0, on
    "modernbert": (64, 64),
    "deberta-v2": (64, 64),
    "llama": (64, 64),
}


def save_family(folder: Path, family: str, words: Sequence[str] = WORDS) -> str:
    """A tiny model of another family, without a limit; a Llama's has no padding token."""
    saved(folder, modern=family != "bert", length=1000, words=words)
    torch.manual_seed(0)
    sizes = {**SIZES, "vocab_size": len(words), "num_labels": 2}
    sizes["max_position_embeddings"] = FAMILIES[family][0]
    config = AutoConfig.for_model(family, **sizes, **ENDS, initializer_range=0.5)
    AutoModelForTokenClassification.from_config(config).save_pretrained(folder)
    if family == "llama":
        file = folder / "tokenizer_config.json"
        settings = json.loads(file.read_text()) | {"eos_token": "[SEP]"}
        del settings["pad_token"]
        file.write_text(json.dumps(settings))
    return str(folder)
