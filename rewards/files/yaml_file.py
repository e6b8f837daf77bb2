"""Reads YAML safely: only plain values, a bounded size, and a one-sentence error.

read_yaml("a: [1, 2]", "prompts.yaml")          # {"a": [1, 2]}
read_yaml_file(Path("prompts.yaml"))
"""

from itertools import chain
from pathlib import Path
from typing import Any

import yaml

MOST_VALUES = 100_000  # with aliases expanded


def read_yaml_file(path: Path) -> Any:
    """Returns the file's value. Raises OSError, and ValueError for a file that is not YAML."""
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not YAML: {error}.") from None
    return read_yaml(text, str(path))


def read_yaml(text: str, where: str) -> Any:
    """Returns the text's value.

    Raises ValueError, naming `where`, for invalid YAML and for a value inside itself.
    """
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:  # an empty file
            return None
        # Counted before anything is made: aliases of aliases can stand for billions of values.
        if size_of(node, {}) > MOST_VALUES:
            raise ValueError(f"its aliases make it more than {MOST_VALUES:,} values")
        return loader.construct_document(node)
    except Exception as error:
        # for a value that does not fit its tag (`!!bool x`) PyYAML raises any error
        raise ValueError(f"{where} is not YAML: {' '.join(str(error).split())}.") from None


def size_of(node: yaml.Node, sizes: dict[int, int]) -> int:
    """Returns how many values a node has with aliases expanded, itself among them.

    sizes: those of the nodes that were counted, by their ids; 0 for one that is being counted. An
    alias is the same node again. Raises ValueError for one in itself, and for a repeated key.
    """
    if id(node) not in sizes:
        parts = node.value  # the entries of a list, the characters of a text
        if isinstance(node, yaml.MappingNode):
            _check_keys(node)
            parts = list(chain.from_iterable(node.value))  # keys and values
        sizes[id(node)] = 0  # being counted
        size = 1
        for part in parts:
            if isinstance(part, yaml.Node):
                size += size_of(part, sizes)
        sizes[id(node)] = size
    elif not sizes[id(node)]:
        raise ValueError("a value holds itself, by an alias")
    return sizes[id(node)]


def _check_keys(node: yaml.MappingNode) -> None:
    """Raises ValueError for the first key that stands there twice, which YAML does not allow."""
    names = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        if key.value in names:
            raise ValueError(
                f"the key {key.value!r} stands twice in what begins in line "
                f"{node.start_mark.line + 1}"
            )
        names.add(key.value)
