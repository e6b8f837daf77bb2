"""Texts in which people have marked the wrong words, from any table that rewards/rows/tables.py
reads.

{"id": 1, "completion": "A red dog.", "reference": "A brown dog.", "mistakes": ["red"]}

rows = read_marked("labels.jsonl", {"mistakes": "wrong"})      # our names, and the file's
sample, mistakes = rows[0]                                     # mistakes: ((2, 5),)
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from spanreward.rewards.base.checks import check_known
from spanreward.rewards.base.texts import entries
from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.rows.columns import READ
from spanreward.rewards.rows.lines import line_sample, plain_row
from spanreward.rewards.rows.tables import folder_of, no_rows, read_table

T = TypeVar("T")
CharacterSpans = tuple[tuple[int, int], ...]
MARKED = ("completion", "mistakes")


def read_marked(
    source: Path | str, columns: Mapping[str, str] | None = None, limit: int | None = None
) -> list[tuple[Sample, CharacterSpans]]:
    """Returns each text with what a metric reads beside it, and its wrong characters [start, end).

    See `read_each`.
    """
    return read_each(source, MARKED, lambda sample: (sample, mistakes_in(sample)), columns, limit)


def mistakes_in(sample: Sample) -> CharacterSpans:
    return marks(sample.columns["mistakes"], "mistakes", sample.completion)


def read_each(
    source: Path | str,
    needed: Sequence[str],
    read: Callable[[Sample], T],
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> list[T]:
    """Returns `read(sample)` of each row. needed: the columns that a row must have. columns: our
    names, and the file's for them. Raises OSError, and ValueError for another name of ours and for
    a row that cannot be used.
    """
    check_known("column", columns or (), {*READ, *needed})
    folder = folder_of(source)
    results = []
    for where, row in read_table(source, columns, limit):
        for name in needed:
            if name not in row:
                names = ", ".join(row)
                raise ValueError(
                    f"{where} has no column {name!r}, only {names}: name it with {name}=NAME."
                )
        try:
            results.append(read(line_sample(plain_row(row), folder)))
        except ValueError as error:
            raise ValueError(f"{where}: {error}.") from None
    if not results:
        raise no_rows(source)
    return results


def marks(value: Any, column: str, text: str) -> CharacterSpans:
    """Returns the characters of a list of [start, end], of whole words of the text, and of [word,
    n] for where the word stands the n-th time. Raises ValueError for what is not in the text, and
    for a word alone that stands in it more than once.
    """
    listed = entries(value, column, (str, list))
    if value is None or listed == [value]:
        raise wrong(column, "a list of [start, end] or of words", value)
    return tuple(_mark(entry, column, text) for entry in listed)


def _mark(entry: Any, column: str, text: str) -> tuple[int, int]:
    word, which = entry, None
    if isinstance(entry, list) and len(entry) == 2:
        word, which = entry
    if type(word) is type(which) is int and 0 <= word < which <= len(text):
        return word, which
    places = whole_words(word, text) if isinstance(word, str) else []
    if which is None and len(places) > 1:
        wanted = (
            f"a word that stands once in its text, or [{word!r}, 1] for the first of "
            f"{len(places)} times"
        )
        raise wrong(column, wanted, entry)
    number = 1 if which is None else which
    if type(number) is not int or not 0 < number <= len(places):
        raise wrong(
            column, f"spans of its text of {len(text)} characters, or whole words of it", entry
        )
    return places[number - 1]


def whole_words(word: str, text: str) -> list[tuple[int, int]]:
    """Returns where the word, or the words, stand in the text and in no longer word."""
    if not word:
        return []
    before = r"(?<!\w)" if word[0].isalnum() else ""
    after = r"(?!\w)" if word[-1].isalnum() else ""
    return [match.span() for match in re.finditer(before + re.escape(word) + after, text)]


def wrong(column: str, wanted: str, value: Any) -> ValueError:
    return ValueError(f"the column {column!r} must hold {wanted}, got {value!r}")
