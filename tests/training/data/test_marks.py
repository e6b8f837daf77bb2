"""Marked texts: the words that are wrong, the columns that a text can have, and numbers in characters,
or refused with the characters that they would be.
"""

import csv
import json
import logging
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from spanreward.training.data.marks import mark_places, read_marked
from tests.support.files import a_file

SHIPS = "🚢🚢 A green heron and a red boat."


HERON = "A green heron."


def row(text: str, mistakes: Any) -> dict[str, Any]:
    return {"completion": text, "reference": "A heron.", "mistakes": mistakes}


def words(path: Path) -> list[list[str]]:
    read = read_marked(path)
    return [[sample.completion[start:end] for start, end in places] for sample, places in read]


@pytest.mark.parametrize(
    ("text", "mark", "fault"),
    [
        (SHIPS, [7, 12], r"\[7, 12\], .* 'green': in UTF-16 units .* \[5, 10\] = 'green'; give"),
        (SHIPS, [25, 28], r"\[23, 26\] = 'red'"),
        ("🚢🚢🚢 A boat", [9, 13], "text of 10 characters: in UTF-16 units"),
        ("Café: a red dog.", [9, 12], r"in UTF-8 bytes .* \[8, 11\] = 'red'"),
        ("一只 brown dog", [7, 12], r"in UTF-8 bytes .* \[3, 8\] = 'brown'"),
    ],
)
def test_another_unit_is_refused(tmp_path: Path, text: str, mark: list[int], fault: str) -> None:
    with pytest.raises(ValueError, match=f"line 1: .*'mistakes'.*{fault}") as error:
        read_marked(a_file(tmp_path, row(text, [mark])))
    assert "\n" not in str(error.value)


def test_a_file_that_counts_otherwise_says_so_once(tmp_path: Path) -> None:
    plain = row("A green heron.", [[2, 7]])
    path = a_file(tmp_path, plain, row(SHIPS, [[7, 12], [25, 28]]), plain)
    with pytest.raises(ValueError, match=r"line 2: .* = 'green', .* all 4 marks; give"):
        read_marked(path)


@pytest.mark.parametrize(
    ("text", "mistakes", "marked"),
    [
        (SHIPS, [[5, 10], "red"], ["green", "red"]),
        ("🚢 A heron's beak; 3kg.", [[4, 9], [18, 19]], ["heron", "3"]),
        ("🚢一只灰色的苍鹭站着。", [[3, 5]], ["灰色"]),
        ("นกสีเทายืน", [[2, 7]], ["สีเทา"]),
        ("새가 서 있다.", [[0, 1]], ["새"]),
    ],
)
def test_characters_behind_anything_are_taken(
    tmp_path: Path, text: str, mistakes: Any, marked: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    assert words(a_file(tmp_path, row(text, mistakes))) == [marked]
    assert not caplog.messages


def test_parts_of_words_are_taken(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    part = row("🚢 An unhappy man.", [[7, 12], [13, 16]])
    path = a_file(tmp_path, row("A man.", [[0, 1]]), part, part)
    with caplog.at_level(logging.WARNING):
        assert words(path) == [["A"], ["happy", "man"], ["happy", "man"]]
    (warning,) = caplog.messages
    assert re.search("line 2: 2 of 5 marks .* within a word, .* 'happy'", warning)


FORMS = (
    [[2, 7]],
    [[2, 7, "wrong"]],
    [{"start": 2, "end": 7, "text": "green", "labels": ["wrong"]}],
    [{"start_offset": 2, "end_offset": 7, "label": "wrong"}],
    [{"value": {"start": 2, "end": 7, "labels": ["wrong"]}, "type": "labels"}],
    {"start": 2, "end": 7, "labels": ["wrong"]},
)


@pytest.mark.parametrize("form", FORMS)
def test_the_forms_of_tools_in_json_and_in_a_cell(tmp_path: Path, form: Any) -> None:
    assert words(a_file(tmp_path, row("A green heron.", form))) == [["green"]]
    path = tmp_path / "labels.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["completion", "reference", "mistakes"])
        writer.writerow(["A green heron.", "A heron.", json.dumps(form)])
    assert words(path) == [["green"]]


@pytest.mark.parametrize(
    ("text", "mark", "told"),
    [
        (SHIPS, (7, 12, "green"), r"in UTF-16 units .* \[5, 10\] = 'green'"),
        (HERON, (8, 13, "green"), r"says 'green', .* are 'heron'$"),
        (HERON, (2,), "'mistakes' must hold spans"),
        (HERON, (2, "7"), "'mistakes' must hold spans"),
        (HERON, (4, 7, "een"), None),
        (HERON, {"value": {"choices": ["bad"]}}, "'mistakes' must hold spans"),
    ],
)
def test_the_words_that_a_tool_says_decide(text: str, mark: Any, told: str | None) -> None:
    span = mark
    if isinstance(mark, tuple):
        span = dict(zip(("start", "end", "text"), mark, strict=False))
    with pytest.raises(ValueError, match=told) if told else nullcontext():
        assert mark_places([span], "mistakes", text) == ((4, 7),)


def test_mistakes_are_characters_or_words(tmp_path: Path) -> None:
    one = {"id": 7, "completion": "A red cat.", "reference": ["A blue cat.", "A cat."]}
    one |= {"mistakes": [[2, 5], "cat"], "place": "north"}
    ((sample, mistakes),) = read_marked(a_file(tmp_path, one))
    assert mistakes == ((2, 5), (6, 9))
    assert (sample.completion, sample.references) == ("A red cat.", ("A blue cat.", "A cat."))
    assert (sample.id, sample.columns["place"]) == ("7", "north")


def test_a_word_is_a_whole_word_and_says_which(tmp_path: Path) -> None:
    text = "A redder red cat, a red dog's bed."
    marks = [["red", 2], "cat,", "red dog", "bed"]
    for given in (marks, json.dumps(marks)):  # as CSV has it
        ((_, mistakes),) = read_marked(a_file(tmp_path, row(text, given)))
        assert [text[start:end] for start, end in mistakes] == ["red", "cat,", "red dog", "bed"]
        assert mistakes[0] == (20, 23)
