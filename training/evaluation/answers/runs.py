"""What a run folder says of its training; a file of answers and a model of the hub say nothing."""

import json
from pathlib import Path
from typing import Any

from spanreward.training.recipe_file import read_mapping


def recipe_of(run: str) -> dict[str, Any]:
    """Returns the run folder's recipe.yaml; {} where there is none."""
    path = Path(run) / "recipe.yaml"
    return read_mapping(path) if path.is_file() else {}


def logged(run: str) -> list[dict[str, Any]]:
    """Returns the lines of the run folder's metrics.jsonl; [] where there is none."""
    path = Path(run) / "metrics.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []
