"""A beginning that is encoded once gives the tokens of the whole prompt, with every family of
tokenizers.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

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
    hard_characters,
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


@dataclass(frozen=True)
class Family:
    """A family's pattern (None: GPT-2's, "": none) and template."""

    pattern: str | None
    template: str
    control: tuple[str, ...]
    puts_space_first: bool = False


FAMILIES = {
    "gpt2": Family(None, CHATML, ("<|im_start|>", "<|im_end|>")),
    "llama3": Family(LLAMA_3, HEADERS, ("<|start_header_id|>", "<|eot_id|>", "<|end_header_id|>")),
    "qwen2": Family(QWEN_2, CHATML, ("<|im_start|>", "<|im_end|>")),
    "gemma": Family("", TURNS, ("<start_of_turn>", "<end_of_turn>")),
    "mistral": Family("", INSTRUCTIONS, ("[INST]", "[/INST]"), puts_space_first=True),
}


def family_tokenizer(name: str) -> PreTrainedTokenizerFast:
    """Returns a tokenizer of the family, with a few hundred tokens."""
    family = FAMILIES[name]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    if family.pattern == "":
        alphabet = [*map(chr, range(32, 127)), "\n"]
        backend = _sentence_piece(family.puts_space_first)
    else:
        backend = Tokenizer(models.BPE())
        byte_level = pre_tokenizers.ByteLevel(
            add_prefix_space=False, use_regex=family.pattern is None
        )
        backend.pre_tokenizer = byte_level
        if family.pattern is not None:
            backend.normalizer = normalizers.NFC()
            split = pre_tokenizers.Split(Regex(family.pattern), "isolated")
            backend.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
        backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<unk>", *family.control],
        initial_alphabet=alphabet,
        show_progress=False,
    )
    backend.train_from_iterator(TEXTS, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        chat_template=family.template,
        eos_token=family.control[1],
        unk_token="<unk>",
        additional_special_tokens=list(family.control),
    )


def _sentence_piece(puts_space_first: bool) -> Tokenizer:
    """Returns an untrained BPE over whole texts, as SentencePiece makes them. Training parts at
    newlines as SentencePiece does: no token has one beside other characters.
    """
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
    place = encoder_of(name).join_place
    assert place is not None
    assert place.behind == BEHIND[name]


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
def test_joined_ids_are_those_of_the_whole(
    name: str, texts: list[str], asked: list[str], line: str
) -> None:
    encoder = encoder_of(name)
    for text in texts:
        beginning = f"Check the TEXT.\n\nTEXT:\n{text}"
        for question in asked:
            messages = [{"role": "user", "content": f"{beginning}{line}{question}"}]
            assert encoder.encode(messages, len(beginning)) == encoder.encode(messages)


@pytest.mark.parametrize("name", [*FAMILIES, SMOLLM2])
def test_hard_characters_on_both_sides(name: str) -> None:
    encoder = encoder_of(name)
    for left in hard_characters():
        beginning = f"TEXT:\nA kite {left}"
        for right in hard_characters():
            content = f"{beginning}\n\n{right}Is it?"
            messages = [{"role": "user", "content": content}]
            assert encoder.encode(messages, len(beginning)) == encoder.encode(messages), content


@pytest.mark.parametrize("name", [*FAMILIES, SMOLLM2])
def test_our_prompts_are_parted(name: str) -> None:
    """Else a judge would read its whole text again for every question."""
    wording = load_prompts().precision
    beginning = f"{wording.instructions}\n\nTEXT:\nA red kite."
    asked = SharedPrompt(beginning, "\n\nDoes the TEXT speak of it?")
    pieces = encoder_of(name)._pieces(asked, len(beginning))
    assert any(not isinstance(piece, int) and piece.is_shared for piece in pieces)


def counted(monkeypatch: pytest.MonkeyPatch, encoder: ChatEncoder) -> list[int]:
    """Returns the lengths of the texts that the tokenizer reads from now on."""
    assert encoder.join_place is not None
    lengths: list[int] = []

    class Counting:
        plain = encoder._plain

        def encode(self, text: str, **settings: Any) -> Any:
            lengths.append(len(text))
            return self.plain.encode(text, **settings)

        def encode_batch_fast(self, texts: list[str], **settings: Any) -> Any:
            lengths.extend(map(len, texts))
            return self.plain.encode_batch_fast(texts, **settings)

    monkeypatch.setattr(encoder, "_plain", Counting())
    return lengths


@pytest.mark.parametrize("budget", [100_000, 3000])  # tokens: above the characters, and below them
def test_twice_the_text_is_twice_the_reading(monkeypatch: pytest.MonkeyPatch, budget: int) -> None:
    """Not four times, although a text of twice the length has twice the questions."""

    def read(words: int) -> int:
        encoder = ChatEncoder(family_tokenizer("qwen2"))
        lengths = counted(monkeypatch, encoder)
        text = " ".join(["red kite"] * words) + "."
        questions = []
        for number in range(words):
            prompt = SharedPrompt(text, f"\n\nIs number {number:06} in the TEXT?")
            questions.append(Question(prompt, description=(0, len(text))))
        for question in encoder.encode_ahead(questions, budget):
            encoder.fit(question, budget)
        return sum(lengths)

    assert read(800) < 2.1 * read(400)


def test_a_token_across_the_line_forbids_the_place() -> None:
    """A vocabulary that was trained without any pattern may have `.` and a newline in one token."""
    plain = Tokenizer(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    plain.train_from_iterator(["A kite.\n\nIs it red?\n\nDoes it fly."] * 50, trainer)
    assert find_join_place(plain) is None


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
def test_a_word_across_the_line_forbids_the_place(
    normalizer: Any, pattern: str, learnt: str, content: str
) -> None:
    """Else the two parts would have other tokens than the whole."""
    plain = trained(learnt, normalizer, pattern)
    place = find_join_place(plain)
    cut = place.cut(content, content.index("\n")) if place is not None else 0
    if place is not None and cut:
        first = plain.encode(content[:cut]).ids
        second = plain.encode(place.anchor + content[cut:]).ids[place.anchor_tokens :]
        assert first + second == plain.encode(content).ids


def test_a_unigram_model_has_no_place() -> None:
    plain = Tokenizer(models.Unigram([("a", -1.0), ("b", -2.0)], unk_id=0))
    assert find_join_place(plain) is None
