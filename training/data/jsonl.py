"""Rows of a file, for the recipe's `source: jsonl`: JSON Lines, or any other table that
rewards/rows/tables.py reads.

    {"image": "a.jpg", "reference": ["A dog on grass.", "A brown dog."]}
    {"image": "a.jpg", "question": "What animal is it?", "answers": ["dog", "dog", "puppy"]}

    jsonl_rows(JsonlPart(source="jsonl", path="rows.jsonl"))
    # [{"id": "1", "prompt": "Describe the picture.", ...

A picture is a path, or the bytes in a parquet file. A path starts from the folder of the rows'
file, or from the working folder if the first path does not exist. docs/recipes.md explains the
keys.
"""

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from spanreward.rewards.rows.tables import read_table
from spanreward.training.data.rows import read_rows, usable_picture
from spanreward.training.recipe import JsonlPart


def jsonl_rows(
    data: JsonlPart, look: bool = True, extra_columns: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Returns the rows of the file, at most `data.count`.

    look: whether pictures are opened. With look=False, `image` is the name of the row's line, such
    as "rows.jsonl line 3". extra_columns: other keys of a line that its row keeps, because a user's
    own metric reads them. Raises ValueError, with the line's name, for a line that cannot be used.
    """
    path = data.file
    # a function that returns the value for `image`
    picture: Callable[[Any, str], Any] = row_name
    if look:
        picture = partial(usable_picture, path.parent)
    return read_rows(read_table(path), data, picture, extra_columns=extra_columns)


def row_name(value: Any, where: str) -> str:
    """Returns the row's name, which replaces the picture. `value`, the picture, is not opened."""
    return where
