"""Marked texts: the words that are wrong, the columns that a text can have, and one sentence for
what is refused.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from spanreward.training.data.marks import read_marked
from tests.support.files import a_file

ROW = {
    "id": 7,
    "completion": "A red cat.",
    "reference": ["A blue cat.", "A cat."],
    "mistakes": [[2, 5], "cat"],
}


def test_mistakes_are_characters_or_words(tmp_path: Path) -> None:
    ((sample, mistakes),) = read_marked(a_file(tmp_path, {**ROW, "place": "north"}))
    assert mistakes == ((2, 5), (6, 9))
    assert (sample.completion, sample.references) == ("A red cat.", ("A blue cat.", "A cat."))
    assert (sample.id, sample.columns["place"]) == ("7", "north")


def test_a_word_is_a_whole_word_and_says_which(tmp_path: Path) -> None:
    text = "A redder red cat, a red dog's bed."
    row = {
        "completion": text,
        "reference": "A cat.",
        "mistakes": [["red", 2], "cat,", "red dog", "bed"],
    }
    ((_, mistakes),) = read_marked(a_file(tmp_path, row))
    assert [text[start:end] for start, end in mistakes] == ["red", "cat,", "red dog", "bed"]
    assert mistakes[0] == (20, 23)
    written = {**row, "mistakes": json.dumps(row["mistakes"])}  # as CSV has it
    assert read_marked(a_file(tmp_path, written))[0][1] == mistakes
    for wrong, reason in (
        ("red", r"stands once in its text, or \['red', 1\] for the first of 2 times, got 'red'"),
        (["red", 3], "or whole words of it, got"),
        (["red", 0], "or whole words of it, got"),
        ("do", "or whole words of it, got 'do'"),
        ("", "or whole words of it, got ''"),
    ):
        with pytest.raises(ValueError, match=reason) as error:
            read_marked(a_file(tmp_path, {**row, "mistakes": [wrong]}))
        assert "labels.jsonl line 1: the column 'mistakes' must hold" in str(error.value)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (
            {"completion": "A dog."},
            "line 1 has no column 'mistakes', only completion: name it with --columns mistakes=NAME",
        ),
        ({"mistakes": []}, "line 1 has no column 'completion', only mistakes"),
        ({**ROW, "completion": 3}, "line 1: a completion must be a text or messages"),
        (
            {**ROW, "reference": 3},
            "line 1: the column 'reference' must hold a text or a list of texts",
        ),
        ({**ROW, "mistakes": [[0, 20]]}, "spans of its text of 10 characters"),
        ({**ROW, "mistakes": "red"}, r"a list of \[start, end\] or of words, got 'red'"),
        ({**ROW, "mistakes": None}, r"a list of \[start, end\] or of words, got None"),
        ({**ROW, "completion": "\ud800"}, "is not JSON"),
        ([1], r"line 1 must hold a JSON object, got \[1\]"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(tmp_path: Path, row: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as error:
        read_marked(a_file(tmp_path, row))
    assert "labels.jsonl line 1" in str(error.value)
    assert "\n" not in str(error.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no input file .*nothing\.jsonl"):
        read_marked(tmp_path / "nothing.jsonl")
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(ValueError, match="holds no rows"):
        read_marked(tmp_path / "empty.jsonl")
    with pytest.raises(ValueError, match="unknown column 'refrence': did you mean 'reference'"):
        read_marked(a_file(tmp_path, ROW), {"refrence": "text"})
