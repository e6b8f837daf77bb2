"""Prompt templates with placeholders `{name}`. A value that itself contains `{name}` stays plain text.

    fill("Is {what} there?", what="a {hat}")          # "Is a {hat} there?"
    places("Is {what} there?", what="a hat")          # {"what": (3, 8)}
    placeholders("Is {what} there?")                  # {"what"}

`{{name}}` is a placeholder too, because the published PoSh code formats one template twice.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from spanreward.rewards.base.checks import unknown
from spanreward.rewards.files.yaml_file import read_yaml_file

_PLACEHOLDER = re.compile(r"\{{1,2}(\w+)\}{1,2}")


def placeholders(template: str) -> set[str]:
    """Returns the names in the template."""
    return set(_PLACEHOLDER.findall(template))


def fill(template: str, **values: str) -> str:
    """Returns the template with every `{name}` replaced, in one pass. Raises KeyError for a name without a value."""
    return "".join([values[part] if is_name else part for part, is_name in _parts(template)])


def places(template: str, **values: str) -> dict[str, tuple[int, int]]:
    """Returns the characters [start, end) where `fill` puts each value, at its last place if it has several."""
    found, start = {}, 0
    for part, is_name in _parts(template):
        end = start + len(values[part] if is_name else part)
        if is_name:
            found[part] = (start, end)
        start = end
    return found


def read_texts(path: Path, like: Path, names: Sequence[str], needed: Mapping[str, set[str]]) -> dict[str, str]:
    """Returns the texts of a YAML file, by name. needed: each text's placeholders, none where it is not named.

    Raises OSError, and ValueError, which names the file `like` as an example, for a text that is missing, unknown or
    without its placeholders.
    """
    data = read_yaml_file(path)
    if not isinstance(data, dict):
        raise ValueError(f"{path} must hold the texts {', '.join(names)}, and holds {type(data).__name__}.")
    for name in data:
        if name not in names:
            raise ValueError(f"{path}: {unknown('text', str(name), names)}")
    for name in names:
        text, takes = data.get(name), needed.get(name, set())
        if not isinstance(text, str):
            raise ValueError(f"{path} lacks the text {name!r}: copy {like} and change what you like.")
        if placeholders(text) != takes:
            wanted = " and ".join(f"{{{entry}}}" for entry in sorted(takes)) or "no placeholder"
            raise ValueError(f"{path}: {name} takes {wanted}, got {', '.join(sorted(placeholders(text))) or 'none'}.")
    return data


@lru_cache(maxsize=256)
def _parts(template: str) -> tuple[tuple[str, bool], ...]:
    """Returns the template's literal texts (False) and names (True), in order."""
    return tuple((part, number % 2 == 1) for number, part in enumerate(_PLACEHOLDER.split(template)))
