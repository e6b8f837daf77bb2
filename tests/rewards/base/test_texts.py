"""A text, or several, in the layouts that data have: read as the same, or refused."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from spanreward.rewards.base.texts import answers_of_people, texts_of_value
from spanreward.rewards.base.verdict import Sample

LETTERS = st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"))
SAID = st.lists(st.text(LETTERS).filter(str.strip), min_size=1)


@given(SAID)
def test_a_list_is_read_however_it_is_written(said: list[str]) -> None:
    array = np.array(said, dtype=object)
    as_texts = (json.dumps(said), repr(said), f" {said} ", repr(tuple(said)))
    for written in (said, tuple(said), array, *as_texts):
        assert texts_of_value(written, "reference") == tuple(said)
        assert answers_of_people(written, "answers") == tuple(said)
    objects = [{"answer": text, "answer_id": number} for number, text in enumerate(said)]
    for answers in (objects, json.dumps(objects), repr(objects), {"answer": said}):
        assert answers_of_people(answers, "answers") == tuple(said)
    # a sample reads as a row does, and again the same
    sample = Sample("", "", references=said, answers=json.dumps(said), criteria=tuple(said))
    assert sample.references == sample.answers == sample.criteria == tuple(said)
    assert Sample("", "", references=sample.references).references == sample.references


@given(st.text().filter(lambda text: text.strip() and not text.lstrip().startswith("[")))
def test_any_other_text_is_a_list_of_one(text: str) -> None:
    assert texts_of_value(text, "reference") == answers_of_people(text, "answers") == (text,)
    sample = Sample("", "", references=text, criteria=text)
    assert sample.references == sample.criteria == (text,)


BRACKETED = [
    "[Photo] A dog.", "[A dog on grass.]", "[12, 40, 90, 80]", "[[File:a.png]]", "[", "[]x",
]  # fmt: skip
BRACKETED += ["(A)", "('A')", "(12, 40)", "(A dog) on grass", "('A', 3)"]


def test_a_text_in_brackets_is_a_text_and_an_array_that_numpy_printed_a_list() -> None:
    for text in BRACKETED:
        assert texts_of_value(text, "reference") == (text,)
    for text in ("{'a': 1}", "{x, y}", "[True, False]", "[None of these, or 2]"):
        assert answers_of_people(text, "answers") == (text,)
    printed = str(np.array(["surfing", "it's a wave", "surf"], dtype=object))
    assert "," not in printed
    assert texts_of_value(printed, "answers") == ("surfing", "it's a wave", "surf")


@pytest.mark.parametrize("text", [
    "['a', None]", "[None, 'a']", "[nan, 'a']", '[null, "a"]', "[nan, None, 'a']", "[NaN]",
    "[nan, 2]", "[2, None, 3]", "['a', 'b", "['it's', 'b']", '["a", 3]', "['a' ... 'b']",
    "[['a'], 'b']",
])  # fmt: skip
def test_what_looks_like_a_list_and_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="'reference' holds a list"):
        texts_of_value(text, "reference")


@pytest.mark.parametrize("value", [None, float("nan"), "", " ", [], "[]", ["", " "]])
def test_nothing_is_nothing(value: Any) -> None:
    assert texts_of_value(value, "reference") == answers_of_people(value, "answers") == ()


def test_one_value_in_place_of_several() -> None:
    picture = object()
    sample = Sample("", "", images=picture, answers="red")
    assert (sample.images, sample.answers) == ((picture,), ("red",))
    for reference in (3, 0.5, {"text": "A star."}, ["A star.", 3], [None], [["A star."]]):
        with pytest.raises(ValueError, match=r"column 'references' .*list of texts"):
            Sample("", "", references=reference)


CELLS: list[tuple[Any, tuple[str, ...]]] = [
    ({"answer": ["2", "two"]}, ("2", "two")),
    ({"answer": 2}, ("2",)),
    ([2, 3], ("2", "3")),
    ([2.5, -1], ("2.5", "-1")),
    ([{"answer": 2, "answer_id": 1}, {"answer": "two"}], ("2", "two")),
]


@pytest.mark.parametrize(("written", "said"), CELLS)
def test_a_cell_of_a_table_holds_what_a_line_of_json_holds(written: Any, said: Any) -> None:
    for value in (written, json.dumps(written), repr(written)):
        assert answers_of_people(value, "answers") == said


@pytest.mark.parametrize("value", [2, [True], [None, "2"], [float("nan"), "2"], [{"text": "2"}]])
def test_answers_of_another_kind_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="column 'answers'"):
        answers_of_people(value, "answers")
