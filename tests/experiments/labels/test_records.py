"""Captions and labels out of files of any layout, and one sentence for each that cannot be used."""

from pathlib import Path
from typing import Any

import pytest

from experiments.labels.column_map import JudgedMap, load_map
from experiments.labels.judgments import read_judgments
from tests.support.files import a_file

TEXT = {"group": "g", "completion": "t", "references": "r"}
SEVERAL = {"group": "g", "completions": "c"}


def a_map(columns: dict[str, Any], **others: Any) -> JudgedMap:
    return JudgedMap.model_validate(
        {"name": "Mine", "source": "", "seen": True, "columns": columns, **others}
    )


def test_mistakes_are_characters_or_words(tmp_path: Path) -> None:
    row = {"g": 7, "t": "A red cat.", "r": ["A blue cat.", "A cat."], "wrong": [[2, 5], "cat"]}
    (record,) = read_judgments(a_file(tmp_path, row), a_map({**TEXT, "mistakes": "wrong"}))
    assert (record.group, record.mistakes) == ("7", ((2, 5), (6, 9)))
    assert (record.samples[0].completion, record.samples[0].references) == (
        "A red cat.",
        ("A blue cat.", "A cat."),
    )


def test_several_texts_are_a_list_or_columns(tmp_path: Path) -> None:
    path = a_file(tmp_path, {"g": "a", "c": ["A dog.", "A pup."], "one": "A dog.", "two": "A pup."})
    (listed,) = read_judgments(path, a_map(SEVERAL))
    (named,) = read_judgments(path, a_map({"group": "g", "completions": ["one", "two"]}))
    assert listed == named
    assert [sample.completion for sample in listed.samples] == ["A dog.", "A pup."]


@pytest.mark.parametrize(
    ("row", "columns", "reason"),
    [
        (
            {"g": "a", "text": "A dog."},
            TEXT,
            "line 1 has no column 't', only g, text: copy the column map of Mine",
        ),
        ({"g": "a", "t": 3, "r": "x"}, TEXT, "line 1: the column 't' must hold a text, got 3"),
        (
            {"g": "a", "t": "x", "r": 3},
            TEXT,
            "line 1: the column 'r' must hold a text or a list of texts",
        ),
        (
            {"g": None, "t": "x", "r": "x"},
            TEXT,
            "the column 'g' must hold a text or a whole number, got None",
        ),
        (
            {"g": "a", "t": "x", "r": "x", "s": [[0, 2]]},
            {**TEXT, "mistakes": "s"},
            "spans of its text of 1 characters",
        ),
        (
            {"g": "a", "t": "x", "r": "x", "s": "x"},
            {**TEXT, "mistakes": "s"},
            r"a list of \[start, end\] or of words",
        ),
        ({"g": "a", "t": "\ud800", "r": "x"}, TEXT, "is not JSON"),
        ({"g": "a", "c": []}, SEVERAL, "line 1 has no text to judge"),
        ({"g": "a", "c": "x"}, SEVERAL, "the column 'c' must hold a list of texts, got 'x'"),
        (
            {"g": "a", "c": ["x", 1]},
            SEVERAL,
            r"the column 'c' must hold a list of texts, got \['x', 1\]",
        ),
        ([1], TEXT, r"line 1 must hold a JSON object, got \[1\]"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(
    tmp_path: Path, row: Any, columns: Any, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason) as error:
        read_judgments(a_file(tmp_path, row), a_map(columns))
    assert "labels.jsonl line 1" in str(error.value)
    assert "\n" not in str(error.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no input file .*nothing\.jsonl"):
        read_judgments(tmp_path / "nothing.jsonl", a_map(TEXT))
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(ValueError, match="holds no judgment"):
        read_judgments(tmp_path / "empty.jsonl", a_map(TEXT))
    (tmp_path / "broken.jsonl").write_text("\n{")
    with pytest.raises(ValueError, match=r"broken\.jsonl line 2 is not JSON"):
        read_judgments(tmp_path / "broken.jsonl", a_map(TEXT))


def test_maps_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"map 'thum': did you mean 'thumb'\?"):
        load_map("thum")
    wrong = tmp_path / "mine.yaml"
    wrong.write_text("name: Mine\nsource: here\nseen: true\ncolumns: {group: g, picture: p}\n")
    with pytest.raises(ValueError, match=r"mine\.yaml is no column map: columns\.picture"):
        load_map(str(wrong))
    wrong.write_text("name: [")
    with pytest.raises(ValueError, match=r"mine\.yaml is not YAML"):
        load_map(str(wrong))


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"group": "g"}, "give either completion or completions"),
        (
            {"group": "g", "completion": "t", "completions": "c"},
            "give either completion or completions",
        ),
        ({"group": "g", "completions": "c", "mistakes": "s"}, "mistakes are of a completion"),
    ],
)
def test_a_map_that_no_file_can_have(columns: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        a_map(columns)
