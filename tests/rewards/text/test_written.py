"""One reading turns what a model wrote into plain text: markup goes, content stays, and every character has its origin."""

import time
import unicodedata

import pytest
from hypothesis import example, given, settings, strategies as st

from experiments.hacking.hostile_texts import CONTROL, HOSTILE
from spanreward.rewards.text.written import read_text

MARKUP = (
    *CONTROL, "</think>", "<b>", "</b>", "<br>", "<p>", "</p>", "<!--", "-->", "~~", "**", "*", "__", "_", "`", "```json\n",
    "```", "# ", "> ", "- ", "1. ", "Caption: ", "Sky:", "**Sky**: ", "\n", " ", "{", "}", "[", "]", "](", ")", "!", "[[1, 2, 3, 4]]",
    '{"caption": "', '"}', '", "objects": ["', '"', ",", "\\n", "\\", "\\boxed{", "\\u003c", "&lt;", "&amp;", "&", "|", "|---|\n",
    "<box>", "(1,2),(3,4)", "</box>", "<loc_12>", "<del>", "</del>", "<i hidden>", "</i>", "not", "a red circle", ".", "'", "~", "$",
    "---\n", "=", "<", ">", "\u25c1think\u25b7", "\x00", "\ud83d", "\ude00",
)  # fmt: skip
TEXTS = st.one_of(
    st.text(), st.lists(st.one_of(st.sampled_from(MARKUP), st.text(max_size=3)), max_size=12).map("".join)
)


@settings(max_examples=600, deadline=None)
@given(TEXTS)
@example("&lt;!-- There is no --&gt; red circle")
@example("<<b>b>x<<b>/b>")
def test_any_text_is_read_once_and_for_all(text: str) -> None:
    reading = read_text(text)
    assert len(reading.plain) == len(reading.origin)
    assert list(reading.origin) == sorted(reading.origin)
    assert all(0 <= place < len(text) for place in reading.origin)
    assert read_text(reading.plain).plain == reading.plain
    for number, (said, place) in enumerate(zip(reading.plain, reading.origin, strict=True)):
        start, end = reading.written(number, number + 1)
        assert start == place < end
        if unicodedata.category(said)[0] in "LN" and said != text[place]:
            assert text[place] in "\\&"  # an escape or an entity
    if reading.plain == text:
        assert reading.plain is text
