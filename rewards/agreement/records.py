"""People's judgments of texts, read from a JSONL file of any layout by a column map (column_map.py).

    records = read_records(Path("judgments.jsonl"), load_map("lave"))
    records[0].samples[0].completion, records[0].ratings["quality"]

Reading is strict: a missing column or a value of another kind is one sentence that names the file, the line and the
column.
"""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rewards.agreement.column_map import ColumnMap
from rewards.reward import box, one_text, texts
from rewards.verdict import Sample

CharacterSpans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Record:
    """What people said of a text, of two texts, or of several for the same picture or question.

    Attributes:
        where: the words that name it in messages.
        group: whose records a bootstrap draws together.
        slice: the part of the set that tables show apart, "" for none.
        samples: the judged texts with what stands beside them.
        systems: what wrote them, where the file says.
        ratings: by criterion people's ratings of the only text, one or several.
        preferences: by criterion how much better the first of two texts is.
        best: votes for the best of several texts, by number.
        mistakes: characters of the only text that are wrong; None where the file does not say.
        omissions: characters of its first reference that it leaves out, likewise.
    """

    where: str
    group: str
    samples: tuple[Sample, ...]
    slice: str = ""
    systems: tuple[str, ...] = ()
    ratings: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    preferences: Mapping[str, float] = field(default_factory=dict)
    best: tuple[int, ...] = ()
    mistakes: CharacterSpans | None = None
    omissions: CharacterSpans | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A judgment's keys and values, and how its values are asked for."""

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

    def name(self, column: str) -> str:
        """An id or a label, which may be a number, as text."""
        value = self.get(column)
        if not isinstance(value, (str, int)):
            raise self.wrong(column, "a text or a whole number", value)
        return str(value)

    def text(self, column: str) -> str:
        value = self.get(column)
        if not isinstance(value, str):
            raise self.wrong(column, "a text", value)
        return value

    def numbers(self, columns: str | tuple[str, ...]) -> tuple[float, ...]:
        """A number, a list of them, or one of each of several columns; true and false are 1 and 0."""
        if isinstance(columns, tuple):
            return tuple(number for column in columns for number in self.numbers(column))
        value = self.get(columns)
        several = value if isinstance(value, list) else [value]
        if not several or not all(isinstance(one, (int, float)) and abs(one) <= sys.float_info.max for one in several):
            raise self.wrong(columns, "a number or a list of numbers", value)
        return tuple(map(float, several))

    def several(self, columns: str | tuple[str, ...]) -> tuple[str, ...]:
        """The texts of several columns, or of one that lists them."""
        if isinstance(columns, tuple):
            return tuple(map(self.text, columns))
        value = self.get(columns)
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self.wrong(columns, "a list of texts", value)
        return tuple(value)

    def references(self, columns: str | tuple[str, ...]) -> tuple[str, ...]:
        if isinstance(columns, tuple):
            return tuple(text for column in columns for text in self.references(column))
        return self.checked(texts, columns) or ()

    def spans(self, column: str, text: str) -> CharacterSpans:
        """[start, end) each, or words that the text has. Raises ValueError for what lies outside it."""
        value = self.get(column)
        if not isinstance(value, list):
            raise self.wrong(column, "a list of [start, end] or of words", value)
        found = []
        for entry in value:
            if isinstance(entry, str) and entry and entry in text:
                found.append((text.index(entry), text.index(entry) + len(entry)))
            elif (
                isinstance(entry, list)
                and len(entry) == 2
                and all(type(one) is int for one in entry)
                and 0 <= entry[0] < entry[1] <= len(text)
            ):
                found.append((entry[0], entry[1]))
            else:
                raise self.wrong(column, f"spans of its text of {len(text)} characters", entry)
        return tuple(found)

    def checked(self, read: Any, column: str) -> Any:
        """What `read(value, column)` makes of the value, its ValueError with the line before it."""
        value = self.get(column)
        try:
            return read(value, column)
        except ValueError as error:
            raise ValueError(f"{self.where}: {error}.") from None

    def wrong(self, column: str, wanted: str, value: Any) -> ValueError:
        return ValueError(f"{self.where}: the column {column!r} must hold {wanted}, got {value!r}.")


def read_records(path: Path, columns: ColumnMap, pictures: Path | None = None) -> list[Record]:
    """The file's judgments, in order. pictures: the folder that pictures' paths start from; None reads none.

    Raises FileNotFoundError where the file is missing and ValueError, in one sentence, for what cannot be used.
    """
    return [read_record(row, columns, pictures) for row in read_rows(path, columns)]


def read_rows(path: Path, columns: ColumnMap) -> list[Row]:
    rows = []
    for where, values in read_objects(path):
        if columns.each is None:
            rows.append(Row(where, values, columns.name))
            continue
        entries = Row(where, values, columns.name).get(columns.each)
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise Row(where, values, columns.name).wrong(columns.each, "a list of objects", entries)
        rest = {key: value for key, value in values.items() if key != columns.each}
        rows += [Row(where, {**rest, **entry}, columns.name) for entry in entries]
    return rows


def read_objects(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """A JSONL file's objects, each with the words that name its line; blank lines are left out."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}: give a JSONL file, one judgment a line.")
    found = []
    for number, line in enumerate(path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        where = f"{path} line {number}"
        try:
            value = json.loads(line.decode("utf-8"))
            json.dumps(value, ensure_ascii=False).encode()  # half a character, "\\ud800", could not be judged
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{where} is not JSON ({error}): mend or remove it.") from None
        if not isinstance(value, dict):
            raise ValueError(f"{where} must hold a JSON object, got {value!r}.")
        found.append((where, value))
    if not found:
        raise ValueError(f"{path} holds no judgment: write one JSON object a line.")
    return found


def read_record(row: Row, columns: ColumnMap, pictures: Path | None = None) -> Record:
    """Raises ValueError for a row without a column that the map names, and for a value that cannot be used."""
    names = columns.columns
    completions = (row.text(names.completion),) if names.completion else row.several(names.completions)
    if not completions:
        raise ValueError(f"{row.where} has no text to judge.")
    references = row.references(names.references) if names.references else ()
    sample = Sample(
        prompt="",
        completion="",
        images=(picture_of(row, names.image, pictures),) if names.image and pictures else (),
        references=references,
        context=" ".join(row.references(names.context)) if names.context else None,
        question=row.checked(one_text, names.question) if names.question else None,
        answers=row.references(names.answers) if names.answers else (),
        task=row.name(names.task).lower() if names.task else None,
        bbox=row.checked(box, names.bbox) if names.bbox else None,
        id=row.name(names.id) if names.id else None,
    )
    systems = row.several(names.systems) if names.systems else ()
    if systems and len(systems) != len(completions):
        raise ValueError(f"{row.where} names {len(systems)} systems for {len(completions)} texts.")
    if names.omissions and not references:
        raise ValueError(f"{row.where} has omissions and no reference that they could be left out of.")
    return Record(
        where=row.where,
        group=row.name(names.group),
        samples=tuple(replace(sample, completion=completion) for completion in completions),
        slice=" ".join(map(row.name, names.slice)),
        systems=systems,
        ratings={criterion: row.numbers(column) for criterion, column in names.ratings.items()},
        preferences=preferences_of(row, columns, len(completions)),
        best=best_of(row, names.best, len(completions)) if names.best else (),
        mistakes=row.spans(names.mistakes, completions[0]) if names.mistakes else None,
        omissions=row.spans(names.omissions, references[0]) if names.omissions else None,
    )


def preferences_of(row: Row, columns: ColumnMap, count: int) -> dict[str, float]:
    """By criterion how much better the first of two texts is."""
    wanted = columns.columns.preferences
    if (wanted or columns.first_is_better) and count != 2:
        raise ValueError(f"{row.where} prefers one of two texts, and has {count}.")
    if columns.first_is_better:
        return {"overall": 1.0}
    if not columns.levels:
        return {criterion: row.numbers(column)[0] for criterion, column in wanted.items()}
    found = {}
    for criterion, column in wanted.items():
        label = row.name(column)
        if label not in columns.levels:
            raise row.wrong(column, f"one of {', '.join(columns.levels)}", label)
        found[criterion] = columns.levels[label]
    return found


def best_of(row: Row, column: str, count: int) -> tuple[int, ...]:
    """Votes for the best of so many texts."""
    votes = row.numbers(column)
    if not all(vote in range(count) for vote in votes):
        raise row.wrong(column, f"the number, from 0, of one of {count} texts", row.get(column))
    return tuple(map(int, votes))


def picture_of(row: Row, column: str, folder: Path) -> str:
    """The picture's path. Raises ValueError for one that is not there, and for one outside the folder."""
    path = os.path.abspath(folder / row.text(column))
    if not Path(path).is_relative_to(os.path.abspath(folder)):
        raise row.wrong(column, f"the path of a picture within {folder}", row.text(column))
    if not Path(path).is_file():
        raise ValueError(f"{row.where}: there is no picture {path}: give the folder of the pictures with --pictures.")
    return path
