"""A row as a Sample: its columns under their own names or the data's, and the row again."""

from typing import Any

import pytest
from PIL import Image

from spanreward import Sample
from spanreward.rewards.rows.columns import picture_key, read_columns, read_pictures
from spanreward.rewards.rows.fingerprint import row_fingerprint, sample_fingerprint
from spanreward.rewards.rows.sample import read_sample, row_of, row_sample

ROW = {
    "id": 3,
    "prompt": [{"role": "user", "content": "<image>\nWhat is it?"}],
    "question": "<image> What is it?",
    "answers": [{"answer": "dog"}, {"answer": "puppy"}],
    "reference": "['A dog.', 'A puppy.']",
    "bbox": "[1, 2, 3, 4]",
    "place": "a park",
}


def test_a_row_is_a_sample_and_a_row_again() -> None:
    sample = row_sample(ROW, "A cat.")
    assert (sample.prompt, sample.question) == ("What is it?", "What is it?")
    assert (sample.answers, sample.references) == (("dog", "puppy"), ("A dog.", "A puppy."))
    assert (sample.bbox, sample.id) == ((1, 2, 3, 4), "3")
    assert dict(sample.columns) == {"place": "a park"}
    for row in ({}, {"prompt": None, "image": None}):
        assert row_sample(row, "x") == Sample("", "x")
    assert_read_again(sample)


def assert_read_again(sample: Sample) -> None:
    row = row_of(sample)
    again = read_sample(row, row["completion"], row["prompt"])
    assert again == sample
    assert {**again.columns, **sample.columns} == again.columns


MORE: dict[str, Any] = {"context": "ctx", "anchor": "other", "criteria": ("Be kind.",)}
SAMPLES = [
    Sample("Say.", "A dog. \ud83d\ude00\n"),
    Sample("", "", references=("['a list', 'in a text']", "A cat."), id="7"),
    Sample("p", "c", bbox=(0, 1, 2.5, 3), question="What?", answers=("2", "two"), task="ic"),
    Sample("p", "c", columns={"mine": [0, {"a": None}]}, **MORE),
]


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_sample_is_read_again_as_it_was(sample: Sample) -> None:
    assert_read_again(sample)


def test_columns_have_the_data_s_names() -> None:
    values = read_columns({"caption": "A dog.", "reference": "A cat."}, {"reference": "caption"})
    assert values["reference"] == ("A dog.",)
    assert {value for column, value in values.items() if column != "reference"} == {None, ()}


def test_pictures_are_under_one_of_two_keys() -> None:
    picture = Image.new("RGB", (1, 1))
    for row in ({"image": picture}, {"images": [picture]}, {"images": [], "image": [picture]}):
        assert read_pictures(row) == (picture,)
    assert read_pictures({"image": " ", "images": None}) == ()
    assert read_pictures({"image": "one", "images": ["two", "three"]}) == ("two", "three")
    assert picture_key({}, {"images": 1}) == "images"
    assert picture_key({}, {"images": 1, "image": 1}) == picture_key({}, {}) == "image"
    assert picture_key({"image": "photo"}, {"images": 1}) == "photo"


def test_a_row_is_known_by_all_but_its_answer() -> None:
    assert row_fingerprint(ROW) == sample_fingerprint(row_sample(ROW))
    assert row_fingerprint(ROW) == row_fingerprint({**ROW, "id": 4, "completion": "A cat."})
    assert row_fingerprint(ROW) != row_fingerprint({**ROW, "reference": "A cat."})
