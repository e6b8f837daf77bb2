"""Texts in which people have marked the wrong words, from any table that rewards/rows/tables.py
reads.

{"id": 1, "completion": "A red dog.", "reference": "A brown dog.", "mistakes": ["red"]}

rows = read_marked("labels.jsonl", {"mistakes": "wrong"})      # our names, and the file's
sample, mistakes = rows[0]                                     # mistakes: ((2, 5),)
"""

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from spanreward.rewards.base.checks import check_known
from spanreward.rewards.base.texts import entries, list_in
from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.rows.columns import READ
from spanreward.rewards.rows.lines import line_sample, plain_row
from spanreward.rewards.rows.tables import check_texts, folder_of, no_rows, read_table
from spanreward.training.data.units import Mark, check_units

log = logging.getLogger(__name__)
T = TypeVar("T")
CharacterSpans = tuple[tuple[int, int], ...]
MISTAKES = "mistakes"
MARKED_COLUMNS = ("completion", MISTAKES)


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers [start, end) as they are written, and the words that they are said to mark."""

    start: int
    end: int
    words: str


def read_marked(
    source: Path | str,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> list[tuple[Sample, CharacterSpans]]:
    """Returns each text with what a metric reads beside it, and its wrong characters [start, end).

    See `read_each`. Raises ValueError also where the file's marks count no characters
    (`check_units`).
    """
    samples = list(_samples(source, MARKED_COLUMNS, columns, limit))
    # all marks are looked at together: one tool has written them, in one unit
    entries_of_row = []
    numbers: list[Mark] = []
    for where, sample in samples:
        with _named(where):
            row_entries = entries_of(sample.columns[MISTAKES], MISTAKES)
            entries_of_row.append(row_entries)
            numbers += _numbers(row_entries, sample.completion, f"{where}: ")
    try:
        parts = check_units(numbers, MISTAKES)
    except ValueError as error:
        raise ValueError(f"{error}.") from None
    # as for "happy" in "unhappy", which people may mean
    if parts:
        first = parts[0]
        log.warning(
            "%s%d of %d marks begin or end within a word, such as %r: they are taken as they are",
            first.name,
            len(parts),
            len(numbers),
            first.text[first.start : first.end],
        )
    rows = []
    for named_sample, row_entries in zip(samples, entries_of_row, strict=True):
        where, sample = named_sample
        with _named(where):
            places = _places(row_entries, MISTAKES, sample.completion)
            rows.append((sample, places))
    return rows


def read_each(
    source: Path | str,
    needed: Sequence[str],
    read: Callable[[Sample], T],
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> list[T]:
    """Returns `read(sample)` of each row.

    source: a file or data set that rewards/rows/tables.py reads. needed: the columns that a row
    must have. columns: our names, and the file's for them. limit: the first rows only. Raises
    OSError, and ValueError for another name of ours and for a row that cannot be used.
    """
    results = []
    for where, sample in _samples(source, needed, columns, limit):
        with _named(where):
            results.append(read(sample))
    return results


def _samples(
    source: Path | str,
    needed: Sequence[str],
    columns: Mapping[str, str] | None,
    limit: int | None,
) -> Iterator[tuple[str, Sample]]:
    """Yields each row's name in messages, and its Sample. Raises as `read_each`, and ValueError for
    a file without rows.
    """
    check_known("column", columns or (), {*READ, *needed})
    folder = folder_of(source)
    is_empty = True
    for where, row in read_table(source, columns, limit):
        is_empty = False
        for name in needed:
            if name not in row:
                names = ", ".join(row)
                # a file of verdicts has a message of its own
                check_texts(row, source)
                raise ValueError(
                    f"{where} has no column {name!r}, only {names}: name it with --columns "
                    f"{name}=NAME."
                )
        with _named(where):
            sample = line_sample(plain_row(row), folder)
        yield where, sample
    if is_empty:
        raise no_rows(source)


@contextmanager
def _named(where: str) -> Iterator[None]:
    """Puts the row's name before the message of a ValueError."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{where}: {error}.") from None


def mark_places(value: Any, column: str, text: str) -> CharacterSpans:
    """Returns the characters of a list of [start, end], of whole words of the text, and of [word,
    n] for where the word stands the n-th time. Raises ValueError for what is not in the text, for a
    word alone that stands in it more than once, and as `check_units` does.
    """
    listed = entries_of(value, column)
    check_units(_numbers(listed, text, ""), column)
    return _places(listed, column, text)


def entries_of(value: Any, column: str) -> list[Any]:
    """Returns a list of words, [word, n] and Ranges.

    Ranges are written as [start, end], maybe with a label (doccano), as objects with "start" and
    "end" or "start_offset" and "end_offset" (Argilla), and as objects with such a "value" (Label
    Studio), in a list, alone, or as text. Raises ValueError for another value.
    """
    # a cell of CSV holds its objects as text
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = list_in(value.strip())
    if isinstance(value, Mapping):
        value = [value]
    listed = entries(value, column, (str, list, dict))
    # a text that is no list, "red", would be its own only entry
    if value is None or listed == [value]:
        raise wrong_value(column, "a list of [start, end] or of words", value)
    return [range_in(entry) or entry for entry in listed]


def range_in(entry: Any) -> Range | None:
    """Returns the numbers of an entry, None for one without: Range(2, 5, "") of [2, 5] and of [2,
    5, "wrong"], None of "red" and ["red", 2].
    """
    words = ""
    if isinstance(entry, Mapping):
        # Label Studio has the numbers in "value", other tools have them beside the label
        value = entry.get("value")
        fields = value if isinstance(value, Mapping) else entry
        start = fields.get("start", fields.get("start_offset"))
        end = fields.get("end", fields.get("end_offset"))
        if isinstance(fields.get("text"), str):
            words = fields["text"]
    elif isinstance(entry, list) and len(entry) in (2, 3):
        start = entry[0]
        end = entry[1]
    else:
        return None
    # True is an int in Python, and no place in a text
    if type(start) is int and type(end) is int:
        return Range(start, end, words)
    return None


def _numbers(row_entries: Sequence[Any], text: str, name: str) -> list[Mark]:
    """Returns the entries that are numbers, as marks of the text. name: the row's, in messages."""
    marks = []
    for entry in row_entries:
        # words are in no unit
        if isinstance(entry, Range):
            mark = Mark(name, text, entry.start, entry.end, entry.words)
            marks.append(mark)
    return marks


def _places(row_entries: Sequence[Any], column: str, text: str) -> CharacterSpans:
    """Returns the characters that each entry marks. column: its name, for messages."""
    return tuple(_place(entry, column, text) for entry in row_entries)


def _place(entry: Any, column: str, text: str) -> tuple[int, int]:
    """Returns the characters that one entry marks. Raises ValueError for none in the text, and for
    a word alone that stands in it more than once.
    """
    if isinstance(entry, Range):
        if 0 <= entry.start < entry.end <= len(text):
            return entry.start, entry.end
        # the message below quotes it as it is written
        entry = [entry.start, entry.end]
    word = entry
    number = None  # of the word's times in the text, from 1
    if isinstance(entry, list) and len(entry) == 2:
        word, number = entry
    places = whole_words(word, text) if isinstance(word, str) else []
    # a word alone, which must stand there once
    if number is None:
        if len(places) > 1:
            requirement = (
                f"a word that stands once in its text, or [{word!r}, 1] for the first of "
                f"{len(places)} times"
            )
            raise wrong_value(column, requirement, entry)
        number = 1
    # an entry of another form, a word that is not there, or a range past the end
    if type(number) is not int or not 0 < number <= len(places):
        requirement = f"spans of its text of {len(text)} characters, or whole words of it"
        raise wrong_value(column, requirement, entry)
    return places[number - 1]


def whole_words(word: str, text: str) -> list[tuple[int, int]]:
    """Returns where the word, or the words, stand in the text and in no longer word: "red" not in
    "reddish".
    """
    if not word:
        return []
    # a sign, such as the bracket of "(red)", may touch a letter
    before = r"(?<!\w)" if word[0].isalnum() else ""
    after = r"(?!\w)" if word[-1].isalnum() else ""
    pattern = before + re.escape(word) + after
    return [match.span() for match in re.finditer(pattern, text)]


def wrong_value(column: str, requirement: str, value: Any) -> ValueError:
    """Returns the error for a column's value that is not what the column must hold."""
    return ValueError(f"the column {column!r} must hold {requirement}, got {value!r}")
