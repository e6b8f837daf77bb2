"""Reads one value of a row, wherever it comes from: a file, a dataset, or a trainer's column.

    one_text("A red circle.", "context")        # "A red circle."
    box("[1, 2, 3, 4]", "bbox")                 # (1, 2, 3, 4)

A reader returns nothing where the row has none (None, NaN, blank), and raises ValueError, naming
the column, for another kind. base/texts.py reads texts.
"""

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from spanreward.rewards.base.texts import entries, is_nan, texts_of


def one_text(value: Any, column: str) -> str | None:
    """Returns the text; None for a blank one and for a missing value. Raises ValueError for another
    kind.
    """
    listed = [value]  # a list is no text, and a text that is written as a list stays one
    if not isinstance(value, str | list | tuple):
        listed = entries(value, column)  # of NaN and None there are none
    texts = texts_of(listed, column, "a text", value)
    if not texts:
        return None
    return texts[0]


def box(value: Any, column: str) -> tuple[float, float, float, float] | None:
    """Returns four finite numbers, x0, y0, x1, y1; None for a missing value. Raises ValueError for
    others.
    """
    numbers = entries(value, column, (int, float))
    if not numbers or numbers == [""]:
        return None
    if len(numbers) != 4 or not all(map(_is_finite, numbers)):
        raise ValueError(
            f"the column {column!r} must hold four numbers x0, y0, x1, y1, got {value!r}"
        )
    x0, y0, x1, y1 = numbers
    return x0, y0, x1, y1


def _is_finite(number: Any) -> bool:
    """Whether this is an int or a float that a float can hold. True and NaN are none."""
    return type(number) in (int, float) and abs(number) <= sys.float_info.max


def pictures(value: Any, column: str) -> tuple[Any, ...]:
    """Returns a picture, or several, as other columns hold texts.

    An array of numbers is one value, and no picture. Whether an entry can be opened shows later.
    Raises ValueError for a list with numbers or missing entries.
    """
    value = plain_value(value)
    listed = [value]
    if not isinstance(value, np.ndarray):
        listed = entries(value, column)
    filled = []
    for picture in listed:
        if picture is None or isinstance(picture, int | float):
            raise ValueError(
                f"the column {column!r} must hold a picture or a list of pictures, got "
                f"{value!r:.80}"
            )
        is_blank = isinstance(picture, str) and not picture.strip()
        if not is_blank:
            filled.append(picture)
    return tuple(filled)


def plain_value(value: Any) -> Any:
    """Returns a value of pandas or numpy as JSON has it: arrays as lists, NaN as None.

    Arrays of numbers stay.
    """
    # arrays of objects and texts, as pandas reads lists from parquet
    if isinstance(value, np.ndarray) and value.dtype.kind in "OUS":
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain_value(entry) for entry in value]
    if isinstance(value, Mapping):
        return {key: plain_value(entry) for key, entry in value.items()}
    # pandas' own missing values, by their names: pandas may not be installed
    if is_nan(value) or type(value).__name__ in ("NAType", "NaTType"):
        return None
    return value
