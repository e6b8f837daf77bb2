"""Rows from a function of your own, for data that no file or hub dataset holds in the needed form:

    # my_data.py
    def rows(split="train"):
        for photo in album(split):
            yield {"image": photo.path, "reference": photo.captions, "place": photo.place}

    data: {source: "my_data.py:rows", options: {split: train}}

The function returns mappings, one per row. A picture is a PIL image or a path. Beside the keys of
rows.py, `completion` is what SFT learns in place of the references. Other keys are columns for
rewards of your own (`Sample.columns`).
"""

import inspect
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from spanreward.rewards.files.custom_file import custom_function
from spanreward.training.data.rows import read_rows, usable_picture
from spanreward.training.recipe import FilePart, RecipeError


def custom_rows(data: FilePart) -> list[dict[str, Any]]:
    """Returns at most `data.count` rows.

    Raises RecipeError, naming the row, for one that cannot be used.
    """
    # paths of pictures are from the working folder: no file of rows says from where
    picture = partial(usable_picture, Path())
    return read_rows(custom_records(data), data, picture, keep_other_keys=True)


def custom_records(data: FilePart) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields what the function gives, each with the words that name it.

    Raises RecipeError for what cannot be used.
    """
    try:
        function = custom_function(data.source)
        # of a generator function, wrong options would show at the first row only
        inspect.signature(function).bind(**data.options)
        records = function(**data.options)
        for number, record in enumerate(records, start=1):
            where = f"{data.source} row {number}"
            if not isinstance(record, Mapping):
                raise RecipeError(f"{where} must be a mapping from keys to values, got {record!r}.")
            yield where, record
    except RecipeError:
        # a ValueError too, which says already what is wrong
        raise
    except (ValueError, TypeError) as error:
        raise RecipeError(
            f"the data of {data.source} cannot be asked for with {data.options}: {error}"
        ) from error
