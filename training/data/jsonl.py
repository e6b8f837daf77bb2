"""A file of a recipe's `source: jsonl` as rows: JSON Lines, or any table that
rewards/rows/tables.py reads.

    {"image": "a.jpg", "reference": ["A dog on grass.", "A brown dog."]}
    {"image": "a.jpg", "question": "What animal is it?", "answers": ["dog", "dog", "puppy"]}

    jsonl_rows(JsonlPart(source="jsonl", path="rows.jsonl"))
    # [{"id": "1", "prompt": "Describe the picture.", ...

Pictures are paths relative to the file, or the bytes of parquet files. docs/recipes.md says what
the keys mean.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from spanreward.rewards.rows.pictures import PictureError, opened
from spanreward.rewards.rows.tables import read_table
from spanreward.training.data.rows import read_rows
from spanreward.training.recipe import JsonlPart, RecipeError


def jsonl_rows(data: JsonlPart, look: bool = True) -> list[dict[str, Any]]:
    """Returns at most `data.count` rows. Raises ValueError, naming the line, for one that cannot be
    used.

    look: whether pictures are opened; if not, a row has the line's name in its picture's place.
    """
    path = data.file
    picture = partial(usable_picture, path.parent) if look else lambda _, where: where
    return read_rows(read_table(path), data, picture)


def usable_picture(folder: Path, value: Any, where: str) -> Any:
    """Returns a picture's path, from `folder`, or its {"bytes", "path"}, or the PIL image, maybe
    out of a list of one. Raises RecipeError for one that cannot be read, and for several.
    """
    if isinstance(value, list):
        if len(value) != 1:
            raise RecipeError(f"{where} must hold one picture, got {len(value)}.")
        value = value[0]
    if isinstance(value, Mapping) and not value.get("bytes"):
        value = value.get("path")
    found = folder / value if isinstance(value, str | Path) and "://" not in str(value) else value
    try:
        opened(found)  # to its end, as a damaged JPEG may begin well
    except PictureError as error:
        raise RecipeError(f"{where}: {error}.") from None
    return str(found) if isinstance(found, Path) else found
