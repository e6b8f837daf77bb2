"""Checks of names and options, with one sentence as the error."""

import difflib
from collections.abc import Collection, Iterable, Sequence
from typing import Literal

Mode = Literal["default", "published"]  # for training, hard to exploit; as in the paper
MODES = ("default", "published")


def unknown(kind: str, name: str, valid: Iterable[str], shown: str | None = None) -> str:
    """Returns `unknown recipe key 'trainer.sed': did you mean 'seed'?`, or lists all valid names if none is close."""
    names = sorted(valid)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"valid are {', '.join(names)}."
    return f"unknown {kind} {shown or name!r}: {hint}"


def check_known(kind: str, names: Iterable[str], valid: Collection[str]) -> None:
    """Raises ValueError for the first of the names that is not a valid one."""
    for name in names:
        if name not in valid:
            raise ValueError(unknown(kind, name, valid))


def check_choice(option: str, value: object, valid: Sequence[str | None]) -> None:
    """Raises ValueError if the option's value is not a valid one."""
    if value not in valid:
        *others, last = ("None" if name is None else f'"{name}"' for name in valid)
        raise ValueError(f"{option} is {', '.join(others)} or {last}, got {value!r}")
