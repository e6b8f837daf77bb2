"""Files of rows for tests."""

import json
from pathlib import Path
from typing import Any, TextIO


def a_file(folder: Path, *rows: Any) -> Path:
    """Writes labels.jsonl with a row a line."""
    path = folder / "labels.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def on_full_disk(path: Path) -> TextIO:
    """Takes the place of what opens a new file."""
    return Path("/dev/full").open("w")
