"""Reads YAML safely: only plain values, a bounded size, and errors of one sentence.

read_yaml("a: [1, 2]", "prompts.yaml")          # {"a": [1, 2]}
read_yaml_file(Path("prompts.yaml"))
"""

from itertools import chain
from pathlib import Path
from typing import Any

import yaml

MOST_VALUES = 100_000  # of a file, with aliases expanded


def read_yaml_file(path: Path) -> Any:
    """Returns the file's value. Raises OSError, and ValueError for a file that is not YAML."""
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not YAML: {error}.") from None
    return read_yaml(text, str(path))


def read_yaml(text: str, where: str) -> Any:
    """Returns the value of a YAML text, or None for an empty text.

    Raises ValueError for invalid YAML, for too many values, and for a value that contains itself.
    where: the file's name in the message.
    """
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:  # an empty file
            return None
        # The values are counted before they are made, because aliases of aliases can stand for
        # billions of values.
        if size_of(node, {}) > MOST_VALUES:
            raise ValueError(f"its aliases make it more than {MOST_VALUES:,} values")
        return loader.construct_document(node)
    except Exception as error:
        # PyYAML may raise any error for a value that does not fit its tag, such as `!!bool x`.
        raise ValueError(f"{where} is not YAML: {' '.join(str(error).split())}.") from None


def size_of(node: yaml.Node, sizes: dict[int, int]) -> int:
    """Returns the number of values in a node, with aliases expanded. The node itself counts as a
    value: [a, [b, c]] has 5 values.

    sizes: the sizes of the nodes that were already counted, by the node's id. The size is 0 while a
    node is being counted. An alias is the same node again. Raises ValueError for a node that
    contains itself, and for a repeated key.
    """
    if id(node) in sizes:  # an alias
        if sizes[id(node)] == 0:
            raise ValueError("a value holds itself, by an alias")
        return sizes[id(node)]
    sizes[id(node)] = 0  # being counted
    parts = node.value  # the nodes of a list, or the characters of a text
    if isinstance(node, yaml.MappingNode):
        _check_keys(node)
        parts = list(chain.from_iterable(node.value))  # keys and values
    size = 1
    for part in parts:
        if isinstance(part, yaml.Node):
            size += size_of(part, sizes)
    sizes[id(node)] = size
    return size


def _check_keys(node: yaml.MappingNode) -> None:
    """Raises ValueError for the first key that occurs twice in a mapping, which YAML does not
    allow.
    """
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
