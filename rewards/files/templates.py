"""Prompt templates with placeholders `{name}`. If a value itself contains `{name}`, that text is
not replaced.

    fill_template("Is {what} there?", what="a {hat}") # "Is a {hat} there?"
    filled_places("Is {what} there?", what="a hat")   # {"what": (3, 8)}
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

from spanreward.rewards.base.checks import check_known, first_fault_message
from spanreward.rewards.files.yaml_file import read_yaml_file

T = TypeVar("T")
_BRACED_NAME = re.compile(r"\{{1,2}(\w+)\}{1,2}")


def placeholders_of_template(template: str) -> set[str]:
    """Returns the names of the template's placeholders."""
    return set(_BRACED_NAME.findall(template))


def fill_template(template: str, **values: str) -> str:
    """Returns the template with every `{name}` replaced by its value, in one pass.

    Raises KeyError for a name without a value.
    """
    pieces = []
    for part, is_name in _parts_of_template(template):
        pieces.append(values[part] if is_name else part)
    return "".join(pieces)


def filled_places(template: str, **values: str) -> dict[str, tuple[int, int]]:
    """Returns where `fill_template` puts each value: its characters [start, end) in the filled
    text. For a name that occurs several times, the last place is returned.
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
    """Returns the lines of the template that have no placeholder, or only `{number}`: "[Reference
    {number} begins]". Empty lines are skipped, and white space at the ends of a line is dropped.

    text/quoting.py looks for these lines in completions, because a completion with such a line may
    imitate the prompt.
    """
    lines = []
    for line in template.splitlines():
        if line.strip() and placeholders_of_template(line) <= {"number"}:
            lines.append(line.strip())
    return lines


class Wording(BaseModel):
    """A part of a file of prompts, checked by pydantic.

    The fields are texts, often of the type `Annotated[str, placeholder_validator({"what"})]`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def names_are_known(cls, data: Any) -> Any:
        """Raises ValueError for a key that is no field. The message suggests the most similar
        field. Data that is no dict is returned unchecked, and pydantic then refuses the data.
        """
        if isinstance(data, dict):
            check_known("key", map(str, data), cls.model_fields)
        return data


def placeholder_validator(*needed: Set[str], free: Set[str] = frozenset()) -> AfterValidator:
    """Returns a validator for pydantic, which checks the placeholders of a template.

    needed: sets of placeholders. The template must have all placeholders of one of these sets.
    free: placeholders that the template may have in addition.
    """

    def check(template: str) -> str:
        """Returns the template unchanged, or raises ValueError if its placeholders are wrong."""
        placed = placeholders_of_template(template)
        for names in needed:
            has_all = names <= placed
            others = placed - names
            if has_all and others <= free:
                return template
        must = " or ".join(map(_in_sentence, needed))
        may = f" and may have {_in_sentence(free)}" if free else ""
        raise ValueError(f"it takes {must}{may}, got {_in_sentence(placed)}")

    return AfterValidator(check)


def read_as(kind: type[T], data: Any, where: str | Path) -> T:
    """Returns data from a file as an object of the type `kind`, checked by pydantic.

    Raises ValueError, which begins with `where`, for the first fault.
    """
    try:
        return TypeAdapter(kind).validate_python(data)
    except ValidationError as error:
        raise ValueError(first_fault_message(error, str(where))) from None


def read_texts(path: str | Path | None, like: Path) -> dict[str, str]:
    """Returns the texts of a YAML file, by name. Without a path they are the texts of `like`, a
    file of this package.

    Raises OSError. Raises ValueError unless the file has the same names as `like`, and in each text
    the same placeholders.
    """
    ours: dict[str, str] = read_yaml_file(like)
    if path is None:
        return ours
    # A pydantic model with a field for each text of `like`, whose validator asks for the same
    # placeholders.
    fields: dict[str, Any] = {}
    for name, text in ours.items():
        fields[name] = Annotated[str, placeholder_validator(placeholders_of_template(text))]
    kind = create_model("Texts", __base__=Wording, **fields)
    return read_as(kind, read_yaml_file(Path(path)), path).model_dump()


def _in_sentence(names: Set[str]) -> str:  # "{text}, {what}"
    if not names:
        return "no placeholder"
    return ", ".join(f"{{{name}}}" for name in sorted(names))


@lru_cache(maxsize=256)
def _parts_of_template(template: str) -> tuple[tuple[str, bool], ...]:
    """Returns the template's parts in order: (text, False) for literal text, and (name, True) for a
    placeholder.

    "Is {what} there?" gives (("Is ", False), ("what", True), (" there?", False)).
    """
    # The pattern has one group, the name. So `split` returns literal texts and names in turn.
    parts = []
    for number, part in enumerate(_BRACED_NAME.split(template)):
        is_name = number % 2 == 1
        parts.append((part, is_name))
    return tuple(parts)
