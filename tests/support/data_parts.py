"""Data parts of files that a test writes, and what SFT learns of them."""

import json
from pathlib import Path
from typing import Any

from spanreward.training.data.load import load_data
from spanreward.training.recipe import JsonlPart


def jsonl(folder: Path, *records: Any, name: str = "rows.jsonl", **fields: Any) -> JsonlPart:
    """The data part of a file with these records; a string is a line as it stands."""
    path = folder / name
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("".join(f"{line}\n" for line in lines))
    return JsonlPart(source="jsonl", path=str(path), **fields)


def asked(data: Any) -> list[str]:
    return [turn["content"] for (turn,) in load_data(data)["prompt"]]


def learned(data: Any) -> list[str]:
    return [turn["content"] for (turn,) in load_data(data, completions=True)["completion"]]
