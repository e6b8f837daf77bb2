"""Texts and people's marks in them, from any table whose columns a column map names.

    records = [read_record(row, columns.columns) for row in read_rows(Path("labels.jsonl"), columns)]
    records[0].samples[0].completion, records[0].mistakes

A missing column or a value of another kind is an error of one sentence that names the file, the
line and the column.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from experiments.labels.column_map import Columns, JudgedMap
from spanreward.rewards.base.texts import answers_of_people, entries_of_value, texts_of_value
from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.rows.tables import read_table
from spanreward.rewards.rows.values import box_of_value, one_text
from spanreward.training.data.marks import CharacterSpans, mark_places


@dataclass(frozen=True, slots=True)
class Row:
    """A row's keys and values. Its methods raise ValueError, with the line and the column, for a
    value of another kind.

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
                f"{self.where} has no column {column!r}, only {', '.join(self.values)}: copy the "
                f"column map of {self.map_name}, write your file's names into it, and give it with "
                "--columns."
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
        """Returns the list of texts that one column holds, or the one text of each of several
        columns.
        """
        if not isinstance(columns, str):
            return tuple(map(self.text, columns))
        value = self.get(columns)
        listed = self.checked(entries_of_value, columns)
        if listed == [value] or not all(isinstance(text, str) for text in listed):
            raise self.wrong(columns, "a list of texts", value)
        return tuple(listed)

    def references(self, columns: str | tuple[str, ...]) -> tuple[str, ...]:
        """Returns all texts of one column or several that hold a text or a list of texts each,
        without blank ones.
        """
        if isinstance(columns, str):
            return self.checked(texts_of_value, columns)
        return tuple(text for column in columns for text in self.references(column))

    def spans(self, column: str, text: str) -> CharacterSpans:
        """Returns the characters of the text that the column marks (training/data/marks.py)."""
        return self.checked(partial(mark_places, text=text), column)

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


def read_rows(path: Path | str, columns: JudgedMap) -> list[Row]:
    lines = [Row(where, values, columns.name) for where, values in read_objects(path)]
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


def read_objects(path: Path | str) -> list[tuple[str, dict[str, Any]]]:
    """Returns a file's rows, each with its file and line."""
    found = list(read_table(path))
    if not found:
        raise ValueError(f"{path} holds no judgment: write one JSON object a line.")
    return found


def read_record(row: Row, names: Columns) -> Record:
    """Raises ValueError for a row without a column that the map names, and for a value that cannot
    be used.
    """
    completions = (
        (row.text(names.completion),) if names.completion else row.several_texts(names.completions)
    )
    if not completions:
        raise ValueError(f"{row.where} has no text to judge.")
    sample = Sample(
        prompt="",
        completion="",
        references=row.references(names.references) if names.references else (),
        context=" ".join(row.references(names.context)) if names.context else None,
        question=row.checked(one_text, names.question) if names.question else None,
        answers=row.checked(answers_of_people, names.answers) if names.answers else (),
        task=row.name(names.task).lower() if names.task else None,
        bbox=row.checked(box_of_value, names.bbox) if names.bbox else None,
        id=row.name(names.id) if names.id else None,
    )
    return Record(
        where=row.where,
        group=row.name(names.group),
        samples=tuple(replace(sample, completion=completion) for completion in completions),
        mistakes=row.spans(names.mistakes, completions[0]) if names.mistakes else None,
    )
