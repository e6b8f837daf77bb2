"""Markup that no text stands between is padding, and the markup of any text is none."""

import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from spanreward.rewards.text.filler import Filler
from spanreward.rewards.text.padding import IN_A_ROW, SAME_MARKS, find_padding
from spanreward.rewards.text.written import read_text
from tests.support.paths import DATA

HONEST = "A red circle sits in the corner."


def found_in(text: str) -> Filler:
    return find_padding(text, read_text(text).unread)


def padding(text: str) -> list[str]:
    return [text[start:end] for start, end, _ in found_in(text).pieces]


@pytest.mark.parametrize("text", [
    "", HONEST, f"**{HONEST}**<br><br>A dog.", f"<div><div><div><p>{HONEST}</p></div></div></div>",
    f"{HONEST}\n----------------------------------------\nA dog.",
    "| thing | colour |\n| --- | --- |\n| circle | red |\n| dog | brown |",
    "<table><tr><td>circle</td></tr><tr><td>dog</td></tr></table>",
    '[{"bbox_2d": [4, 8, 90, 200], "label": "a circle"}, {"bbox_2d": [1, 2, 3, 4], "label": "a dog"}]',
    "<ref>A circle</ref><box>(12,30),(45,60)</box> and <ref>a dog</ref><box>(1,2),(3,4)</box>",
    f"<think>{'Let me see. ' * 200}</think>{HONEST}", f"{HONEST}</s></s></s></s></s></s></s></s>",
    f"```\n{HONEST}\n```",
])  # fmt: skip
def test_the_markup_of_a_text_is_none(text: str) -> None:
    assert padding(text) == []


SAME = ("<br>", "<br/>\n", "<br class='a'> ", "&nbsp;", "<!-- a comment -->", "** ")
IN_ROW = ("[]()", "*", "`")


@pytest.mark.parametrize("mark", [*SAME, *IN_ROW])
def test_the_same_mark_again_in_one_place(mark: str) -> None:
    free = SAME_MARKS if mark in SAME else IN_A_ROW
    assert padding(HONEST + mark * free) == []
    many = found_in(HONEST + mark * 60)
    assert 0 < found_in(HONEST + mark * 2 * free).share < many.share
    characters = sum(end - start for start, end, _ in many.pieces)
    assert characters >= (60 - free) * len(mark.strip()) * 0.9


def test_tags_around_nothing_between_the_words() -> None:
    assert padding(HONEST.replace(" ", " <i></i>", 3)) == []
    assert padding(HONEST.replace(" ", " <i></i>")) == ["</i>"] * 3


def test_a_long_comment_is_padding_past_its_beginning() -> None:
    assert found_in(f"{HONEST}<!-- {'more words ' * 100}-->").share > 0.9


def test_reported_texts_have_none() -> None:
    file = Path(DATA).parent / "field/texts.jsonl"
    if not file.is_file():
        pytest.skip("../shared/field is not here")
    for line in file.read_text().splitlines():
        assert padding(json.loads(line)["completion"]) == []


@given(st.text(alphabet="a <>/b*_`|-\n&;[]()", max_size=300))
def test_pieces_are_in_order_and_never_read(text: str) -> None:
    reading = read_text(text)
    origin = reading.origin
    found = find_padding(text, reading.unread)
    assert 0 <= found.share < 1 or not origin
    read = {place for place in origin if not text[place].isspace()}
    before = 0
    for start, end, _ in found.pieces:
        assert before <= start <= end <= len(text)
        assert read.isdisjoint(range(start, end))
        before = end
