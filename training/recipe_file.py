"""The YAML of a recipe, which may come from anywhere: plain values only, none without end, and one sentence for what is
wrong.

    read_mapping(Path("recipes/quickstart/scenes-dapo.yaml"))["algorithm"]
    read_yaml("1e-4", "the value of trainer.learning_rate")        # a number
"""

import re
from pathlib import Path
from typing import Any

from rewards import yaml_file

SCIENTIFIC = re.compile(r"[+-]?\d+(\.\d*)?[eE][+-]?\d+")


class RecipeError(ValueError):
    """The recipe cannot be run as written; the message says what to change."""


def read_mapping(path: Path) -> dict[str, Any]:
    """The keys and values of a YAML file. Raises RecipeError."""
    try:
        text = path.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise RecipeError(f"{path} cannot be read: {error}.") from None
    data = read_yaml(text, str(path))
    if not isinstance(data, dict):
        raise RecipeError(f"{path} must hold keys and values, and holds {type(data).__name__}.")
    return data


def read_yaml(text: str, where: str) -> Any:
    """A YAML value, texts like "1e-4" as numbers. Raises RecipeError for what is not YAML, or has no end."""
    try:
        value = yaml_file.read_yaml(text, where)
    except ValueError as error:
        raise RecipeError(str(error)) from None
    try:
        return with_numbers(value)
    except ValueError as error:
        raise RecipeError(f"{where} is not YAML: {error}.") from None


def with_numbers(value: Any) -> Any:
    """The same data with texts like "1e-4" as numbers, which YAML 1.1 leaves texts. Raises ValueError for the character
    NUL, which no path may hold.
    """
    if isinstance(value, str) and "\0" in value:
        raise ValueError(f"the text {value!r} holds the character NUL")
    if isinstance(value, dict):
        return {key: with_numbers(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [with_numbers(entry) for entry in value]
    return float(value) if isinstance(value, str) and SCIENTIFIC.fullmatch(value) else value
