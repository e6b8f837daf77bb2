"""People's captions, or their labels of texts, from any table whose columns a column map names.

    records = read_records(Path("labels.jsonl"), ColumnMap.load("labelled_spans"))
    records[0].samples[0].completion, records[0].mistakes

A missing column or a value of another kind is an error of one sentence that names the file, the line and the column.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spanreward.rewards.base.values import box, entries, one_text, people, texts
from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.files.tables import is_there, read_table
from spanreward.rewards.labels.column_map import ColumnMap, Columns

CharacterSpans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A row's keys and values. Its methods raise ValueError, with the line and the column, for a value of another kind.

    Attributes:
        where: the file and line, for messages.
        map_name: the name of the column map, for messages.
    """

    where: str
    values: Mapping[str, Any]
    map_name: str

    def get(self, column: str) -> Any:
        """Raises ValueError for a column that is not there."""
        if column not in self.values:
            raise ValueError(
                f"{self.where} has no column {column!r}, only {', '.join(self.values)}: copy the column map of "
                f"{self.map_name}, write your file's names into it, and give it with --columns."
            )
        return self.values[column]

    def of_kind(self, column: str, kind: Any, wanted: str) -> Any:
        value = self.get(column)
        if not isinstance(value, kind):
            raise self.wrong(column, wanted, value)
        return value

    def name(self, column: str) -> str:
        """Returns an id or a label, which may be a number, as text."""
        return str(self.of_kind(column, (str, int), "a text or a whole number"))

    def text(self, column: str) -> str:
        return self.of_kind(column, str, "a text")

    def several_texts(self, columns: str | tuple[str, ...]) -> tuple[str, ...]:
        """Returns the list of texts that one column holds, or the one text of each of several columns."""
        if not isinstance(columns, str):
            return tuple(map(self.text, columns))
        value = self.get(columns)
        listed = self.checked(entries, columns)
        if listed == [value] or not all(isinstance(text, str) for text in listed):
            raise self.wrong(columns, "a list of texts", value)
        return tuple(listed)

    def references(self, columns: str | tuple[str, ...]) -> tuple[str, ...]:
        """Returns all texts of one column or several that hold a text or a list of texts each, without blank ones."""
        if isinstance(columns, str):
            return self.checked(texts, columns)
        return tuple(text for column in columns for text in self.references(column))

    def spans(self, column: str, text: str) -> CharacterSpans:
        """Reads [start, end) each, whole words of the text, or [word, n] for where it stands the n-th time. Raises
        ValueError for what is not in the text, and for a word alone that stands in it more than once.
        """
        value = self.get(column)
        listed = self.checked(lambda one, name: entries(one, name, (str, list)), column)
        if value is None or listed == [value]:
            raise self.wrong(column, "a list of [start, end] or of words", value)
        return tuple(self._span(entry, column, text) for entry in listed)

    def _span(self, entry: Any, column: str, text: str) -> tuple[int, int]:
        word, which = entry if isinstance(entry, list) and len(entry) == 2 else (entry, None)
        if type(word) is type(which) is int and 0 <= word < which <= len(text):
            return word, which
        places = whole_words(word, text) if isinstance(word, str) else []
        if which is None and len(places) > 1:
            wanted = f"a word that stands once in its text, or [{word!r}, 1] for the first of {len(places)} times"
            raise self.wrong(column, wanted, entry)
        number = 1 if which is None else which
        if type(number) is not int or not 0 < number <= len(places):
            raise self.wrong(column, f"spans of its text of {len(text)} characters, or whole words of it", entry)
        return places[number - 1]

    def checked(self, read: Any, column: str) -> Any:
        """Returns `read(value, column)`; the message of its ValueError gets the line's name."""
        value = self.get(column)
        try:
            return read(value, column)
        except ValueError as error:
            raise ValueError(f"{self.where}: {error}.") from None

    def wrong(self, column: str, wanted: str, value: Any) -> ValueError:
        return ValueError(f"{self.where}: the column {column!r} must hold {wanted}, got {value!r}.")


@dataclass(frozen=True, slots=True)
class Record:
    """One text or several of the same picture or question.

    Attributes:
        where: the file and line, for messages.
        group: the picture or question.
        samples: the texts with their references and questions.
        mistakes: the characters of the only text that are wrong; None where the file does not say.
    """

    where: str
    group: str
    samples: tuple[Sample, ...]
    mistakes: CharacterSpans | None = None


def read_records(path: Path | str, columns: ColumnMap, limit: int | None = None) -> list[Record]:
    """Returns the records of the file's first `limit` rows. Raises FileNotFoundError where the file is missing and
    ValueError, in one sentence, for what cannot be used.
    """
    return [read_record(row, columns.columns) for row in read_rows(path, columns, limit)]


def read_rows(path: Path | str, columns: ColumnMap, limit: int | None = None) -> list[Row]:
    lines = [Row(where, values, columns.name) for where, values in read_objects(path, limit)]
    if columns.each is None:
        return lines
    rows = []
    for line in lines:
        entries = line.get(columns.each)
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise line.wrong(columns.each, "a list of objects", entries)
        rest = {key: value for key, value in line.values.items() if key != columns.each}
        rows += [replace(line, values={**rest, **entry}) for entry in entries]
    return rows


def read_objects(path: Path | str, limit: int | None = None) -> list[tuple[str, dict[str, Any]]]:
    """Returns a file's rows, each with its file and line."""
    if not is_there(path):
        raise FileNotFoundError(f"there is no file {path}: give a JSONL file, one judgment a line.")
    found = list(read_table(path, limit=limit))
    if not found:
        raise ValueError(f"{path} holds no judgment: write one JSON object a line.")
    return found


def whole_words(word: str, text: str) -> list[tuple[int, int]]:
    """Returns where the word, or the words, stand in the text and in no longer word."""
    before, after = (r"(?<!\w)" if word[:1].isalnum() else ""), (r"(?!\w)" if word[-1:].isalnum() else "")
    return [found.span() for found in re.finditer(before + re.escape(word) + after, text)] if word else []


def read_record(row: Row, names: Columns) -> Record:
    """Raises ValueError for a row without a column that the map names, and for a value that cannot be used."""
    completions = (row.text(names.completion),) if names.completion else row.several_texts(names.completions)
    if not completions:
        raise ValueError(f"{row.where} has no text to judge.")
    sample = Sample(
        prompt="",
        completion="",
        references=row.references(names.references) if names.references else (),
        context=" ".join(row.references(names.context)) if names.context else None,
        question=row.checked(one_text, names.question) if names.question else None,
        answers=row.checked(people, names.answers) if names.answers else (),
        task=row.name(names.task).lower() if names.task else None,
        bbox=row.checked(box, names.bbox) if names.bbox else None,
        id=row.name(names.id) if names.id else None,
    )
    return Record(
        where=row.where,
        group=row.name(names.group),
        samples=tuple(replace(sample, completion=completion) for completion in completions),
        mistakes=row.spans(names.mistakes, completions[0]) if names.mistakes else None,
    )
