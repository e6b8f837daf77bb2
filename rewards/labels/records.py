"""People's captions, or their labels of texts, from a JSONL file or a JSON list whose columns a column map names.

    records = read_records(Path("labels.jsonl"), load_map("labelled_spans"))
    records[0].samples[0].completion, records[0].mistakes

A missing column or a value of another kind is an error of one sentence that names the file, the line and the column.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.files.json_lines import read_json_lines, read_json_list
from spanreward.rewards.labels.column_map import ColumnMap, Columns
from spanreward.rewards.labels.row import CharacterSpans, Row
from spanreward.rewards.reward.row import box, one_text


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


def read_records(path: Path, columns: ColumnMap) -> list[Record]:
    """Returns the file's records, in order. Raises FileNotFoundError where the file is missing and ValueError, in one
    sentence, for what cannot be used.
    """
    return [read_record(row, columns.columns) for row in read_rows(path, columns)]


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
        answers=row.references(names.answers) if names.answers else (),
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
