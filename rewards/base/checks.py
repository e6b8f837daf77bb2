"""Checks of names and options, with one sentence as the error."""

import difflib
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
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


def members(judge: str) -> list[str]:
    """Returns the names of a jury's judges, or the one name: ["match", "encoder:FOLDER"] for "match+encoder:FOLDER".

    A + belongs to a folder where the folder with it exists, and where what follows names no judge, as in "c++/judge".
    """
    names: list[str] = []
    for name in re.split(r"\+(?=[a-z]+(?:[:+]|$))", judge):
        longer = f"{names[-1]}+{name}" if names and ":" in names[-1] else ""
        folder = Path(longer.partition(":")[2]).expanduser()
        if longer and ((":" not in name and name not in ("match", "cascade")) or folder.is_dir()):
            names[-1] = longer
        else:
            names.append(name)
    return names
