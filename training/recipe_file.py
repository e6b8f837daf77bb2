"""Reads the YAML of a recipe safely, since a recipe may come from a stranger: only plain values of
bounded size are read, and a fault is one sentence.

    read_mapping(Path("recipes/quickstart/scenes-dapo.yaml"))["algorithm"]
    read_yaml("1e-4", "the value of trainer.learning_rate")        # a number
"""

import re
from pathlib import Path
from typing import Any

from spanreward.rewards.files import yaml_file as yaml_file

SCIENTIFIC_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?[eE][+-]?\d+")


class RecipeError(ValueError):
    """The recipe cannot be run as written. The message names the needed change."""


def read_mapping(path: Path) -> dict[str, Any]:
    """Returns the keys and values of a YAML file. Raises RecipeError."""
    try:
        text = path.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise RecipeError(f"{path} cannot be read: {error}.") from None
    data = read_yaml(text, str(path))
    if not isinstance(data, dict):
        raise RecipeError(f"{path} must hold keys and values, and holds {type(data).__name__}.")
    return data


def read_yaml(text: str, where: str) -> Any:
    """Returns the value of a YAML text. Texts such as 1e-4, which YAML 1.1 reads as a text, become
    numbers.

    where: the name of the text in the error. Raises RecipeError for a text that is not YAML, and
    for the character NUL, which no path may hold. Also raises RecipeError if aliases make a value
    contain itself, or contain too many values.
    """
    try:
        value = yaml_file.read_yaml(text, where)
    except ValueError as error:
        raise RecipeError(str(error)) from None
    return with_numbers(value, where)


def with_numbers(value: Any, where: str) -> Any:
    """Returns the value with numbers in place of texts such as "1e-4", also inside of lists and
    dicts.

    where: the name of the YAML text in the error. Raises RecipeError for a text that holds the
    character NUL.
    """
    if isinstance(value, dict):
        return {key: with_numbers(entry, where) for key, entry in value.items()}
    if isinstance(value, list):
        return [with_numbers(entry, where) for entry in value]
    if not isinstance(value, str):
        return value
    if "\0" in value:
        raise RecipeError(f"{where} is not YAML: the text {value!r} holds the character NUL.")
    if SCIENTIFIC_NUMBER.fullmatch(value):
        return float(value)
    return value
