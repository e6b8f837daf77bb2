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
    """Returns what 16 hexadecimal digits say, and a hash of any other text."""
    if _FINGERPRINT.fullmatch(text):
        return int(text, 16)
    content = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "big")


def mark_numbers(texts: Iterable[str]) -> Numbers:
    return as_numbers(array("Q", map(mark_number, texts)))


def as_numbers(values: "array[int]") -> Numbers:
    """Returns the values of an array of kind "Q", which can no longer grow."""
    return np.frombuffer(values, dtype=np.uint64)


def matched(marks: Numbers, sought: Numbers) -> PlaceNumbers:
    """Returns the place in `marks` of each number sought, -1 for none. Equal numbers have a place
    each, in order.
    """
    of_there = np.argsort(marks, kind="stable")
    of_wanted = np.argsort(sought, kind="stable")
    values = sought[of_wanted]
    ranks = np.arange(len(values)) - np.searchsorted(values, values)
    places = np.searchsorted(marks, values, sorter=of_there) + ranks
    ends = np.searchsorted(marks, values, side="right", sorter=of_there)
    met = places < ends
    result = np.full(len(sought), -1, dtype=np.int64)
    result[of_wanted[met]] = of_there[places[met]]
    return result
