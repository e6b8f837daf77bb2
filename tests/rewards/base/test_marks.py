"""Numbers in place of texts: equal texts have equal ones, and each finds its own place."""

from collections import defaultdict

import pytest
from hypothesis import given, strategies as st

from spanreward.rewards.base.lazy_sequences import View
from spanreward.rewards.base.marks import indices_of_marks, mark_number, mark_numbers


def test_a_fingerprint_is_its_own_number() -> None:
    assert mark_number("00000000000000ff") == 255
    assert mark_number("f" * 16) == 2**64 - 1
    others = ["", "ff", "00000000000000FF", "00000000000000ff\n", "0" * 17, "\ud800", "é", "\0"]
    assert len({mark_number(text) for text in [*others, "00000000000000ff"]}) == len(others) + 1
    assert mark_numbers([]).tolist() == []


@given(st.lists(st.sampled_from("abcd")), st.lists(st.sampled_from("abcde")))
def test_equal_numbers_have_a_place_each_in_order(there: list[str], wanted: list[str]) -> None:
    places = defaultdict[str, list[int]](list)
    for place, text in enumerate(there):
        places[text].append(place)
    expected = [places[text].pop(0) if places[text] else -1 for text in wanted]
    assert indices_of_marks(mark_numbers(there), mark_numbers(wanted)).tolist() == expected


def test_a_view_reads_what_is_asked_for() -> None:
    read: list[str] = []

    def noted(text: str) -> int:
        read.append(text)
        return len(text)

    view = View(["a", "bb", "ccc", "dddd"], [3, 1, 2], noted)
    assert (len(view), view[0], view[-1], view[1:]) == (3, 4, 3, [2, 3])
    assert read == ["dddd", "ccc", "bb", "ccc"]
    assert list(view) == [4, 2, 3]
    with pytest.raises(IndexError):
        view[3]
