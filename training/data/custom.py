"""Rows from a function of the user, for data that no file or hub dataset holds in the needed form:

    # my_data.py
    def rows(split="train"):
        for photo in album(split):
            yield {"image": photo.path, "reference": photo.captions, "place": photo.place}

    data: {source: "my_data.py:rows", options: {split: train}}

The function returns or yields one mapping per row, with the keys of rows.py. A picture is a PIL
image or a path. If a row has the key `completion`, SFT learns this text in place of the references.
All other keys are columns for rewards of the user (`Sample.columns`).
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
    """Returns the rows of the user's function, at most `data.count`.

    Raises RecipeError, with the number of the row, for a row that cannot be used.
    """
    # paths of pictures start from the working folder, since there is no file of rows
    picture = partial(usable_picture, Path())
    return read_rows(custom_records(data), data, picture, keep_other_keys=True)


def custom_records(data: FilePart) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields (name, mapping) of each row of the user's function, such as ("my_data.py:rows row 3",
    {...}). The name is for messages.

    Raises RecipeError for a missing function, for options that the function does not take, and for
    a row that is no mapping.
    """
    try:
        function = custom_function(data.source)
        # check the options now: a generator function runs nothing until its first row is read
        inspect.signature(function).bind(**data.options)
        records = function(**data.options)
        for number, record in enumerate(records, start=1):
            where = f"{data.source} row {number}"
            if not isinstance(record, Mapping):
                raise RecipeError(f"{where} must be a mapping from keys to values, got {record!r}.")
            yield where, record
    except RecipeError:
        # a RecipeError is a ValueError too, but its message needs no addition
        raise
    except (ValueError, TypeError) as error:
        raise RecipeError(
            f"the data of {data.source} cannot be asked for with {data.options}: {error}"
        ) from error
