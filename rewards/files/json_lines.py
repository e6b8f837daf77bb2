"""JSONL files that may come from anywhere: an object a line, UTF-8, and one sentence for what is wrong.

for where, row in read_json_lines(Path("rows.jsonl")):      # "rows.jsonl line 1", {...}
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BOM = b"\xef\xbb\xbf"  # some editors begin a file with it


def read_json_lines(path: Path, blank: bool = True) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields each line's object with the words that name the line. Raises OSError, and ValueError for a bad line.
    blank: whether blank lines are left out; else they are bad lines too.
    """
    for number, line in lines_of(path.read_bytes(), blank):
        where = f"{path} line {number}"
        yield where, encodable(read_object(line, where), where)


def read_json_list(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the objects of a file that is one JSON list, as `read_json_lines` does."""
    entries = read_value(path.read_bytes().removeprefix(BOM), str(path))
    if not isinstance(entries, list):
        raise ValueError(f"{path} must hold a JSON list, got {entries!r:.80}.")
    for number, entry in enumerate(entries, start=1):
        where = f"{path} entry {number}"
        yield where, encodable(_an_object(entry, where), where)


def encodable(row: dict[str, Any], where: str) -> dict[str, Any]:
    """Returns the row. Raises ValueError for half a character, "\\ud800", which can be neither stored nor judged."""
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{where} is not JSON ({error}): mend or remove it.") from None
    return row


def lines_of(content: bytes, blank: bool = True) -> Iterator[tuple[int, bytes]]:
    """Yields the number and the bytes of each line."""
    content = content.removeprefix(BOM).removesuffix(b"\n")
    for number, line in enumerate(content.split(b"\n") if content else (), start=1):
        if line.strip() or not blank:
            yield number, line


def read_object(line: bytes, where: str) -> dict[str, Any]:
    """Returns a line's JSON object. Raises ValueError, which begins with `where`."""
    return _an_object(read_value(line, where), where)


def _an_object(row: Any, where: str) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise ValueError(f"{where} must hold a JSON object, got {row!r:.80}.")
    return row


def read_value(content: bytes, where: str) -> Any:
    """Returns a JSON value. Raises ValueError, which begins with `where`."""
    try:
        return json.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"{where} is not UTF-8 (byte {error.start}): save the file as UTF-8.") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where} is not JSON ({error}): mend or remove it.") from None
