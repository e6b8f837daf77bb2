"""The file behind --json: the numbers that a command prints."""

import json
from pathlib import Path
from typing import Any


def defined(numbers: Any) -> Any:
    """Returns the same with None for nan, wherever it stands: JSON has no nan."""
    if isinstance(numbers, dict):
        return {name: defined(value) for name, value in numbers.items()}
    if isinstance(numbers, (list, tuple)):
        return [defined(value) for value in numbers]
    return None if numbers != numbers else numbers


def write_json(path: Path | None, numbers: Any) -> None:
    """Write the numbers there, where a path is given, and make its folder."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(numbers, indent=2) + "\n")
