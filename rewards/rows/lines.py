"""Reads the rows of a file, of a dataset or in memory. Each row becomes a Sample or an error text.

    for row in read_rows("rows.jsonl", {"reference": "caption"}, limit=100):
        row.id, row.sample      # "1", and Sample(...) or a sentence about the row's fault

tables.py reads the lines, columns.py reads their values, and pictures.py finds the pictures' files.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spanreward.rewards.base.lazy_sequences import View
from spanreward.rewards.base.texts import is_joined
from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.files.on_disk import OnDisk
from spanreward.rewards.rows.messages import messages_in
from spanreward.rewards.rows.pictures import picture_path
from spanreward.rewards.rows.sample import row_sample
from spanreward.rewards.rows.tables import Rows, check_texts, folder_of, no_rows, row_id, table_rows
from spanreward.rewards.rows.values import plain_value

log = logging.getLogger(__name__)

TextLine = list[Any]  # the arguments of `read_row` without the folder, as values of JSON


@dataclass(frozen=True, slots=True)
class InputRow:
    """One row of the input.

    Args:
        number: the row's number, from 1.
        id: the row's `id` in the output.
        values: the row's keys and plain values, or {} for an unreadable row.
        sample: the row's Sample, or a sentence about the row's fault.
    """

    number: int
    id: str
    values: Mapping[str, Any]
    sample: Sample | str


def read_rows(
    source: Rows,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> Sequence[InputRow]:
    """Returns the rows of a file, of a dataset of the hub, or in memory.

    Rows of a file or a dataset are first copied to the disk (files/on_disk.py), so that the file
    may change while the rows are used. Logs a warning if rows have several answers in one text,
    such as "red, red, blue". columns: for each of our names, the source's key, such as
    {"reference": "caption"}. limit: the largest number of rows. Raises OSError, and ValueError for
    a source that cannot be read or has no rows.
    """
    folder = folder_of(source)
    joined_answers = _JoinedAnswers()  # counts the rows with several answers in one text
    rows: Sequence[InputRow]
    # a generator, so that only one line at a time is in memory
    lines = (
        joined_answers.plain_line(number, where, row)
        for number, where, row in table_rows(source, columns, limit)
    )
    if isinstance(source, str | Path):
        on_disk = OnDisk(lines)
        rows = View(on_disk, range(len(on_disk)), lambda line: _row_of_line(line, folder))
    else:
        rows = [_row_of_line(line, folder) for line in lines]
    if not rows:
        raise no_rows(source)
    check_texts(rows[0].values, source)
    joined_answers.warn(len(rows), source)
    return rows


class _JoinedAnswers:
    """Counts the rows whose column `answers` is one text that joins several people's answers.

    Attributes:
        count: the number of such rows so far.
        first: the answers of the first such row, such as "red, red, blue".
    """

    def __init__(self) -> None:
        self.count = 0
        self.first: Any = None

    def plain_line(self, number: int, where: str, row: dict[str, Any] | str) -> TextLine:
        """Returns the line with plain values, and counts the line if its answers are joined.

        row: the line's row, or a sentence about the fault of the line.
        """
        if isinstance(row, str):
            return [number, where, row]
        values = plain_row(row)
        answers = values.get("answers")
        if is_joined(answers):
            if not self.count:
                self.first = answers
            self.count += 1
        return [number, where, values]

    def warn(self, rows: int, source: object) -> None:
        """Logs a warning if any row has joined answers. rows: the number of all rows."""
        if not self.count:
            return
        name = source if isinstance(source, str | Path) else "the table"
        log.warning(
            "%s: the answers of %d of %d rows are one text each, such as %r, and are read as one "
            'answer: where they are several, write a list, ["red", "blue"]',
            name,
            self.count,
            rows,
            self.first,
        )


def read_row(
    number: int,
    where: str,
    row: dict[str, Any] | str,
    folder: Path = Path(),
) -> InputRow:
    """Returns the row with its Sample, or with a sentence about the fault of a row without Sample.

    number: the row's number, from 1. where: the row's place, such as "line 3", for the sentence.
    row: the row, or the sentence if the row is unreadable. folder: the folder in which paths of
    pictures begin.
    """
    if isinstance(row, str):
        return InputRow(number, where, {}, row)
    values = plain_row(row)
    completion = values.get("completion")
    # the Sample, or a sentence about the fault
    sample: Sample | str
    if _is_completion(completion):
        try:
            sample = line_sample(values, folder)
        except ValueError as error:
            sample = f"{where}: {error}"
    elif isinstance(completion, list):
        sample = (
            f"{where} holds a list as its completion, got {completion!r:.200}: give one text, or "
            "messages"
        )
    else:
        sample = f"{where} needs the key 'completion' with a text, got {completion!r}"
    return InputRow(number, row_id(values, number), values, sample)


def _row_of_line(line: TextLine, folder: Path) -> InputRow:
    """Returns the row of a line that was stored on the disk."""
    number, where, row = line
    return read_row(number, where, row, folder)


def plain_row(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Returns a row of a table or of pandas with keys and values that JSON has (`plain_value`)."""
    return {str(key): plain_value(value) for key, value in row.items()}


def line_sample(row: Mapping[str, Any], folder: Path) -> Sample:
    """Returns the Sample of a plain row. Without the key "completion", the completion is "".

    folder: the folder in which paths of pictures begin. Raises ValueError for a value of the wrong
    type.
    """
    completion = messages_in(row.get("completion", ""))
    sample = row_sample(row, completion)
    images = [picture_path(picture, folder) for picture in sample.images]
    return replace(sample, images=tuple(images))


def _is_completion(value: Any) -> bool:
    """Whether the value is a text or a list of messages."""
    if isinstance(value, list):
        return all(isinstance(message, dict) for message in value)
    return isinstance(value, str)
