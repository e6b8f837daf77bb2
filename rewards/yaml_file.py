"""A YAML file that may come from anywhere: plain values only, none without end, and one sentence for what is wrong.

read_yaml("a: [1, 2]", "prompts.yaml")          # {"a": [1, 2]}
read_yaml_file(Path("prompts.yaml"))            # what it holds
"""

from pathlib import Path
from typing import Any

import yaml

MOST_VALUES = 100_000  # aliases written out


def read_yaml_file(path: Path) -> Any:
    """What the file holds. Raises OSError, and ValueError for what is no YAML."""
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not YAML: {error}.") from None
    return read_yaml(text, str(path))


def read_yaml(text: str, where: str) -> Any:
    """A YAML value. Raises ValueError for what is not YAML, or has no end."""
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        if size_of(node, {}) > MOST_VALUES:
            raise ValueError(f"its aliases make it more than {MOST_VALUES:,} values")
        return loader.construct_document(node)
    except Exception as error:  # of a value that is not what its tag says (`!!bool x`) it raises whatever it meets
        raise ValueError(f"{where} is not YAML: {' '.join(str(error).split())}.") from None


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
