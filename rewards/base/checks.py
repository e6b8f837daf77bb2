"""Checks of names and options, with one sentence as the error."""

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

from pydantic import ValidationError

Mode = Literal["default", "published"]  # for training, hard to exploit; as in the paper
MODES = ("default", "published")
CLOSE = 0.8  # difflib's ratio of a name and its misspelling; what is less alike may be another word
LISTED, FEW = 20, 10  # names in a message, and beside another cure


def unknown(
    kind: str,
    name: str,
    valid: Iterable[str],
    label: str | None = None,
    elsewhere: Mapping[str, Collection[str]] | None = None,
) -> str:
    """Returns `unknown recipe key 'trainer.sed': did you mean 'seed'?`, or lists valid names if
    none is close.

    elsewhere: the names of other places, such as {"under trainer": ["span_coef"]}. A name of one of
    them belongs there.
    """
    names, places = sorted(valid), dict(elsewhere or {})
    homes = {
        key: place for place, keys in reversed(places.items()) for key in keys if key not in names
    }
    near = alike(name, names)
    far = difflib.get_close_matches(name, homes, 1, CLOSE)
    if name in homes:  # which may be another thing of that name, so what stands here is said too
        hint = f"it belongs {homes[name]}." + (
            f" Valid here are {', '.join(names)}." if len(names) <= FEW else ""
        )
    elif far and not difflib.get_close_matches(name, names, 1, CLOSE):
        hint = f"did you mean {far[0]!r}, {homes[far[0]]}?"
    elif near:
        hint = f"did you mean {near[0]!r}?"
    else:
        rest = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
        hint = f"valid are {', '.join(names[:LISTED])}{rest}."
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
    """Raises ValueError if the option's value is not a valid one."""
    if value not in valid:
        *first, last = ("None" if name is None else f'"{name}"' for name in valid)
        raise ValueError(f"{option} is {', '.join(first)} or {last}, got {value!r}")


def explained(error: ValidationError, within: str) -> str:
    """Returns pydantic's first fault in a sentence, as in `prompts.yaml: layout.whole: Field
    required`.
    """
    first = error.errors()[0]
    value = "" if first["type"] in ("missing", "value_error") else f", got {first['input']!r:.80}"
    value += (
        " (YAML takes texts such as yes and 3 in quotes)" if first["type"] == "string_type" else ""
    )
    message = first["msg"].removeprefix("Value error, ") + value
    return ": ".join(filter(None, (within, ".".join(map(str, first["loc"])), message)))
