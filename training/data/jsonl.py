"""A recipe's JSONL file as rows: a picture each, what is asked of it and what is right.

    {"image": "a.jpg", "reference": ["A dog on grass.", "A brown dog."]}
    {"image": "a.jpg", "question": "What animal is it?", "answers": ["dog", "dog", "puppy"]}
    {"image": "b.jpg", "question": "Where is it?", "answers": [{"answer": "on a sofa"}], "context": "A cat on a sofa."}
    {"image": "b.jpg", "task": "reg", "bbox": [10, 20, 90, 80]}

    jsonl_rows(JsonlPart(source="jsonl", path="rows.jsonl"))     # [{"id": "1", "prompt": "Describe the picture.", ...

Pictures are paths relative to the file. Those that lie outside its folder are taken, and counted in one warning, as
somebody else may have written the file. `training.data.rows` says what the keys mean.
"""

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rewards.pictures import PictureError, loaded, open_file
from rewards.scoring import BOM
from training.data.rows import read_rows
from training.recipe import JsonlPart, RecipeError

log = logging.getLogger(__name__)


def jsonl_rows(data: JsonlPart) -> list[dict[str, Any]]:
    """The rows, at most `data.count`. Raises RecipeError, naming the line, for one that cannot be used."""
    path = Path(data.path)
    if not path.is_file():
        raise RecipeError(f"there is no data file {path}: give its path with data.path=PATH.")
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
    """Whether the path leads into the folder, its links not followed."""
    return Path(os.path.abspath(path)).is_relative_to(os.path.abspath(folder))


def read_records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The file's objects, each with the words that name its line."""
    content = path.read_bytes().removeprefix(BOM).removesuffix(b"\n")
    for number, line in enumerate(content.split(b"\n") if content else [], start=1):
        where = f"{path} line {number}"
        yield where, read_record(line, where)


def read_record(line: bytes, where: str) -> dict[str, Any]:
    """A line's JSON object. Raises RecipeError."""
    try:
        record = json.loads(line.decode("utf-8"))
        json.dumps(record, ensure_ascii=False).encode()  # half a character, "\\ud800", could not be stored
    except (ValueError, RecursionError) as error:
        raise RecipeError(f"{where} is not JSON ({error}): mend or remove the line.") from None
    if not isinstance(record, dict):
        raise RecipeError(f"{where} must hold a JSON object, got {record!r}.")
    return record


def readable_picture(path: Path, where: str) -> Path:
    """The path, when a picture can be opened there. Raises RecipeError."""
    try:
        loaded(open_file(path))  # to its end, as a JPEG's beginning may be whole
    except FileNotFoundError:
        raise RecipeError(f"{where}: there is no picture {path}; paths are relative to the file's folder.") from None
    except PictureError as error:
        raise RecipeError(f"{where}: {str(path)!r} cannot be read as a picture ({error}): mend or remove it.") from None
    return path
