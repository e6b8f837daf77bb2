"""People's judgments of texts, from a JSONL file or a JSON list. A column map (column_map.py) names
its columns.

    judgments = read_judgments(Path("judgments.jsonl"), load_map("lave"))
    judgments[0].samples[0].completion, judgments[0].ratings["quality"]

A missing column or a value of another kind is an error of one sentence that names the file, the
line and the column.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from experiments.labels.column_map import JudgedMap
from experiments.labels.records import Record, Row, read_record, read_rows
from spanreward.training.data.marks import CharacterSpans


@dataclass(frozen=True, slots=True)
class Judgment(Record):
    """What people said of one text, of two, or of several for the same picture or question.
    Judgments of one `group` are drawn together by a bootstrap.

    Attributes:
        slice: the part of the set that tables show apart, "" for none.
        systems: which system wrote each text, where the file says so.
        ratings: by criterion, people's ratings (one or several) of the only text.
        preferences: by criterion, how much better the first of two texts is.
        best: the number of the best of several texts, one vote per person.
        omissions: the characters of the first reference that the only text leaves out; None where
            the file is silent.
    """

    slice: str = ""
    systems: tuple[str, ...] = ()
    ratings: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    preferences: Mapping[str, float] = field(default_factory=dict)
    best: tuple[int, ...] = ()
    omissions: CharacterSpans | None = None


def read_judgments(path: Path, columns: JudgedMap, pictures: Path | None = None) -> list[Judgment]:
    """Returns the file's judgments, in order. pictures: the folder of the pictures' paths; None
    reads no picture. Raises FileNotFoundError where the file is missing and ValueError, in one
    sentence, for what cannot be used.
    """
    found = [
        read_judgment(row, columns, pictures)
        for row in read_rows(path, columns)
        if kept(row, columns)
    ]
    if not found:
        raise ValueError(
            f"{path} has only judgments of {' and '.join(columns.drop_systems)}, which are left "
            "out."
        )
    return found


def kept(row: Row, columns: JudgedMap) -> bool:
    """Whether no text of the row is by a system that the map leaves out."""
    return not columns.drop_systems or set(row.several_texts(columns.columns.systems)).isdisjoint(
        columns.drop_systems
    )


def read_judgment(row: Row, columns: JudgedMap, pictures: Path | None = None) -> Judgment:
    """Raises ValueError for a row without a column that the map names, and for a value that cannot
    be used.
    """
    names = columns.columns
    record = read_record(row, names)
    references, count = record.samples[0].references, len(record.samples)
    images = (picture_of(row, names.image, pictures),) if names.image and pictures else ()
    systems = row.several_texts(names.systems) if names.systems else ()
    if systems and len(systems) != count:
        raise ValueError(f"{row.where} names {len(systems)} systems for {count} texts.")
    if names.omissions and not references:
        raise ValueError(
            f"{row.where} has omissions and no reference that they could be left out of."
        )
    return Judgment(
        where=record.where,
        group=record.group,
        samples=tuple(replace(sample, images=images) for sample in record.samples),
        mistakes=record.mistakes,
        slice=" ".join(map(row.name, names.slice)),
        systems=systems,
        ratings={criterion: numbers(row, column) for criterion, column in names.ratings.items()},
        preferences=preferences_of(row, columns, systems, count),
        best=best_of(row, names.best, count) if names.best else (),
        omissions=row.spans(names.omissions, references[0]) if names.omissions else None,
    )


def numbers(row: Row, columns: str | tuple[str, ...]) -> tuple[float, ...]:
    """Returns a number, a list of numbers, or those of several columns; true and false are 1 and
    0.
    """
    if isinstance(columns, tuple):
        return tuple(number for column in columns for number in numbers(row, column))
    value = row.get(columns)
    several = value if isinstance(value, list) else [value]
    if not several or not all(
        isinstance(one, (int, float)) and abs(one) <= sys.float_info.max for one in several
    ):
        raise row.wrong(columns, "a number or a list of numbers", value)
    return tuple(map(float, several))


def preferences_of(
    row: Row, columns: JudgedMap, systems: Sequence[str], count: int
) -> dict[str, float]:
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
            found[criterion] = numbers(row, column)[0]
            continue
        label = row.name(column)
        if label not in levels:
            raise row.wrong(column, f"one of {', '.join(levels)}", label)
        found[criterion] = levels[label]
    return found


def best_of(row: Row, column: str, count: int) -> tuple[int, ...]:
    votes = numbers(row, column)
    if not all(vote in range(count) for vote in votes):
        raise row.wrong(column, f"the number, from 0, of one of {count} texts", row.get(column))
    return tuple(map(int, votes))


def picture_of(row: Row, column: str, folder: Path) -> str:
    """Returns the picture's path.

    Raises ValueError for a path that leads nowhere or out of the folder.
    """
    path = os.path.abspath(folder / row.text(column))
    if not Path(path).is_relative_to(os.path.abspath(folder)):
        raise row.wrong(column, f"the path of a picture within {folder}", row.text(column))
    if not Path(path).is_file():
        raise ValueError(
            f"{row.where}: there is no picture {path}: give the folder of the pictures with "
            "--pictures."
        )
    return path
