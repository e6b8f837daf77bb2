"""One value in the layouts that data have: read as the same, or refused by one sentence, never as
something else.
"""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from spanreward.rewards.base.values import (
    box,
    completion_text,
    one_text,
    people,
    prompt_text,
    texts,
)
from spanreward.rewards.base.verdict import Sample

SAID = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"))).filter(str.strip),
    min_size=1,
)


@given(SAID)
def test_a_list_is_read_however_it_is_written(said: list[str]) -> None:
    for written in (
        said,
        tuple(said),
        np.array(said, dtype=object),
        json.dumps(said),
        repr(said),
        f" {said} ",
        repr(tuple(said)),
    ):
        assert texts(written, "reference") == tuple(said)
        assert people(written, "answers") == tuple(said)
    objects = [{"answer": text, "answer_id": number} for number, text in enumerate(said)]
    for answers in (objects, json.dumps(objects), repr(objects), {"answer": said}):
        assert people(answers, "answers") == tuple(said)


@given(SAID)
def test_a_sample_reads_as_a_row_does_and_again_the_same(said: list[str]) -> None:
    sample = Sample("", "", references=said, answers=json.dumps(said), criteria=tuple(said))
    assert sample.references == sample.answers == sample.criteria == tuple(said)
    assert Sample("", "", references=sample.references).references == sample.references


@given(st.text().filter(lambda text: text.strip() and not text.lstrip().startswith("[")))
def test_any_other_text_is_a_list_of_one(text: str) -> None:
    assert (
        texts(text, "reference")
        == people(text, "answers")
        == Sample("", "", references=text).references
        == (text,)
    )


@pytest.mark.parametrize(
    "text",
    ["[Photo] A dog.", "[A dog on grass.]", "[12, 40, 90, 80]", "[[File:a.png]]", "[", "[]x"],
)
def test_a_text_in_brackets_is_a_text(text: str) -> None:
    assert texts(text, "reference") == (text,)


@pytest.mark.parametrize("text", ["(A)", "('A')", "(12, 40)", "(A dog) on grass", "('A', 3)"])
def test_a_text_in_parentheses_is_a_text(text: str) -> None:
    assert texts(text, "answers") == (text,)


def test_arrays_that_numpy_printed_are_lists() -> None:
    printed = str(np.array(["surfing", "it's a wave", "surf"], dtype=object))
    assert "," not in printed
    assert texts(printed, "answers") == ("surfing", "it's a wave", "surf")


@pytest.mark.parametrize(
    "text",
    ["['a', None]", "['a', 'b", "['it's', 'b']", '["a", 3]', "['a' ... 'b']", "[['a'], 'b']"],
)
def test_what_looks_like_a_list_and_is_none_is_refused(text: str) -> None:
    with pytest.raises(
        ValueError, match="the column 'reference' holds a list in a string that cannot be read"
    ):
        texts(text, "reference")


@pytest.mark.parametrize("value", [None, float("nan"), "", " ", [], "[]", ["", " "]])
def test_nothing_is_nothing(value: Any) -> None:
    assert texts(value, "reference") == people(value, "answers") == ()
    assert one_text(None if isinstance(value, list) or value == "[]" else value, "question") is None


def test_one_value_in_place_of_several() -> None:
    picture = object()
    sample = Sample("", "", images=picture, answers="red")
    assert (sample.images, sample.answers) == ((picture,), ("red",))
    with pytest.raises(
        ValueError, match="the column 'references' must hold a text or a list of texts, got 3"
    ):
        Sample("", "", references=3)


def test_boxes() -> None:
    for value in ([1, 2, 3, 4], (1, 2, 3, 4), "[1, 2, 3, 4]", np.array([1, 2, 3, 4])):
        assert box(value, "bbox") == (1, 2, 3, 4)
    for wrong in ("1 2 3 4", [1, 2, 3, True], "[1, 2, 3]", 3):
        with pytest.raises(ValueError, match="the column 'bbox' must hold four numbers"):
            box(wrong, "bbox")


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": "A dog."},
        {"from": "gpt", "value": "A dog."},
        {"role": "assistant", "text": "A dog."},
        {"role": "model", "parts": [{"text": "A dog."}]},
        {"content": None, "value": "A dog."},
        *(
            {"role": "assistant", "content": [{"type": kind, "text": "A dog."}]}
            for kind in ("text", "output_text")
        ),
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm."},
                {"type": "text", "text": "A dog."},
            ],
        },
        {"role": "assistant", "content": ["A ", "dog."]},
    ],
)
def test_messages_as_others_write_them(message: Any) -> None:
    assert completion_text([message]) == prompt_text([message]) == "A dog."


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "utterance": "A dog."},
        {"speaker": "gpt"},
        {"role": "assistant", "content": [{"type": "image", "image": None}]},
        {"role": "assistant", "content": [{"type": "reasoning", "summary": "A dog."}]},
    ],
)
def test_a_message_without_a_text_is_refused_by_its_keys(message: Any) -> None:
    with pytest.raises(
        ValueError,
        match=f"no text was found in a completion's message with the keys {', '.join(message)}",
    ):
        completion_text([message])


@pytest.mark.parametrize(
    ("prompt", "shown"),
    [
        ("<image>\nWhat is it?", "What is it?"),
        ([{"from": "human", "value": "<image>\nWhat is it?"}], "What is it?"),
        (
            [
                {
                    "role": "user",
                    "content": [{"type": "image"}, {"type": "text", "text": "What is it?"}],
                }
            ],
            "What is it?",
        ),
        ("<|vision_start|><|image_pad|><|vision_end|>What is it?", "What is it?"),
        ("<|image_1|>\n<|image_2|>\nWhich?", "Which?"),
        (" Describe the <imagery> of x<y in <img>. ", " Describe the <imagery> of x<y in <img>. "),
    ],
)
def test_no_judge_sees_a_picture_s_placeholder(prompt: Any, shown: str) -> None:
    assert prompt_text(prompt) == shown
