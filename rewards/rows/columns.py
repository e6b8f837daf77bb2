"""The columns of a row that become fields of a Sample, and how the value of each is read.

    read_columns({"reference": "A dog.", "answers": "['dog']", "place": "a park"})
    # {"reference": ("A dog.",), "question": None, "answers": ("dog",), ...}
    read_columns({"caption": "A dog."}, {"reference": "caption"})["reference"]      # ("A dog.",)

Whatever reads a row asks here: files, trainers, recipes' data, comparisons.
"""

from collections import Counter
from collections.abc import Callable, Container, Mapping
from types import MappingProxyType
from typing import Any

from spanreward.rewards.base.texts import MISSING, people, texts
from spanreward.rewards.rows.values import box, one_text, pictures

READERS: dict[str, Callable[[Any, str], Any]] = {
    "reference": texts,
    "question": one_text,
    "answers": people,
    "context": one_text,
    "anchor": one_text,
    "criteria": texts,
    "bbox": box,
    "task": one_text,
}
READ = frozenset({*READERS, "id", "prompt", "image", "images"})
OWN_NAMES: Mapping[Any, str] = MappingProxyType({})
# Of MISSING, an answer may be "None". What a model is said to have written stays as it is:
# text/no_answers.py names it.
SAYABLE = frozenset({"None", "null"})
# How R and spreadsheets write one. People may say these.
MARKED = frozenset({"NA", "N/A", "NULL", "#N/A"})


def read_columns(row: Mapping[str, Any], names: Mapping[Any, str] = OWN_NAMES) -> dict[str, Any]:
    """Returns the value of each column in READERS; () or None where the row has none.

    names: the row's keys, where they are not our names. Raises ValueError, which has the row's key,
    for a value of another kind.
    """
    values = {}
    for column, read in READERS.items():
        key = names.get(column, column)
        values[column] = read(row.get(key), key)
    return values


def read_pictures(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Returns the row's pictures, from `images`, or from `image` where that holds none."""
    images = pictures(row.get("images"), "images")
    return images or pictures(row.get("image"), "image")


def picture_key(names: Mapping[Any, str], present: Container[str]) -> str:
    """Returns the key of the one picture that a policy sees: the one that `names` has, else
    "image", or "images" where only that is present.
    """
    key = "image"
    if "images" in present and "image" not in present:
        key = "images"
    return names.get("image", key)


def without_missing(
    row: dict[str, Any],
    missing: Counter[str],
    names: Mapping[Any, str] = OWN_NAMES,
) -> dict[str, Any]:
    """Returns the row with None for a text in MISSING or MARKED, in the columns that are read, and
    counts them by key.

    missing: the counts, which grow. names: see `read_columns`. The row itself is not changed.
    """
    filled = row
    for column in READ:
        key = names.get(column, column)
        value = row.get(key)
        if not isinstance(value, str) or value not in MARKED.union(MISSING):
            continue
        # people answer "None" to "How many are there?"
        if column == "answers" and value in SAYABLE.union(MARKED):
            continue
        filled = {**filled, key: None}
        missing[key] += 1
    return filled
