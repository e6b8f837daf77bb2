"""A thinking policy: only the answer is judged, and its spans lie on the tokens that wrote them."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer

from rewards.verdict import Span, Verdict
from training.credit import token_offsets
from training.policy import tiny_tokenizer
from training.reasoning import Parts, on_completion, split_reasoning

END = "</think>"
EOS = 1
SPELLED = tiny_tokenizer().backend_tokenizer  # the tag is written letter by letter


def with_tag(tag: str, special: bool) -> Tokenizer:
    """The tiny tokenizer with the tag as one token."""
    tokenizer = tiny_tokenizer().backend_tokenizer
    tokenizer.add_tokens([AddedToken(tag, special=special, normalized=False)])
    return tokenizer


ONE_TOKEN = with_tag(END, special=False)  # as Qwen3's
SPECIAL = with_tag("[/THINK]", special=True)  # as Magistral's: decoding leaves it out
TOKENIZERS = [(SPELLED, END), (ONE_TOKEN, END), (SPECIAL, "[/THINK]")]
IDS = ["spelled", "one token", "special token"]


def split(text: str, tokenizer: Tokenizer = SPELLED, end: str = END) -> Parts:
    return split_reasoning(tokenizer, [*tokenizer.encode(text, add_special_tokens=False).ids, EOS], end)


@pytest.mark.parametrize(("tokenizer", "end"), TOKENIZERS, ids=IDS)
@pytest.mark.parametrize("between", ["", "\n\n", " "])
@pytest.mark.parametrize("thought", ["<think>\nIs it red?\n", "Is it red? \N{GRINNING FACE}", ""])
@pytest.mark.parametrize("answer", ["A red star.", "\N{GRINNING FACE} \u05d0", ""])
def test_the_answer_begins_behind_the_tag(tokenizer, end, thought, between, answer):
    parts = split(thought + end + between + answer, tokenizer, end)
    shown = "" if end == "[/THINK]" else end
    assert parts == Parts(thought + shown, between + answer, finished=True)


@pytest.mark.parametrize(("tokenizer", "end"), TOKENIZERS, ids=IDS)
@pytest.mark.parametrize("text", ["<think>Is it", "A red star.", "", "</thin"])
def test_an_unfinished_block_holds_no_answer(tokenizer, end, text):
    assert split(text, tokenizer, end) == Parts(text, "", finished=False)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("a</think>b</think>c", "b</think>c"),
        ("a</think>b<think>c</think>d", "b<think>c</think>d"),
        ("<think>a<think>b</think>c</think>d", "c</think>d"),
        ("</think>", ""),
        ("<think></think>", ""),
        ("</think></think></think>", "</think></think>"),
        ("a</THINK>b</think >c</think>d", "d"),
        ("</think><|im_end|><think>", "<|im_end|><think>"),
        ("\x00\u202e</think>\x00\u202e", "\x00\u202e"),
    ],
)
@pytest.mark.parametrize("tokenizer", [SPELLED, ONE_TOKEN], ids=IDS[:2])
def test_the_first_end_tag_counts_and_further_ones_are_words(tokenizer, text, answer):
    parts = split(text, tokenizer)
    assert parts.answer == answer
    assert parts.reasoning + parts.answer == text


def test_a_tag_of_several_special_tokens():
    """As gpt-oss ends its reasoning."""
    tokenizer = with_tag("<|channel|>", special=True)
    tokenizer.add_special_tokens(["<|message|>"])
    end = "<|channel|>final<|message|>"
    assert split("<|channel|>analysis<|message|>red?" + end + "A star.", tokenizer, end) == Parts(
        "analysisred?final", "A star.", finished=True
    )


def test_special_tokens_within_a_spelled_tag_break_it():
    ids = [*SPELLED.encode("a</thi").ids, EOS, *SPELLED.encode("nk>b").ids]
    assert split_reasoning(SPELLED, ids, END) == Parts("a</think>b", "", finished=False)


def test_ids_that_are_no_text():
    emoji = SPELLED.encode("\N{GRINNING FACE}").ids
    tag = SPELLED.encode(END).ids
    assert split_reasoning(SPELLED, [*emoji[:2], *tag, *emoji[2:]], END) == Parts(
        "\ufffd" + END, "\ufffd\ufffd", finished=True
    )
    assert split_reasoning(SPELLED, [], END) == Parts("", "", finished=False)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=20), st.text(max_size=20), st.sampled_from(TOKENIZERS))
@example("<think>", END, TOKENIZERS[1])
def test_any_text_is_cut_at_its_first_tag(thought, answer, kind):
    tokenizer, end = kind
    parts = split(thought + end + answer, tokenizer, end)
    decoded = tokenizer.decode(tokenizer.encode(thought + end + answer, add_special_tokens=False).ids)
    assert parts.finished
    assert parts.reasoning + parts.answer == decoded
    if end == END:
        assert parts.reasoning == decoded[: decoded.index(END) + len(END)]


def test_spans_move_onto_the_completion_and_missed_stay_on_the_reference():
    span = Span(2, 5, 0.0, -0.3, "attribute", "", 0)
    verdict = Verdict(0.5, spans=(span,), missed=(span,))
    parts = split("Red?</think>A red star.")
    found = on_completion(verdict, parts)
    whole = parts.reasoning + parts.answer
    (placed,) = found.spans
    assert whole[placed.start : placed.end] == "red"
    assert found.missed == (span,)
    assert (found.score, placed.credit) == (0.5, -0.3)
    ids = [*SPELLED.encode(whole).ids, EOS]
    offsets = token_offsets(SPELLED, ids, whole)
    assert offsets is not None
    reached = [i for i, (start, end) in enumerate(offsets) if max(start, placed.start) < min(end, placed.end)]
    assert SPELLED.decode([ids[i] for i in reached]) == " red"
