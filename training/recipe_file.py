"""The YAML of a recipe, which may come from anywhere: plain values only, none without end, and one sentence for what is
wrong.

    read_mapping(Path("recipes/quickstart/scenes-dapo.yaml"))["algorithm"]
    read_yaml("1e-4", "the value of trainer.learning_rate")        # a number
"""

import re
from pathlib import Path
from typing import Any

import yaml

MOST_VALUES = 100_000  # in a recipe, aliases written out
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
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        if size_of(node, {}) > MOST_VALUES:
            raise ValueError(f"its aliases make it more than {MOST_VALUES:,} values")
        return with_numbers(loader.construct_document(node))
    except Exception as error:  # of a value that is not what its tag says (`!!bool x`) it raises whatever it meets
        raise RecipeError(f"{where} is not YAML: {' '.join(str(error).split())}.") from None


def size_of(node: yaml.Node, known: dict[int, int]) -> int:
    """How many values it is with its aliases written out; known: of nodes, by their id. Raises ValueError for a node
    that holds itself.
    """
    if id(node) not in known:
        known[id(node)] = 0  # until it is known
        parts = [part for pair in node.value for part in pair] if isinstance(node, yaml.MappingNode) else node.value
        known[id(node)] = 1 + sum(size_of(part, known) for part in parts if isinstance(part, yaml.Node))
    elif not known[id(node)]:
        raise ValueError("a value holds itself, by an alias")
    return known[id(node)]


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
