"""Tokenizers of the stand-ins: byte by byte, with the ids that TRL's tests write down.

    words = qwen("qwen3")
    words.decode([SHORT[17453], 0])         # "Done!"

A test that plays the model names tokens of Qwen's vocabulary by number. These stand where Qwen has
them, but for ids of five digits and more, which have smaller ones here and in the test file
(`shorten`): a vocabulary of 151,669 takes some ten times as long to train. The other ids are words
of no meaning, so that a random policy writes completions of different lengths.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import trl
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

TEMPLATES = Path(trl.__file__).parent / "chat_templates"
# in the order of their ids, as GPT-2 and Qwen have them
BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())

QWEN_SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
QWEN_MARKS = {
    9: "<|vision_start|>", 10: "<|vision_end|>", 11: "<|vision_pad|>", 12: "<|image_pad|>", 13: "<|video_pad|>",
    14: "<tool_call>", 15: "</tool_call>", 22: "<tool_response>", 23: "</tool_response>", 24: "<think>",
    25: "</think>",
}  # fmt: skip
QWEN_PIECES = {
    293: " b", 314: " {", 330: ' "', 397: ">\n", 411: "out", 450: "dec", 497: '",', 522: "</", 606: "name", 788: '":',
    894: " any", 927: "sh", 944: "'t", 1318: "text", 1414: " know", 1513: " don", 2765: " won", 4913: '{"',
    5212: ' {"', 5392: " tool", 6023: "hi", 6659: "call", 7692: "async", 9520: "step", 11248: "}}\n", 13477: "rement",
    14172: "tool", 16252: " increment", 16370: "arguments", 17453: "Done", 22785: "_tool", 35744: "increment",
    64648: "multiply", 93054: "_multiply", 95642: '"}}\n',
}  # fmt: skip
QWEN3_5_PIECES = {
    510: "</", 866: " any", 914: "'t", 1366: " know", 1459: " don", 1628: "function", 5224: " tool", 13744: "=s",
    16936: "Done", 22076: "_tool", 30091: "creenshot",
}  # fmt: skip
# by the id of <|endoftext|>: Qwen 2 to 3, and Qwen 3.5
FIRST = {151_643: QWEN_PIECES, 248_044: QWEN3_5_PIECES}
MARKS = dict(enumerate(QWEN_SPECIAL)) | QWEN_MARKS
LONG = sorted({place + first for first in FIRST for place in MARKS}.union(*FIRST.values()))
SHORT = {number: 9_600 + place for place, number in enumerate(one for one in LONG if one > 9_999)}


def shorten(code: str) -> str:
    """Returns a test file with the ids that these tokenizers have."""
    return re.sub(r"\b\d{5,6}\b", lambda found: str(SHORT.get(int(found[0]), found[0])), code)


def template(name: str) -> str:
    """Returns a chat template that TRL ships. It knows by it how to read a model's tool calls."""
    return (TEMPLATES / f"{name}.jinja").read_text("utf-8")


def tokenizer(
    pieces: Mapping[int, str], marks: Mapping[int, str], chat: str | None = None, **named: str
) -> PreTrainedTokenizerFast:
    """Returns a tokenizer of bytes. pieces: other words. marks: tokens that are matched whole.
    named: as `eos_token`; those that transformers does not know become attributes of the tokenizer.
    """
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    vocabulary = {mark: number for number, mark in enumerate(BYTES)}
    vocabulary |= {level.pre_tokenize_str(text)[0][0]: number for number, text in pieces.items()}
    vocabulary |= {mark: number for number, mark in marks.items()}
    taken = set(vocabulary.values())
    vocabulary |= {
        f"Ġ{number}{'x' * (number % 5)}": number
        for number in range(max(taken))
        if number not in taken
    }
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    backend.pre_tokenizer, backend.decoder = level, decoders.ByteLevel()
    backend.add_tokens(
        [AddedToken(one, special=one in named.values() or "|" in one) for one in marks.values()]
    )
    known = {
        name: one for name, one in named.items() if name in ("bos_token", "eos_token", "pad_token")
    }
    extra = {name: one for name, one in named.items() if name not in known}
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, chat_template=chat, extra_special_tokens=extra, clean_up_tokenization_spaces=False,
        model_input_names=["input_ids", "attention_mask"], **known,
    )  # fmt: skip


def qwen(chat: str | None, first: int = 151_643) -> PreTrainedTokenizerFast:
    """Qwen 2 to 3, or with first=248_044 Qwen 3.5. chat: the name of a template. first: the id of
    <|endoftext|>.
    """
    placed = {SHORT[first + place]: mark for place, mark in MARKS.items()}
    pieces = {SHORT.get(number, number): text for number, text in FIRST[first].items()}
    return tokenizer(
        pieces, placed, chat and template(chat), eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )


def small(*marks: str, chat: str | None = None, **named: str) -> PreTrainedTokenizerFast:
    """Bytes, <pad>, <eos>, <bos> and these marks."""
    every = ("<pad>", "<eos>", "<bos>", *marks)
    usual = {"pad_token": "<pad>", "eos_token": "<eos>", "bos_token": "<bos>"}
    return tokenizer(
        {}, {len(BYTES) + place: mark for place, mark in enumerate(every)}, chat, **(usual | named)
    )
