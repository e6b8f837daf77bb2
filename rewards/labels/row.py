"""One row of a file with people's words. A value of another kind is an error that names the line and the column.

row = Row("labels.jsonl line 1", {"text": "A red cat.", "wrong": ["red"]}, "my map")
row.spans("wrong", row.text("text"))         # ((2, 5),)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spanreward.rewards.reward.row import texts

CharacterSpans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A row's keys and values, and methods that read a value and check its kind: a ValueError says what it must hold.

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

    def list_of_texts(self, column: str) -> tuple[str, ...]:
        listed = self.of_kind(column, list, "a list of texts")
        if not all(isinstance(text, str) for text in listed):
            raise self.wrong(column, "a list of texts", listed)
        return tuple(listed)

    def several_texts(self, columns: str | tuple[str, ...]) -> tuple[str, ...]:
        """Returns the list of texts that one column holds, or the one text of each of several columns."""
        if isinstance(columns, str):
            return self.list_of_texts(columns)
        return tuple(self.text(column) for column in columns)

    def references(self, columns: str | tuple[str, ...]) -> tuple[str, ...]:
        """Returns all texts of one column or several that hold a text or a list of texts each, without blank ones."""
        if isinstance(columns, str):
            return self.checked(texts, columns)
        return tuple(text for column in columns for text in self.references(column))

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
