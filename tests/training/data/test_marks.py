"""Marked texts: the words that are wrong, the columns that a text can have, and one sentence for
what is refused.
"""

import json
from pathlib import Path
from typing import Any

from spanreward.training.data.marks import read_marked
from tests.support.files import a_file

ROW: dict[str, Any] = {"id": 7, "completion": "A red cat.", "reference": ["A blue cat.", "A cat."]}
ROW["mistakes"] = [[2, 5], "cat"]


def test_mistakes_are_characters_or_words(tmp_path: Path) -> None:
    ((sample, mistakes),) = read_marked(a_file(tmp_path, {**ROW, "place": "north"}))
    assert mistakes == ((2, 5), (6, 9))
    assert (sample.completion, sample.references) == ("A red cat.", ("A blue cat.", "A cat."))
    assert (sample.id, sample.columns["place"]) == ("7", "north")


def test_a_word_is_a_whole_word_and_says_which(tmp_path: Path) -> None:
    text = "A redder red cat, a red dog's bed."
    row: dict[str, Any] = {"completion": text, "reference": "A cat."}
    row["mistakes"] = [["red", 2], "cat,", "red dog", "bed"]
    ((_, mistakes),) = read_marked(a_file(tmp_path, row))
    assert [text[start:end] for start, end in mistakes] == ["red", "cat,", "red dog", "bed"]
    assert mistakes[0] == (20, 23)
    written = {**row, "mistakes": json.dumps(row["mistakes"])}  # as CSV has it
    assert read_marked(a_file(tmp_path, written))[0][1] == mistakes
