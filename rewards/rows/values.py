"""Reads one value of a row, wherever it comes from: a file, a dataset, or a trainer's column.

    one_text(["A red circle."], "context")     # "A red circle."
    box("[1, 2, 3, 4]", "bbox")                 # (1, 2, 3, 4)

A reader returns nothing where the row has none (None, NaN, blank), and raises ValueError, naming
the column, for another kind. base/texts.py reads texts.
"""

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from spanreward.rewards.base.texts import entries, texts_of


def one_text(value: Any, column: str) -> str | None:
    """Returns the text; None for a blank one."""
    found = [value] if isinstance(value, str | list | tuple) else entries(value, column)
    return next(iter(texts_of(found, column, "a text", value)), None)


def box(value: Any, column: str) -> tuple[float, float, float, float] | None:
    """Returns four finite numbers, x0, y0, x1, y1."""
    numbers = entries(value, column, (int, float))
    if not numbers or numbers == [""]:
        return None
    if len(numbers) != 4 or not all(
        type(n) in (int, float) and abs(n) <= sys.float_info.max for n in numbers
    ):
        raise ValueError(
            f"the column {column!r} must hold four numbers x0, y0, x1, y1, got {value!r}"
        )
    x0, y0, x1, y1 = numbers
    return x0, y0, x1, y1


def pictures(value: Any, column: str) -> tuple[Any, ...]:
    """Returns a picture, or several, as other columns hold texts.

    An array of numbers is one value, and no picture.
    """
    value = plain_value(value)
    listed = [value] if isinstance(value, np.ndarray) else entries(value, column)
    if any(isinstance(picture, int | float) or picture is None for picture in listed):
        raise ValueError(
            f"the column {column!r} must hold a picture or a list of pictures, got {value!r:.80}"
        )
    return tuple(picture for picture in listed if not isinstance(picture, str) or picture.strip())


def plain_value(value: Any) -> Any:
    """Returns a value of pandas or numpy as JSON has it: arrays as lists, NaN as None.

    Arrays of numbers stay.
    """
    if isinstance(value, np.ndarray) and value.dtype.kind in "OUS":
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain_value(entry) for entry in value]
    if isinstance(value, Mapping):
        return {key: plain_value(entry) for key, entry in value.items()}
    missing = type(value).__name__ in ("NAType", "NaTType") or (
        isinstance(value, float) and value != value
    )
    return None if missing else value
