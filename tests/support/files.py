"""Files of rows for tests."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO


def to_lines(path: Path, rows: Iterable[Any]) -> Path:
    """Writes a row a line, as JSON."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def from_lines(path: Path) -> list[Any]:
    """Reads what to_lines wrote, and the files of rows that commands write."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def a_file(folder: Path, *rows: Any) -> Path:
    """Writes labels.jsonl with a row a line."""
    return to_lines(folder / "labels.jsonl", rows)


def on_full_disk(path: Path) -> TextIO:
    """Takes the place of what opens a new file."""
    return Path("/dev/full").open("w")
