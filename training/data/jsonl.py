"""A recipe's JSONL file as rows, one JSON object a line:

    {"image": "a.jpg", "reference": ["A dog on grass.", "A brown dog."]}
    {"image": "a.jpg", "question": "What animal is it?", "answers": ["dog", "dog", "puppy"]}
    {"image": "b.jpg", "question": "Where is it?", "answers": [{"answer": "on a sofa"}], "context": "A cat on a sofa."}
    {"image": "b.jpg", "task": "reg", "bbox": [10, 20, 90, 80]}

    jsonl_rows(JsonlPart(source="jsonl", path="rows.jsonl"))     # [{"id": "1", "prompt": "Describe the picture.", ...

Pictures are paths relative to the file. Paths that lead out of its folder are read and counted in one warning, since
somebody else may have written the file. rows.py says what the keys mean.
"""

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spanreward.rewards.files.json_lines import read_json_lines
from spanreward.rewards.files.pictures import PictureError, loaded, open_file
from spanreward.training.data.rows import read_rows
from spanreward.training.recipe import JsonlPart, RecipeError

log = logging.getLogger(__name__)


def jsonl_rows(data: JsonlPart) -> list[dict[str, Any]]:
    """Returns at most `data.count` rows. Raises RecipeError, naming the line, for one that cannot be used."""
    path = data.file
    key = data.columns.get("image", "image")
    elsewhere: list[Path] = []

    def picture(value: Any, where: str) -> str:
        if not isinstance(value, str):
            raise RecipeError(f"{where}: {key!r} must be the path of a picture, got {value!r}.")
        found = readable_picture(path.parent / value, where)
        if not within(found, path.parent):
            elsewhere.append(found)
        return str(found)

    rows = read_rows(read_records(path), data, picture)
    if elsewhere:
        log.warning(
            "%d pictures of %s lie outside its folder, such as %s: look who wrote the file, where it is not yours.",
            *(len(elsewhere), path, elsewhere[0]),
        )
    return rows


def within(path: Path, folder: Path) -> bool:
    """Whether the path leads into the folder. Links are not followed."""
    return Path(os.path.abspath(path)).is_relative_to(os.path.abspath(folder))


def read_records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields each line's object with the words that name the line. Raises RecipeError for a bad or blank line."""
    try:
        yield from read_json_lines(path, blank=False)
    except ValueError as error:
        raise RecipeError(str(error)) from None


def readable_picture(path: Path, where: str) -> Path:
    """Returns the path where a picture can be read there. Raises RecipeError otherwise."""
    try:
        loaded(open_file(path))  # to its end, as a JPEG's beginning may be whole
    except FileNotFoundError:
        raise RecipeError(f"{where}: there is no picture {path}; paths are relative to the file's folder.") from None
    except PictureError as error:
        raise RecipeError(f"{where}: {str(path)!r} cannot be read as a picture ({error}): mend or remove it.") from None
    return path
