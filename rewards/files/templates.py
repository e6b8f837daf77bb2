"""Prompt templates with placeholders `{name}`. A value that itself contains `{name}` stays plain
text.

    fill("Is {what} there?", what="a {hat}")          # "Is a {hat} there?"
    places("Is {what} there?", what="a hat")          # {"what": (3, 8)}
    placeholders_of_template("Is {what} there?")      # {"what"}

`{{name}}` is a placeholder too, because the published PoSh code formats one template twice.
"""

import re
from collections.abc import Set
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    TypeAdapter,
    ValidationError,
    create_model,
    model_validator,
)

from spanreward.rewards.base.checks import check_known, explained
from spanreward.rewards.files.yaml_file import read_yaml_file

T = TypeVar("T")
_PLACEHOLDER = re.compile(r"\{{1,2}(\w+)\}{1,2}")


def placeholders_of_template(template: str) -> set[str]:
    """Returns the names in the template."""
    return set(_PLACEHOLDER.findall(template))


def fill(template: str, **values: str) -> str:
    """Returns the template with every `{name}` replaced, in one pass.

    Raises KeyError for a name without a value.
    """
    pieces = []
    for part, is_name in _parts_of_template(template):
        pieces.append(values[part] if is_name else part)
    return "".join(pieces)


def places(template: str, **values: str) -> dict[str, tuple[int, int]]:
    """Returns the characters [start, end) where `fill` puts each value, at its last place if it has
    several.
    """
    ranges = {}
    start = 0
    for part, is_name in _parts_of_template(template):
        end = start + len(values[part] if is_name else part)
        if is_name:
            ranges[part] = (start, end)
        start = end
    return ranges


def literal_lines(template: str) -> list[str]:
    """Returns the lines of the template that have no placeholder but `{number}`, which counts, and
    are not empty. White space at their ends is dropped.
    """
    lines = []
    for line in template.splitlines():
        if line.strip() and placeholders_of_template(line) <= {"number"}:
            lines.append(line.strip())
    return lines


class Wording(BaseModel):
    """A part of a file of prompts.

    Its fields are texts, often of the type `Annotated[str, takes({"what"})]`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def names_are_known(cls, data: Any) -> Any:
        """Raises ValueError, with the nearest name, for a key that is none of the fields. Data that
        is no dict is left to pydantic.
        """
        if isinstance(data, dict):
            check_known("key", map(str, data), cls.model_fields)
        return data


def takes(*needed: Set[str], free: Set[str] = frozenset()) -> AfterValidator:
    """Returns pydantic's check that a template has one of these sets of placeholders, and beside it
    `free` ones.
    """

    def check(template: str) -> str:
        placed = placeholders_of_template(template)
        for names in needed:
            if names <= placed <= names | free:  # all of these, and beside them only free ones
                return template
        must = " or ".join(map(_in_sentence, needed))
        may = f" and may have {_in_sentence(free)}" if free else ""
        raise ValueError(f"it takes {must}{may}, got {_in_sentence(placed)}")

    return AfterValidator(check)


def read_as(kind: type[T], data: Any, where: str | Path) -> T:
    """Returns what a file holds as this type.

    Raises ValueError, which begins with `where`, for the first fault.
    """
    try:
        return TypeAdapter(kind).validate_python(data)
    except ValidationError as error:
        raise ValueError(explained(error, str(where))) from None


def read_texts(path: str | Path | None, like: Path) -> dict[str, str]:
    """Returns the texts of a YAML file, by name; those of the packaged file `like` without a path.

    Raises OSError, and ValueError unless the file has the texts of `like`, each with its
    placeholders.
    """
    ours: dict[str, str] = read_yaml_file(like)
    if path is None:
        return ours
    # A model with a field for each of our texts, which asks for the same placeholders.
    fields: dict[str, Any] = {}
    for name, text in ours.items():
        fields[name] = Annotated[str, takes(placeholders_of_template(text))]
    kind = create_model("Texts", __base__=Wording, **fields)
    return read_as(kind, read_yaml_file(Path(path)), path).model_dump()


def _in_sentence(names: Set[str]) -> str:  # "{text}, {what}"
    if not names:
        return "no placeholder"
    return ", ".join(f"{{{name}}}" for name in sorted(names))


@lru_cache(maxsize=256)
def _parts_of_template(template: str) -> tuple[tuple[str, bool], ...]:
    """Returns the template's literal texts (False) and names (True), in order.

    "Is {what} there?" gives (("Is ", False), ("what", True), (" there?", False)).
    """
    # The pattern has one group, the name, so `split` returns texts and names in turn.
    parts = []
    for number, part in enumerate(_PLACEHOLDER.split(template)):
        is_name = number % 2 == 1
        parts.append((part, is_name))
    return tuple(parts)
