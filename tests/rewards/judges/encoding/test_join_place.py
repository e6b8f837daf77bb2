"""A beginning that is encoded once gives the whole prompt's tokens, with every tokenizer."""

from functools import lru_cache
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given, settings, strategies as st
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from spanreward.rewards.judges.encoding.chat import ChatEncoder
from spanreward.rewards.judges.encoding.join_place import (
    ANCHOR_WORD,
    EMPTY_LINE,
    JoinPlace,
    _joins_hard_texts,
    find_join_place,
)
from spanreward.rewards.judges.judge import Question
from spanreward.rewards.judges.question import SharedPrompt
from spanreward.rewards.judges.smollm2 import smollm2_folder
from spanreward.rewards.posh.prompts import load_prompts

TEXTS = (
    "A red kite. It flies.\n\nIs it red?",
    "Two boats, one white!\n\nDoes the TEXT speak of it?",
    'He said "no".\n\nRate it from 1 to 5: 1 2 3 4 5',
    "a list:\n\n- one\n- two\n\n\nThe end…\n\nIs it?",
) * 20
LLAMA_3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN_2 = LLAMA_3.replace(r"\p{N}{1,3}", r"\p{N}")
CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
HEADERS = (
    "{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
    "{{ m.content }}<|eot_id|>{% endfor %}<|start_header_id|>assistant<|end_header_id|>\n\n"
)
TURNS = "{% for m in messages %}<start_of_turn>{{ m.role }}\n{{ m.content }}<end_of_turn>\n{% endfor %}<start_of_turn>model\n"
INSTRUCTIONS = "{% for m in messages %}[INST] {{ m.content }}[/INST]{% endfor %}"


# a pattern (None: GPT-2's; no text: none, and "_": none, with a space put first), a template and
# control tokens
FAMILIES: dict[str, tuple[str | None, str, list[str]]] = {
    "gpt2": (None, CHATML, ["<|im_start|>", "<|im_end|>"]),
    "llama3": (LLAMA_3, HEADERS, ["<|start_header_id|>", "<|eot_id|>", "<|end_header_id|>"]),
    "qwen2": (QWEN_2, CHATML, ["<|im_start|>", "<|im_end|>"]),
    "gemma": ("", TURNS, ["<start_of_turn>", "<end_of_turn>"]),
    "mistral": ("_", INSTRUCTIONS, ["[INST]", "[/INST]"]),
}


def family_tokenizer(name: str) -> PreTrainedTokenizerFast:
    """Returns a tokenizer of the family, with a few hundred tokens."""
    pattern, template, control = FAMILIES[name]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    if pattern in ("", "_"):
        alphabet = [*map(chr, range(32, 127)), "\n"]
        backend = _sentence_piece(puts_space_first=pattern == "_")
    else:
        backend = Tokenizer(models.BPE())
        byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern is None)
        backend.pre_tokenizer = byte_level
        if pattern is not None:
            backend.normalizer = normalizers.NFC()
            split = pre_tokenizers.Split(Regex(pattern), "isolated")
            backend.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
        backend.decoder = decoders.ByteLevel()
    special: Any = {"special_tokens": ["<unk>", *control], "initial_alphabet": alphabet}
    trainer = trainers.BpeTrainer(vocab_size=600, show_progress=False, **special)
    backend.train_from_iterator(TEXTS, trainer)
    names: Any = {"eos_token": control[1], "additional_special_tokens": control}
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, chat_template=template, unk_token="<unk>", **names
    )


def _sentence_piece(puts_space_first: bool) -> Tokenizer:
    """Returns an untrained BPE over whole texts, whose tokens have no newline beside others."""
    backend = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    replace = normalizers.Replace(" ", "▁")
    if puts_space_first:
        backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), replace])
    else:
        backend.normalizer = replace
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(r"\n+"), "isolated")
    backend.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse()])
    return backend


SMOLLM2 = "smollm2"
# GPT-2's pattern keeps an empty line apart from what stands before it, Llama 3's and Qwen2's from
# what stands behind it
BEHIND = {"gpt2": False, "llama3": True, "qwen2": True, SMOLLM2: False}


@lru_cache
def encoder_of(name: str) -> ChatEncoder:
    if name == SMOLLM2:
        return ChatEncoder(AutoTokenizer.from_pretrained(smollm2_folder()))
    return ChatEncoder(family_tokenizer(name))


@pytest.mark.parametrize("name", BEHIND)
def test_the_place_is_that_of_the_familys_pattern(name: str) -> None:
    assert encoder_of(name).join_place.behind == BEHIND[name]


@pytest.mark.parametrize("name", ["llama3", "qwen2"])
def test_the_other_place_is_seen_to_be_wrong(name: str) -> None:
    wrong = JoinPlace(behind=False, anchor=ANCHOR_WORD, anchor_tokens=1)
    assert not _joins_hard_texts(encoder_of(name)._plain, wrong)


@pytest.mark.parametrize("name", [*FAMILIES, SMOLLM2])
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_categories=()), max_size=60), min_size=1, max_size=3),
    st.lists(st.text(st.characters(exclude_categories=()), max_size=20), min_size=1, max_size=3),
    st.sampled_from([EMPTY_LINE, "\n", " ", "\n\n\n", ""]),
)
def test_joined_is_the_whole(name: str, texts: list[str], asked: list[str], line: str) -> None:
    encoder = encoder_of(name)
    for text in texts:
        beginning = f"Check the TEXT.\n\nTEXT:\n{text}"
        for question in asked:
            messages = [{"role": "user", "content": f"{beginning}{line}{question}"}]
            assert encoder.encode(messages, len(beginning)) == encoder.encode(messages)


@pytest.mark.parametrize("name", [*FAMILIES, SMOLLM2])
def test_our_prompts_are_parted(name: str) -> None:
    """Else a judge would read its whole text again for every question."""
    beginning = f"{load_prompts().precision.instructions}\n\nTEXT:\nA red kite."
    asked = SharedPrompt(beginning, "\n\nDoes the TEXT speak of it?")
    pieces = encoder_of(name)._pieces(asked, len(beginning))
    assert any(not isinstance(piece, int) and piece.is_shared for piece in pieces)


# tokens: above the characters, below them, and below the tokens, so that the text is cut
@pytest.mark.parametrize("budget", [100_000, 3000, 300])
def test_twice_the_text_is_twice_the_reading(monkeypatch: pytest.MonkeyPatch, budget: int) -> None:
    """Not four times, although a text of twice the length has twice the questions."""

    def read(words: int) -> int:
        encoder = ChatEncoder(family_tokenizer("qwen2"))
        assert encoder.join_place is not None  # finding it reads texts of its own
        plain = Mock(wraps=encoder._plain)
        monkeypatch.setattr(encoder, "_plain", plain)
        text = " ".join(["red kite"] * words) + "."
        questions = []
        for number in range(words):
            prompt = SharedPrompt(text, f"\n\nIs number {number:06} in the TEXT?")
            questions.append(Question(prompt, description=(0, len(text))))
        for question in encoder.encode_ahead(questions, budget):
            encoder.fit(question, budget)
        texts = [call.args[0] for call in plain.encode.call_args_list]
        for call in plain.encode_batch_fast.call_args_list:
            texts += call.args[0]
        return sum(map(len, texts))

    assert read(800) < 2.1 * read(400)


# GPT-4o's, also Llama 4's: a slash behind a sign and an empty line is in one word with them
GPT_4O = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+"
SPACES = normalizers.Replace(" ", "\u2581")
NEWLINES_LOST = normalizers.Sequence([normalizers.Replace("\n", " "), SPACES])


def trained(text: str, normalizer: Any, pattern: str = "") -> Tokenizer:
    """Returns a byte-level tokenizer with a pattern, without one a SentencePiece's."""
    plain = Tokenizer(models.BPE())
    alphabet: list[str] = []
    if pattern:
        split = pre_tokenizers.Split(Regex(pattern), "isolated")
        byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        plain.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
        alphabet = pre_tokenizers.ByteLevel.alphabet()
    if normalizer is not None:
        plain.normalizer = normalizer
    trainer = trainers.BpeTrainer(vocab_size=500, initial_alphabet=alphabet, show_progress=False)
    plain.train_from_iterator([text] * 50, trainer)
    return plain


@pytest.mark.parametrize(
    ("normalizer", "pattern", "learnt", "content"),
    [
        (SPACES, "", "a re\u010d\n\nx. a b\u010d\n\nx", "b\u010d\n\nx"),
        (SPACES, "", "a  \n\na", "a \u2581\n\nb"),
        (NEWLINES_LOST, "", "the kite is of the red kite. x of the x", "kite\n\nx of"),
        (None, GPT_4O, "a dog.\n\nx and/foo or/foo", "a dog.\n\n/foo"),
    ],
    ids=["Czech letter", "sign of a space", "newline as a space", "slash"],
)
def test_a_word_across_the_line(normalizer: Any, pattern: str, learnt: str, content: str) -> None:
    """Else the two parts would have other tokens than the whole."""
    plain = trained(learnt, normalizer, pattern)
    place = find_join_place(plain)
    if place is not None and (cut := place.cut(content, content.index("\n"))):
        first = plain.encode(content[:cut]).ids
        second = plain.encode(place.anchor + content[cut:]).ids[place.anchor_tokens :]
        assert first + second == plain.encode(content).ids


def test_a_token_across_the_line_forbids_the_place() -> None:
    """A vocabulary that was trained without any pattern may have `.` and a newline in one token."""
    anything = r"[\s\S]+"
    plain = trained("A kite.\n\nIs it red?\n\nDoes it fly.", None, anything)
    assert find_join_place(plain) is None


def test_a_unigram_model_has_no_place() -> None:
    plain = Tokenizer(models.Unigram([("a", -1.0), ("b", -2.0)], unk_id=0))
    assert find_join_place(plain) is None
