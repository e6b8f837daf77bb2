"""People's judgments of texts, from a JSONL file or a JSON list. A column map (column_map.py) names its columns.

    records = read_records(Path("judgments.jsonl"), load_map("lave"))
    records[0].samples[0].completion, records[0].ratings["quality"]

A missing column or a value of another kind is an error of one sentence that names the file, the line and the column.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from spanreward.rewards.json_lines import read_json_lines, read_json_list
from spanreward.rewards.labels.column_map import ColumnMap
from spanreward.rewards.reward import box, one_text, texts
from spanreward.rewards.verdict import Sample

CharacterSpans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Record:
    """What people said of one text, of two, or of several for the same picture or question.

    Attributes:
        where: the file and line, for messages.
        group: records of one group are drawn together by a bootstrap.
        slice: the part of the set that tables show apart, "" for none.
        samples: the judged texts with their references, questions and pictures.
        systems: which system wrote each text, where the file says so.
        ratings: by criterion, people's ratings (one or several) of the only text.
        preferences: by criterion, how much better the first of two texts is.
        best: the number of the best of several texts, one vote per person.
        mistakes: the characters of the only text that are wrong; None where the file does not say.
        omissions: the characters of its first reference that the text leaves out; None likewise.
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
    """A judgment's keys and values, and methods that read a value and check its kind."""

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

    def numbers(self, columns: str | tuple[str, ...]) -> tuple[float, ...]:
        """Returns a number, a list of numbers, or those of several columns; true and false are 1 and 0."""
        if isinstance(columns, tuple):
            return tuple(number for column in columns for number in self.numbers(column))
        value = self.get(columns)
        several = value if isinstance(value, list) else [value]
        if not several or not all(isinstance(one, (int, float)) and abs(one) <= sys.float_info.max for one in several):
            raise self.wrong(columns, "a number or a list of numbers", value)
        return tuple(map(float, several))

    def several(self, columns: str | tuple[str, ...]) -> tuple[str, ...]:
        """Returns the texts of several columns, or of one that lists them."""
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
        """Reads [start, end) each, or words of the text. Raises ValueError for what lies outside the text."""
        found = []
        for entry in self.of_kind(column, list, "a list of [start, end] or of words"):
            if isinstance(entry, str) and entry and entry in text:
                entry = [text.index(entry), text.index(entry) + len(entry)]
            pair = isinstance(entry, list) and [type(one) for one in entry] == [int, int]
            if not pair or not 0 <= entry[0] < entry[1] <= len(text):
                raise self.wrong(column, f"spans of its text of {len(text)} characters", entry)
            found.append((entry[0], entry[1]))
        return tuple(found)

    def checked(self, read: Any, column: str) -> Any:
        """Returns `read(value, column)`; the message of its ValueError gets the line's name."""
        value = self.get(column)
        try:
            return read(value, column)
        except ValueError as error:
            raise ValueError(f"{self.where}: {error}.") from None

    def wrong(self, column: str, wanted: str, value: Any) -> ValueError:
        return ValueError(f"{self.where}: the column {column!r} must hold {wanted}, got {value!r}.")


def read_records(path: Path, columns: ColumnMap, pictures: Path | None = None) -> list[Record]:
    """Returns the file's judgments, in order. pictures: the folder of the pictures' paths; None reads no picture.
    Raises FileNotFoundError where the file is missing and ValueError, in one sentence, for what cannot be used.
    """
    found = [read_record(row, columns, pictures) for row in read_rows(path, columns) if kept(row, columns)]
    if not found:
        raise ValueError(f"{path} has only judgments of {' and '.join(columns.drop_systems)}, which are left out.")
    return found


def kept(row: Row, columns: ColumnMap) -> bool:
    """Whether no text of the row is by a system that the map leaves out."""
    return not columns.drop_systems or set(row.several(columns.columns.systems)).isdisjoint(columns.drop_systems)


def read_rows(path: Path, columns: ColumnMap) -> list[Row]:
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


def read_objects(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Returns a file's objects, each with its file and line, or its place in the list of a `.json` file."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}: give a JSONL file, one judgment a line.")
    found = list(read_json_list(path) if path.suffix == ".json" else read_json_lines(path))
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
        preferences=preferences_of(row, columns, systems, len(completions)),
        best=best_of(row, names.best, len(completions)) if names.best else (),
        mistakes=row.spans(names.mistakes, completions[0]) if names.mistakes else None,
        omissions=row.spans(names.omissions, references[0]) if names.omissions else None,
    )


def preferences_of(row: Row, columns: ColumnMap, systems: Sequence[str], count: int) -> dict[str, float]:
    """Returns, by criterion, how much better the first of two texts is."""
    wanted = columns.columns.preferences
    if (wanted or columns.first_is_better) and count != 2:
        raise ValueError(f"{row.where} prefers one of two texts, and has {count}.")
    if columns.first_is_better:
        return {"overall": 1.0}
    levels = dict(columns.levels)
    if len(set(systems)) == 2:
        levels |= {systems[0]: 1.0, systems[1]: -1.0}
    found = {}
    for criterion, column in wanted.items():
        if not levels or not (columns.levels or isinstance(row.get(column), str)):
            found[criterion] = row.numbers(column)[0]
            continue
        label = row.name(column)
        if label not in levels:
            raise row.wrong(column, f"one of {', '.join(levels)}", label)
        found[criterion] = levels[label]
    return found


def best_of(row: Row, column: str, count: int) -> tuple[int, ...]:
    votes = row.numbers(column)
    if not all(vote in range(count) for vote in votes):
        raise row.wrong(column, f"the number, from 0, of one of {count} texts", row.get(column))
    return tuple(map(int, votes))


def picture_of(row: Row, column: str, folder: Path) -> str:
    """Returns the picture's path. Raises ValueError for a path that leads nowhere or out of the folder."""
    path = os.path.abspath(folder / row.text(column))
    if not Path(path).is_relative_to(os.path.abspath(folder)):
        raise row.wrong(column, f"the path of a picture within {folder}", row.text(column))
    if not Path(path).is_file():
        raise ValueError(f"{row.where}: there is no picture {path}: give the folder of the pictures with --pictures.")
    return path
