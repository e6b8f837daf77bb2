"""Prompt templates with placeholders `{name}`. A value that itself contains `{name}` stays plain text.

    fill("Is {what} there?", what="a {hat}")          # "Is a {hat} there?"
    places("Is {what} there?", what="a hat")          # {"what": (3, 8)}
    placeholders("Is {what} there?")                  # {"what"}

`{{name}}` is a placeholder too, because the published PoSh code formats one template twice.
"""

import re
from functools import lru_cache

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


@lru_cache(maxsize=256)
def _parts(template: str) -> tuple[tuple[str, bool], ...]:
    """Returns the template's literal texts (False) and names (True), in order."""
    return tuple((part, number % 2 == 1) for number, part in enumerate(_PLACEHOLDER.split(template)))
