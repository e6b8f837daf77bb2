"""Reads JSON from any source as UTF-8, and reports an error in one sentence. tables.py reads whole
files.

read_object(b'{"id": 1}', "rows.jsonl line 1")      # {"id": 1}
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # some editors begin a file with it


def checked_encodable(row: dict[str, Any], where: str) -> dict[str, Any]:
    """Returns the row as it is.

    Raises ValueError for a row with half a character, "\\ud800", which can be neither stored nor
    judged. where: the row's name in the message.
    """
    try:
        # Values that JSON cannot hold, such as bytes, are skipped: they hold no characters.
        text = json.dumps(row, ensure_ascii=False, default=lambda value: None)
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{where} is not JSON ({error}): mend or remove it.") from None
    return row


def exact_json(data: Any) -> bytes:
    """Returns data as JSON without escapes, in bytes. Different data have different bytes.

    With escapes, two lone surrogates would have the same JSON as the emoji that they form together.
    """
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass")


def lines_of(file: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yields the number and the bytes of each line that is not blank, without its line break. Blank
    lines count in the numbers.
    """
    for number, line in enumerate(file, start=1):
        content = line.removesuffix(b"\n")
        if number == 1:
            content = content.removeprefix(BYTE_ORDER_MARK)
        if content.strip():
            yield number, content


def read_object(value: Any, where: str) -> dict[str, Any]:
    """Returns the JSON object of a line in bytes. A value that is already an object is returned as
    it is.

    Raises ValueError, which begins with `where`, for anything else.
    """
    row = value
    if isinstance(value, bytes):
        row = read_value(value, where)
    if not isinstance(row, dict):
        raise ValueError(f"{where} must hold a JSON object, got {row!r:.80}.")
    return row


def object_in(content: bytes) -> dict[str, Any]:
    """Returns the JSON object in the content, or {} if the content is no JSON object."""
    try:
        return read_object(content, "")
    except ValueError:
        return {}


def read_value(content: bytes, where: str) -> Any:
    """Returns the value of a JSON text in bytes. Raises ValueError, which begins with `where`, for
    any other bytes.
    """
    try:
        return json.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{where} is not UTF-8 (byte {error.start}): save the file as UTF-8."
        ) from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where} is not JSON ({error}): mend or remove it.") from None
