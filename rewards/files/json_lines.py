"""JSON from anywhere: UTF-8, and one sentence for what is wrong. tables.py reads whole files.

read_object(b'{"id": 1}', "rows.jsonl line 1")      # {"id": 1}
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

BOM = b"\xef\xbb\xbf"  # some editors begin a file with it


def encodable(row: dict[str, Any], where: str) -> dict[str, Any]:
    """Returns the row.

    Raises ValueError for half a character, "\\ud800", which can be neither stored nor judged.
    """
    try:
        # what JSON has no form for, such as bytes, holds no characters
        text = json.dumps(row, ensure_ascii=False, default=lambda value: None)
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{where} is not JSON ({error}): mend or remove it.") from None
    return row


def exact_json(data: Any) -> bytes:
    """Returns JSON without escapes: escaped, two lone surrogates would equal the emoji that they
    form together.
    """
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass")


def lines_of(file: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yields the number and the bytes of each line that is not blank, without its line break."""
    for number, line in enumerate(file, start=1):
        content = line.removesuffix(b"\n")
        if number == 1:
            content = content.removeprefix(BOM)
        if content.strip():
            yield number, content


def read_object(value: Any, where: str) -> dict[str, Any]:
    """Returns the JSON object of a line in bytes, or the value, if that is an object already.

    Raises ValueError, which begins with `where`, for no object.
    """
    row = value
    if isinstance(value, bytes):
        row = read_value(value, where)
    if not isinstance(row, dict):
        raise ValueError(f"{where} must hold a JSON object, got {row!r:.80}.")
    return row


def object_in(content: bytes) -> dict[str, Any]:
    """Returns a JSON object, empty for anything else."""
    try:
        return read_object(content, "")
    except ValueError:
        return {}


def read_value(content: bytes, where: str) -> Any:
    """Returns a JSON value. Raises ValueError, which begins with `where`."""
    try:
        return json.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{where} is not UTF-8 (byte {error.start}): save the file as UTF-8."
        ) from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where} is not JSON ({error}): mend or remove it.") from None
