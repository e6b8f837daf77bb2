"""Texts by which things are known, as numbers of 8 bytes: what 100,000 rows are known by is little.

    marks = mark_numbers(["0123456789abcdef", "row 7"])
    matched(mark_numbers(["b", "a", "a"]), mark_numbers(["a", "c", "a", "a"]))    # [1, -1, 2, -1]

Two texts of n have one number with a chance of n * n / 2 ** 65, as with the fingerprints of rows.
"""

import hashlib
import re
from array import array
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.uint64]
PlaceNumbers = npt.NDArray[np.int64]
_FINGERPRINT = re.compile(r"[0-9a-f]{16}")


def mark_number(text: str) -> int:
    """Returns the number that 16 hexadecimal digits write, and a hash of any other text. It is from
    0 to 2 ** 64 - 1.
    """
    if _FINGERPRINT.fullmatch(text):
        return int(text, 16)
    content = text.encode("utf-8", "surrogatepass")  # texts of the web hold lone surrogates
    digest = hashlib.blake2b(content, digest_size=8).digest()
    return int.from_bytes(digest, "big")


def mark_numbers(texts: Iterable[str]) -> Numbers:
    """Returns the number of each text, in order."""
    return as_numbers(array("Q", map(mark_number, texts)))


def as_numbers(values: "array[int]") -> Numbers:
    """Returns the values of an array of kind "Q", which can no longer grow."""
    return np.frombuffer(values, dtype=np.uint64)


def matched(marks: Numbers, sought: Numbers) -> PlaceNumbers:
    """Returns the place in `marks` of each number sought, -1 for none. Equal numbers have a place
    each, in order.

    Both are sorted and searched, so no Python object is made per number.
    """
    marks_order = np.argsort(marks, kind="stable")
    sought_order = np.argsort(sought, kind="stable")
    values = sought[sought_order]
    # the how-manieth of its equals each number sought is: 0 for the first
    ranks = np.arange(len(values)) - np.searchsorted(values, values)
    # The first of a value takes the first mark with it, the second the second, until there are no
    # more marks with it.
    places = np.searchsorted(marks, values, sorter=marks_order) + ranks
    ends = np.searchsorted(marks, values, side="right", sorter=marks_order)
    has_mark = places < ends
    result = np.full(len(sought), -1, dtype=np.int64)
    result[sought_order[has_mark]] = marks_order[places[has_mark]]
    return result
