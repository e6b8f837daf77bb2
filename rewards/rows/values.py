"""Reads one value of a row of a file, of a dataset, or of a trainer's column.

    one_text("A red circle.", "context")        # "A red circle."
    box_of_value("[1, 2, 3, 4]", "bbox")        # (1, 2, 3, 4)

For a missing value (None, NaN, blank), a reader returns None or (). For a value of a wrong type, a
reader raises ValueError with the name of the column. base/texts.py has the readers for texts.
"""

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from spanreward.rewards.base.texts import entries_of_value, is_nan, texts_of


def one_text(value: Any, column: str) -> str | None:
    """Returns the text, or None for a blank text and for a missing value.

    A text such as "['a', 'b']" is one text, not a list. Raises ValueError for a list, and for a
    value of another type.
    """
    # a text is never read as a list here, and `texts_of` refuses a list
    is_entry = isinstance(value, str | list | tuple)
    entries = [value] if is_entry else entries_of_value(value, column)  # [] for NaN and None
    texts = texts_of(entries, column, "a text", value)
    if not texts:
        return None
    return texts[0]


def box_of_value(value: Any, column: str) -> tuple[float, float, float, float] | None:
    """Returns the four finite numbers x0, y0, x1, y1 of a box, or None for a missing value: "[1, 2,
    3, 4]" gives (1, 2, 3, 4).

    Raises ValueError for another number of entries, and for entries that are no finite numbers.
    """
    numbers = entries_of_value(value, column, (int, float))
    is_empty_cell = numbers == [""]  # of a CSV table
    if not numbers or is_empty_cell:
        return None
    if len(numbers) != 4 or not all(map(_is_finite, numbers)):
        raise ValueError(
            f"the column {column!r} must hold four numbers x0, y0, x1, y1, got {value!r}"
        )
    x0, y0, x1, y1 = numbers
    return x0, y0, x1, y1


def _is_finite(number: Any) -> bool:
    """Whether this is a finite int or float. False for booleans, NaN and ints above float range."""
    return type(number) in (int, float) and abs(number) <= sys.float_info.max


def pictures_of_value(value: Any, column: str) -> tuple[Any, ...]:
    """Returns the pictures of a column, which holds one picture or a list of pictures: "a.png"
    gives ("a.png",).

    The pictures are not opened here, so an entry may turn out to be no picture. An array of numbers
    is one entry. Raises ValueError for a list with numbers or missing entries.
    """
    value = plain_value(value)
    listed = [value]
    if not isinstance(value, np.ndarray):
        listed = entries_of_value(value, column)
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
    """Returns a value of pandas or numpy as a value of JSON: arrays of texts or objects become
    lists, and NaN becomes None.

    Arrays of numbers are returned unchanged.
    """
    # pandas reads a list in a parquet file as an array of objects or texts
    if isinstance(value, np.ndarray) and value.dtype.kind in "OUS":
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain_value(entry) for entry in value]
    if isinstance(value, Mapping):
        return {key: plain_value(entry) for key, entry in value.items()}
    # pandas' missing values are found by the names of their types, as pandas may not be installed
    if is_nan(value) or type(value).__name__ in ("NAType", "NaTType"):
        return None
    return value
