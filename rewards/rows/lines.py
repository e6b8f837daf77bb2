"""The lines of a file or a data set, or rows in memory, each as a Sample, or as why it is none.

    for row in read_rows("rows.jsonl", {"reference": "caption"}, limit=100):
        row.id, row.sample      # "1", Sample(...) or a sentence

tables.py reads the lines, columns.py their values, pictures.py finds the files that they name.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spanreward.rewards.base.texts import is_joined
from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.base.views import View
from spanreward.rewards.files.on_disk import OnDisk
from spanreward.rewards.rows.messages import messages_in
from spanreward.rewards.rows.pictures import located
from spanreward.rewards.rows.sample import row_sample
from spanreward.rewards.rows.tables import Rows, check_texts, folder_of, no_rows, row_id, table_rows
from spanreward.rewards.rows.values import plain_value

log = logging.getLogger(__name__)

TextLine = list[Any]  # the arguments of `read_row` but the folder, as JSON has them


@dataclass(frozen=True, slots=True)
class InputRow:
    """One line of the input.

    Args:
        number: its number, from 1.
        id: its `id` in the output.
        held: what it holds, with plain values; {} where it cannot be read.
        sample: its Sample, or a sentence on why it has none.
    """

    number: int
    id: str
    held: Mapping[str, Any]
    sample: Sample | str


def read_rows(
    source: Rows,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> Sequence[InputRow]:
    """Returns the rows of all that `table_rows` reads. Those of a file or a data set lie on the
    disk (files/on_disk.py): the file may change meanwhile.

    Raises what it does, and ValueError where there is no row.
    """
    folder = folder_of(source)
    joined = _Joined()
    rows: Sequence[InputRow]
    # a generator: one line at a time is in memory
    lines = (joined.plain_line(*row) for row in table_rows(source, columns, limit))
    if isinstance(source, str | Path):
        on_disk = OnDisk(lines)
        rows = View(on_disk, range(len(on_disk)), lambda line: _row_of_line(line, folder))
    else:
        rows = [_row_of_line(line, folder) for line in lines]
    if not rows:
        raise no_rows(source)
    check_texts(rows[0].held, source)
    joined.say(len(rows), source)
    return rows


class _Joined:
    """Counts the rows that have several of people's answers in one text, as far as it is certain.

    Attributes:
        count: how many there are so far.
        first: the answers of the first one.
    """

    def __init__(self) -> None:
        self.count = 0
        self.first: Any = None

    def plain_line(self, number: int, where: str, row: dict[str, Any] | str) -> TextLine:
        """Returns the line with plain values, and counts it if its answers are joined."""
        if isinstance(row, str):  # why the line cannot be read
            return [number, where, row]
        held = plain_row(row)
        answers = held.get("answers")
        if is_joined(answers):
            if not self.count:
                self.first = answers
            self.count += 1
        return [number, where, held]

    def say(self, rows: int, source: object) -> None:
        """Warns of such rows, if there are any. rows: how many there are in all."""
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


def read_row(number: int, where: str, row: dict[str, Any] | str, folder: Path = Path()) -> InputRow:
    """Returns the row, with the reason in place of the sample when it cannot be judged.

    where: the row's place, as in "line 3", with which a reason begins. folder: see `located`.
    """
    if isinstance(row, str):
        return InputRow(number, where, {}, row)
    held = plain_row(row)
    completion = held.get("completion")
    sample: Sample | str
    if _is_completion(completion):
        try:
            sample = line_sample(held, folder)
        except ValueError as error:
            sample = f"{where}: {error}"
    elif isinstance(completion, list):
        sample = (
            f"{where} holds a list as its completion, got {completion!r:.200}: give one text, or "
            "messages"
        )
    else:
        sample = f"{where} needs the key 'completion' with a text, got {completion!r}"
    return InputRow(number, row_id(held, number), held, sample)


def _row_of_line(line: TextLine, folder: Path) -> InputRow:
    """Returns the row of a line that lay on the disk."""
    number, where, row = line
    return read_row(number, where, row, folder)


def plain_row(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Returns the row of a table, or of pandas, with the keys and the values that JSON has."""
    return {str(key): plain_value(value) for key, value in row.items()}


def line_sample(row: Mapping[str, Any], folder: Path) -> Sample:
    """Returns the Sample of a plain row; its completion is "" without that key. folder: see
    `located`. Raises ValueError for a value of the wrong type.
    """
    completion = messages_in(row.get("completion", ""))
    sample = row_sample(row, completion)
    images = [located(picture, folder) for picture in sample.images]
    return replace(sample, images=tuple(images))


def _is_completion(value: Any) -> bool:
    """Whether this is a text or a list of messages."""
    if isinstance(value, list):
        return all(isinstance(message, dict) for message in value)
    return isinstance(value, str)
