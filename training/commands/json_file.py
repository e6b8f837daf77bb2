"""The file behind --json: the numbers that a command prints."""

import json
from pathlib import Path
from typing import Any


def write_json(path: Path | None, numbers: Any) -> None:
    """Write the numbers there, where a path was given; its folder is made."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(numbers, indent=2) + "\n")
