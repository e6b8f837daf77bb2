"""Files of rows for tests."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO


def write_lines(path: Path | str, rows: Iterable[Any]) -> Path:
    """Writes a file with a row a line, and returns its path."""
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Path(path)


def read_lines(path: Path | str) -> list[Any]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def a_file(folder: Path, *rows: Any) -> Path:
    """Writes labels.jsonl with a row a line."""
    return write_lines(folder / "labels.jsonl", rows)


def on_full_disk(path: Path) -> TextIO:
    """Takes the place of what opens a new file."""
    return Path("/dev/full").open("w")
