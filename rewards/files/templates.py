"""Prompt templates with placeholders `{name}`. A value that itself contains `{name}` stays plain text.

    fill("Is {what} there?", what="a {hat}")          # "Is a {hat} there?"
    places("Is {what} there?", what="a hat")          # {"what": (3, 8)}
    placeholders("Is {what} there?")                  # {"what"}

`{{name}}` is a placeholder too, because the published PoSh code formats one template twice.
"""

import re
from collections.abc import Collection, Set
from functools import lru_cache
from pathlib import Path
from typing import Any

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


def read_texts(path: str | Path | None, like: Path) -> dict[str, str]:
    """Returns the texts of a YAML file, by name; those of the packaged file `like` without a path.

    Raises OSError, and ValueError unless the file has the texts of `like`, each with its placeholders.
    """
    ours: dict[str, str] = read_yaml_file(like)
    if path is None:
        return ours
    texts = named_texts(read_yaml_file(Path(path)), ours, f"{path}")
    for name, text in texts.items():
        check_placeholders(text, placeholders(ours[name]), f"{path}: {name}")
    return texts


def named_texts(data: Any, names: Collection[str], where: str, kind: str = "text") -> dict[str, str]:
    """Returns the texts in the order of their names. Raises ValueError unless `data` holds them and nothing else."""
    if not isinstance(data, dict):
        raise ValueError(f"{where} must hold the {kind}s {', '.join(names)}, and holds {type(data).__name__}.")
    for name in data:
        if name not in names:
            raise ValueError(f"{where}: {unknown(kind, str(name), names)}")
    missing = [name for name in names if not isinstance(data.get(name), str)]
    if missing:
        raise ValueError(f"{where} lacks the {kind} {', '.join(missing)}: add it.")
    return {name: data[name] for name in names}


def check_placeholders(template: str, needed: Set[str], where: str, free: Set[str] = frozenset()) -> None:
    """Raises ValueError unless the template has the `needed` placeholders, and beside them only `free` ones."""
    found = placeholders(template)
    if not needed <= found <= needed | free:
        may = f" and may have {_listed(free)}" if free else ""
        raise ValueError(f"{where} takes {_listed(needed)}{may}, got {_listed(found)}.")


def _listed(names: Set[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(names)) or "no placeholder"


@lru_cache(maxsize=256)
def _parts(template: str) -> tuple[tuple[str, bool], ...]:
    """Returns the template's literal texts (False) and names (True), in order."""
    return tuple((part, number % 2 == 1) for number, part in enumerate(_PLACEHOLDER.split(template)))
