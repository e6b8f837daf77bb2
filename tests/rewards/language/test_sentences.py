"""Sentences lie on the text exactly as it was given."""

import re

import pytest
from hypothesis import given, settings, strategies as st

from spanreward.rewards.language.parse import split_sentences


def said(text: str) -> list[str]:
    (places,) = split_sentences([text])
    return [text[start:end] for start, end in places]


@pytest.mark.parametrize("text", [
    "", " \n\t ", "\n\n [A cat sleeps on the mat.]\n\n[A dog runs in the park.] ",
    "[A cat \ud800 sleeps.] [A dog runs.]",
])  # fmt: skip
def test_sentences_of_odd_texts(text: str) -> None:
    assert said(re.sub(r"[][]", "", text)) == re.findall(r"\[(.*?)]", text)


def test_equal_texts_and_their_order() -> None:
    texts = ["A dog runs.", "A cat sleeps. A dog runs.", "  A dog runs.", "A dog runs."]
    assert split_sentences(texts) == [split_sentences([text])[0] for text in texts]


PIECES = ["A cat.", " ", "It is red", ".", "\n", "🟥", "!?", "\x00"]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80) | st.lists(st.sampled_from(PIECES)).map("".join))
def test_sentences_hold_all_but_white_space(text: str) -> None:
    (places,) = split_sentences([text])
    before = 0
    for start, end in [*places, (len(text), len(text))]:
        assert before <= start <= end
        assert text[before:start].strip() == ""
        assert text[start:end] == text[start:end].strip()
        before = end
    assert all(start < end for start, end in places)
