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


def apply_override(data: dict[str, Any], override: str) -> None:
    """Changes nested data in place by an override such as "trainer.seed=1".

    A number in the key is the index of a list entry: rewards.0.judge=match. A missing block is
    added. Raises RecipeError for a text of another form, and for a key below a plain value.
    """
    key, equals, text = override.partition("=")
    if not equals:
        raise RecipeError(f"an override is written key=value, got {override!r}.")
    *parents, last = key.split(".")
    # go down to the block or list that the last key belongs to
    holder: Any = data
    for name in parents:
        if isinstance(holder, list):
            holder = holder[index_of(name, holder, key)]
        else:
            if holder.get(name) is None:
                holder[name] = {}
            holder = holder[name]
        if not isinstance(holder, (dict, list)):
            raise RecipeError(f"{key} cannot be set: {name} holds {holder!r}.")
    value = read_yaml(text, f"the value of {key}")
    if isinstance(holder, list):
        holder[index_of(last, holder, key)] = value
    else:
        holder[last] = value


def index_of(name: str, entries: list[Any], key: str) -> int:
    """Returns a list index: 2 for the name "2". key: the whole key, for the message. Raises
    RecipeError if the list has no such entry.
    """
    if not name.isdecimal() or int(name) >= len(entries):
        raise RecipeError(f"{key} cannot be set: {name!r} must be one of 0 .. {len(entries) - 1}.")
    return int(name)
