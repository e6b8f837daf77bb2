"""A file of a recipe's `source: jsonl` as rows: JSON Lines, or any table that
rewards/rows/tables.py reads.

    {"image": "a.jpg", "reference": ["A dog on grass.", "A brown dog."]}
    {"image": "a.jpg", "question": "What animal is it?", "answers": ["dog", "dog", "puppy"]}

    jsonl_rows(JsonlPart(source="jsonl", path="rows.jsonl"))
    # [{"id": "1", "prompt": "Describe the picture.", ...

Pictures are paths from the file's folder, or from the working folder where no such file is there,
or the bytes of parquet files. docs/recipes.md says what the keys mean.
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
    """Returns at most `data.count` rows. Raises ValueError, naming the line, for one that cannot be
    used.

    look: whether pictures are opened; if not, a row has the line's name in its picture's place.
    extra_columns: see `read_rows`.
    """
    path = data.file
    # what the row holds in its picture's place
    picture: Callable[[Any, str], Any] = row_name
    if look:
        picture = partial(usable_picture, path.parent)
    return read_rows(read_table(path), data, picture, extra_columns=extra_columns)


def row_name(value: Any, where: str) -> str:
    """Returns the row's name in place of its picture, which is not opened."""
    return where
