"""Reads completions in which people have marked the wrong words, from any table that
rewards/rows/tables.py reads.

{"id": 1, "completion": "A red dog.", "reference": "A brown dog.", "mistakes": ["red"]}

rows = read_marked("labels.jsonl", {"mistakes": "wrong"})      # the file calls `mistakes` "wrong"
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
from spanreward.rewards.base.texts import entries_of_value, list_in
from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.rows.columns import COLUMNS_READ
from spanreward.rewards.rows.lines import line_sample, plain_row
from spanreward.rewards.rows.tables import check_texts, folder_of, no_rows, read_table
from spanreward.training.data.units import Mark, check_units

log = logging.getLogger(__name__)
T = TypeVar("T")
CharacterSpans = tuple[tuple[int, int], ...]
MISTAKES_COLUMN = "mistakes"
MARKED_COLUMNS = ("completion", MISTAKES_COLUMN)


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers of a mark, [start, end), as the file holds them, in a unit that is not known yet.

    words: the marked words as the file holds them, or "" if the file holds only numbers.
    """

    start: int
    end: int
    words: str


def read_marked(
    source: Path | str,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> list[tuple[Sample, CharacterSpans]]:
    """Returns for each row its Sample, and the characters [start, end) of each mistake that people
    have marked in the completion.

    source: a file or dataset. columns: {our name of a column: the file's name}. limit: only the
    first `limit` rows are read. Raises OSError, and ValueError for an unknown name in `columns` and
    for a row that cannot be used. Also raises ValueError if the file's numbers count another unit
    than characters, such as bytes (`check_units`).
    """
    samples = list(_named_samples(source, MARKED_COLUMNS, columns, limit))
    # collect the marks of all rows: a single tool has written the marks, in a single unit
    entries_of_rows = []
    marks: list[Mark] = []
    for where, sample in samples:
        with _naming_row(where):
            row_entries = entries_of(sample.columns[MISTAKES_COLUMN], MISTAKES_COLUMN)
            entries_of_rows.append(row_entries)
            marks += _marks_of_ranges(row_entries, sample.completion, f"{where}: ")
    try:
        within_words = check_units(marks, MISTAKES_COLUMN)
    except ValueError as error:
        raise ValueError(f"{error}.") from None
    _warn_of_parts_of_words(within_words, len(marks))
    rows = []
    for named_sample, row_entries in zip(samples, entries_of_rows, strict=True):
        where, sample = named_sample
        with _naming_row(where):
            places = _characters_of_entries(row_entries, MISTAKES_COLUMN, sample.completion)
            rows.append((sample, places))
    return rows


def _warn_of_parts_of_words(within_words: Sequence[Mark], count: int) -> None:
    """Logs a warning of marks that begin or end inside of a word, such as "happy" in "unhappy".
    Such marks are no error, because people may mean a part of a word.

    within_words: these marks. count: the number of all marks.
    """
    if not within_words:
        return
    first = within_words[0]  # its name ends in ": "
    log.warning(
        "%s%d of %d marks begin or end within a word, such as %r: they are taken as they are",
        first.name,
        len(within_words),
        count,
        first.text[first.start : first.end],
    )


def read_each(
    source: Path | str,
    needed: Sequence[str],
    read: Callable[[Sample], T],
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> list[T]:
    """Returns `read(sample)` for the Sample of each row.

    source: a file or dataset that rewards/rows/tables.py reads. needed: the columns that each row
    must have. columns: {our name of a column: the file's name}. limit: only the first `limit` rows
    are read. Raises OSError, and ValueError for an unknown name in `columns` and for a row that
    cannot be used.
    """
    results = []
    for where, sample in _named_samples(source, needed, columns, limit):
        with _naming_row(where):
            results.append(read(sample))
    return results


def _named_samples(
    source: Path | str,
    needed: Sequence[str],
    columns: Mapping[str, str] | None,
    limit: int | None,
) -> Iterator[tuple[str, Sample]]:
    """Yields (name for messages, Sample) of each row. The arguments and errors are those of
    `read_each`. Also raises ValueError for a file without rows.
    """
    check_known("column", columns or (), {*COLUMNS_READ, *needed})
    folder = folder_of(source)
    is_empty = True
    for where, row in read_table(source, columns, limit):
        is_empty = False
        _check_needed(row, needed, source, where)
        with _naming_row(where):
            sample = line_sample(plain_row(row), folder)
        yield where, sample
    if is_empty:
        raise no_rows(source)


def _check_needed(
    row: Mapping[str, Any],
    needed: Sequence[str],
    source: Path | str,
    where: str,
) -> None:
    """Raises ValueError if a row lacks one of the needed columns. source: the file or dataset.
    where: the row's name, for the message.
    """
    for name in needed:
        if name not in row:
            names = ", ".join(row)
            # raises with another message if the file holds verdicts, given by mistake
            check_texts(row, source)
            raise ValueError(
                f"{where} has no column {name!r}, only {names}: name it with --columns {name}=NAME."
            )


@contextmanager
def _naming_row(where: str) -> Iterator[None]:
    """Adds the row's name to the message of a ValueError that is raised inside of the `with`."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{where}: {error}.") from None


def mark_places(value: Any, column: str, text: str) -> CharacterSpans:
    """Returns the characters [start, end) of each mark in a row's list of marks.

    Example: in the text "A red dog and a red cat.", the list [[6, 9], "cat", ["red", 2]] marks
    "dog" by its numbers, the only "cat", and the second "red". It gives ((6, 9), (20, 23), (16,
    19)).

    value: the list of marks, in any form that `entries_of` reads. column: the column's name, for
    messages. text: the marked text.

    Raises ValueError for a mark that is not in the text, and for a word without a number if the
    text has the word more than once. Also raises ValueError if the numbers count another unit than
    characters, such as bytes (`check_units`).
    """
    entries = entries_of(value, column)
    # only for its errors: a mark that begins or ends inside of a word is accepted here
    check_units(_marks_of_ranges(entries, text, ""), column)
    return _characters_of_entries(entries, column, text)


def entries_of(value: Any, column: str) -> list[Any]:
    """Returns the marks of a row: a list whose entries are Ranges, words and pairs [word, n].

    Each of these entries is a mark with numbers, and gives Range(2, 5, ""):

        [2, 5]
        [2, 5, "wrong"]                       # doccano adds a label
        {"start": 2, "end": 5}
        {"start_offset": 2, "end_offset": 5}  # Argilla
        {"value": {"start": 2, "end": 5}}     # Label Studio

    Other entries stay as they are, such as the word "red", or ["red", 2] for the second "red".

    value: a list of entries, a single object such as {"start": 2, "end": 5}, or a text that writes
    out one of the two, as in CSV. column: the column's name, for messages. Raises ValueError for
    any other value, such as None or the text "red".
    """
    # read a text that writes out a single object
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = list_in(value.strip())
    if isinstance(value, Mapping):
        entries = [value]
    else:
        # reads a list, and a text that writes out a list
        entries = entries_of_value(value, column, (str, list, dict))
        # `entries_of_value` gives [] for None, and [value] for a value that is no list
        is_list = value is not None and entries != [value]
        if not is_list:
            raise wrong_value(column, "a list of [start, end] or of words", value)
    return [range_in(entry) or entry for entry in entries]


def range_in(entry: Any) -> Range | None:
    """Returns the Range of an entry with two numbers: [2, 5] and [2, 5, "wrong"] give Range(2, 5,
    ""). Returns None for entries such as "red" and ["red", 2].
    """
    words = ""
    if isinstance(entry, Mapping):
        # Label Studio writes the numbers into "value"; other tools write them next to the label
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
    # `isinstance` would also accept True, which is an int in Python
    if type(start) is int and type(end) is int:
        return Range(start, end, words)
    return None


def _marks_of_ranges(row_entries: Sequence[Any], text: str, name: str) -> list[Mark]:
    """Returns a Mark for each Range among a row's entries, whose unit `check_units` will check.

    text: the marked text. name: the row's name with ": ", for messages.
    """
    marks = []
    for entry in row_entries:
        # an entry that is a word does not depend on a unit, and needs no check
        if isinstance(entry, Range):
            mark = Mark(name, text, entry.start, entry.end, entry.words)
            marks.append(mark)
    return marks


def _characters_of_entries(row_entries: Sequence[Any], column: str, text: str) -> CharacterSpans:
    """Returns the characters [start, end) of each entry of `entries_of`. column: the column's name,
    for messages.
    """
    return tuple(_characters_of_entry(entry, column, text) for entry in row_entries)


def _characters_of_entry(entry: Any, column: str, text: str) -> tuple[int, int]:
    """Returns the characters [start, end) that an entry of `entries_of` marks.

    Example: in "A red dog and a red cat.", the entry ["red", 2] marks (16, 19).

    Raises ValueError for an entry that is not in the text. Also raises ValueError for a word
    without a number, such as "red", if the text has the word more than once.
    """
    in_the_text = f"spans of its text of {len(text)} characters, or whole words of it"
    if isinstance(entry, Range):
        if 0 <= entry.start < entry.end <= len(text):
            return entry.start, entry.end
        raise wrong_value(column, in_the_text, [entry.start, entry.end])
    # the entry is a word, or a pair such as ["red", 2] for the second "red" of the text
    word = entry
    number = None
    if isinstance(entry, list) and len(entry) == 2:
        word, number = entry
    places = whole_words(word, text) if isinstance(word, str) else []
    if number is None:
        # a word without a number must be in the text only once
        if len(places) > 1:
            requirement = (
                f"a word that stands once in its text, or [{word!r}, 1] for the first of "
                f"{len(places)} times"
            )
            raise wrong_value(column, requirement, entry)
        number = 1
    # refuse an entry of another form, and a word that is not so often in the text
    if type(number) is not int or not 0 < number <= len(places):
        raise wrong_value(column, in_the_text, entry)
    return places[number - 1]


def whole_words(word: str, text: str) -> list[tuple[int, int]]:
    """Returns the characters [start, end) of each occurrence of `word` in the text, except inside
    of longer words.

    Example: "red" is found once in "A red, reddish dog.", at (2, 5). word: may also be several
    words, such as "red dog".
    """
    if not word:
        return []
    # if `word` begins or ends with a sign, as "(red)" does, the sign may touch a letter
    before = r"(?<!\w)" if word[0].isalnum() else ""
    after = r"(?!\w)" if word[-1].isalnum() else ""
    pattern = before + re.escape(word) + after
    return [match.span() for match in re.finditer(pattern, text)]


def wrong_value(column: str, requirement: str, value: Any) -> ValueError:
    """Returns the error for a wrong value of a column. requirement: the values that the column must
    hold, such as "a list of [start, end] or of words".
    """
    return ValueError(f"the column {column!r} must hold {requirement}, got {value!r}")
