"""Checks of names and options, with one sentence as the error."""

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

from pydantic import ValidationError

Mode = Literal["default", "published"]  # for training, hard to exploit; as in the paper
MODES = ("default", "published")
CLOSE = 0.8  # difflib's ratio of a name and its misspelling; what is less alike may be another word
LISTED = 20  # names in a message, at most
FEW = 10  # names beside another cure, at most


def unknown(
    kind: str,
    name: str,
    valid: Iterable[str],
    label: str | None = None,
    elsewhere: Mapping[str, Collection[str]] | None = None,
) -> str:
    """Returns `unknown recipe key 'trainer.sed': did you mean 'seed'?`, or lists valid names if
    none is close.

    kind: of the name, such as "recipe key". label: the name as the message has it, such as
    "trainer.sed", if not the name itself. elsewhere: the names of other places, such as {"under
    trainer": ["span_coef"]}. A name of one of them belongs there.
    """
    names = sorted(valid)
    places = dict(elsewhere or {})
    # The place of each name that is not valid here. The first place of a name counts, so it is
    # written last.
    homes: dict[str, str] = {}
    for place, keys in reversed(places.items()):
        for key in keys:
            if key not in names:
                homes[key] = place
    near = alike(name, names)
    close = difflib.get_close_matches(name, names, 1, CLOSE)
    close_elsewhere = difflib.get_close_matches(name, homes, 1, CLOSE)
    if name in homes:
        hint = f"it belongs {homes[name]}."
        # it may be another thing of that name, so what stands here is said too
        if len(names) <= FEW:
            hint += f" Valid here are {', '.join(names)}."
    elif close_elsewhere and not close:
        meant = close_elsewhere[0]
        hint = f"did you mean {meant!r}, {homes[meant]}?"
    elif near:
        hint = f"did you mean {near[0]!r}?"
    else:
        listed = ", ".join(names[:LISTED])
        rest = ""
        if len(names) > LISTED:
            rest = f" and {len(names) - LISTED} more"
        hint = f"valid are {listed}{rest}."
    return f"unknown {kind} {label or name!r}: {hint}"


def alike(name: str, names: Iterable[str]) -> list[str]:
    """Returns the one of the names that this is most like, whatever its capitals; [] for none."""
    in_small_letters = {valid.lower(): valid for valid in names}
    nearest = difflib.get_close_matches(name.lower(), in_small_letters, 1)
    return [in_small_letters[letters] for letters in nearest]


def check_known(kind: str, names: Iterable[str], valid: Collection[str]) -> None:
    """Raises ValueError for the first of the names that is not a valid one."""
    for name in names:
        if name not in valid:
            raise ValueError(unknown(kind, name, valid))


def check_choice(option: str, value: object, valid: Sequence[str | None]) -> None:
    """Raises ValueError if the option's value is not a valid one. valid: two values or more."""
    if value in valid:
        return
    in_words = []
    for name in valid:
        in_words.append("None" if name is None else f'"{name}"')
    all_but_last = ", ".join(in_words[:-1])
    raise ValueError(f"{option} is {all_but_last} or {in_words[-1]}, got {value!r}")


def explained(error: ValidationError, within: str) -> str:
    """Returns pydantic's first fault in a sentence, as in `prompts.yaml: layout.whole: Field
    required`. within: the file or thing that has the fault.
    """
    first = error.errors()[0]
    message = first["msg"].removeprefix("Value error, ")
    # a missing value is none, and our own errors say what they got
    if first["type"] not in ("missing", "value_error"):
        message += f", got {first['input']!r:.80}"
    if first["type"] == "string_type":
        message += " (YAML takes texts such as yes and 3 in quotes)"
    place = ".".join(map(str, first["loc"]))  # "" for a fault of the whole
    parts = [part for part in (within, place, message) if part]
    return ": ".join(parts)
