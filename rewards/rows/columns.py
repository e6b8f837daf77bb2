"""The columns of a row that become fields of a Sample, and the reader of each column.

    read_columns({"reference": "A dog.", "answers": "['dog']", "place": "a park"})
    # {"reference": ("A dog.",), "question": None, "answers": ("dog",), ...}
    read_columns({"caption": "A dog."}, {"reference": "caption"})["reference"]      # ("A dog.",)

All code that reads rows uses this module: files, trainers, data of recipes, comparisons.
"""

from collections import Counter
from collections.abc import Callable, Container, Mapping
from types import MappingProxyType
from typing import Any

from spanreward.rewards.base.texts import TEXTS_OF_MISSING, answers_of_people, texts_of_value
from spanreward.rewards.rows.values import box_of_value, one_text, pictures_of_value

COLUMN_READERS: dict[str, Callable[[Any, str], Any]] = {
    "reference": texts_of_value,
    "question": one_text,
    "answers": answers_of_people,
    "context": one_text,
    "anchor": one_text,
    "criteria": texts_of_value,
    "bbox": box_of_value,
    "task": one_text,
}
COLUMNS_READ = frozenset({*COLUMN_READERS, "id", "prompt", "image", "images"})
OWN_NAMES: Mapping[Any, str] = MappingProxyType({})
# Texts for a missing value (TEXTS_OF_MISSING) that may also be people's answers. Completions are
# not changed: text/no_answers.py reports missing values among completions.
SAYABLE_MISSING = frozenset({"None", "null"})
# Texts for a missing value in R and in spreadsheets. Such a text may be an answer, too.
MARKED_MISSING = frozenset({"NA", "N/A", "NULL", "#N/A"})


def read_columns(row: Mapping[str, Any], names: Mapping[Any, str] = OWN_NAMES) -> dict[str, Any]:
    """Returns the value of each column in COLUMN_READERS, by our name of the column.

    The value of a missing column is () or None. names: for each of our names, the row's key if the
    key differs, such as {"reference": "caption"}. Raises ValueError, which names the row's key, for
    a value of a wrong type.
    """
    values = {}
    for column, read in COLUMN_READERS.items():
        key = names.get(column, column)
        values[column] = read(row.get(key), key)
    return values


def read_pictures(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Returns the row's pictures from `images`, or from `image` if `images` has no picture."""
    images = pictures_of_value(row.get("images"), "images")
    return images or pictures_of_value(row.get("image"), "image")


def picture_key(names: Mapping[Any, str], present: Container[str]) -> str:
    """Returns the key of the column with the picture that a policy sees.

    names: the user's key for "image", if any, which is preferred. present: the keys of the row.
    Without a user's key, the result is "images" if the row has only "images", else "image".
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
    """Returns the row with None in place of texts for a missing value: `{"reference": "N/A"}` gives
    `{"reference": None}`.

    Only the columns of COLUMNS_READ change. The given row itself is not changed.

    missing: counts the replaced texts by key; this function adds to the counts. names: for each of
    our names, the row's key if the key differs.
    """
    filled = row
    for column in COLUMNS_READ:
        key = names.get(column, column)
        value = row.get(key)
        if isinstance(value, str) and _is_missing(value, column):
            filled = {**filled, key: None}
            missing[key] += 1
    return filled


def _is_missing(value: str, column: str) -> bool:
    """Returns whether a text of a column stands for a missing value, such as "nan" or "N/A".

    In the column `answers`, "None" and "N/A" are no missing values, because people may answer so:
    "How many birds are there?" "None." But "nan" is a missing value in any column.
    """
    may_be_answer = value in SAYABLE_MISSING or value in MARKED_MISSING
    if column == "answers" and may_be_answer:
        return False
    return value in TEXTS_OF_MISSING or value in MARKED_MISSING
