"""A recipe's JSONL file as rows: a picture each, what is asked of it and what is right.

    {"image": "a.jpg", "reference": ["A dog on grass.", "A brown dog."]}
    {"image": "a.jpg", "question": "What animal is it?", "answers": ["dog", "dog", "puppy"]}
    {"image": "b.jpg", "question": "Where is it?", "answers": [{"answer": "on a sofa"}], "context": "A cat on a sofa."}
    {"image": "b.jpg", "task": "reg", "bbox": [10, 20, 90, 80]}

    jsonl_rows(JsonlPart(source="jsonl", path="rows.jsonl"))     # [{"id": "1", "prompt": "Describe the picture.", ...

Pictures are paths relative to the file. Nothing but the picture is needed: what a metric needs, it says itself. Every
row has a value, be it None, for each of the columns that any row has one for. A row whose reference, answers and
context are there and all empty is left out and counted; one that has no such keys is for metrics without a reference.
"""

import json
import logging
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from PIL import Image, UnidentifiedImageError

from rewards.reward import texts
from training.recipe import JsonlPart, RecipeError

log = logging.getLogger(__name__)

DESCRIBE = "Describe the picture."
ASKED = "{question}"
RIGHT = ("reference", "answers", "context")  # what an answer can be held against


def jsonl_rows(data: JsonlPart) -> list[dict[str, Any]]:
    """The rows, at most `data.count`. Raises RecipeError, naming the line, for one that cannot be used."""
    path = Path(data.path)
    if not path.is_file():
        raise RecipeError(f"there is no data file {path}: give its path with data.path=PATH.")
    rows: list[dict[str, Any]] = []
    left_out = 0
    content = path.read_text("utf-8").removesuffix("\n")
    for number, line in enumerate(content.split("\n") if content else [], start=1):
        if len(rows) == data.count:
            break
        where = f"{path} line {number}"
        record = read_record(line, where)
        image_key = data.columns.get("image", "image")
        if image_key not in record:
            raise RecipeError(f"{where} has no {image_key!r}, only {sorted(record)}: set data.columns to its keys.")
        values = read_values(record, data.columns, where)
        if is_empty(record, values, data.columns, where):
            left_out += 1
            continue
        if not isinstance(record[image_key], str):
            raise RecipeError(f"{where}: {image_key!r} must be the path of a picture, got {record[image_key]!r}.")
        image = readable_picture(path.parent / record[image_key], where)
        prompt = prompt_for(values["question"], data.prompt)
        rows.append({"id": str(number), "image": str(image), "prompt": prompt, **values})
    if left_out:
        log.warning("%s: left out %d rows without reference, answers and context, kept %d", path, left_out, len(rows))
    present = [column for column in (rows[0] if rows else ()) if any(row[column] is not None for row in rows)]
    return [{column: row[column] for column in present} for row in rows]


def prompt_for(question: str | None, prompt: str | None) -> str:
    """What the policy is asked. A question stands where `prompt` has `{question}`, else after it, else alone."""
    if question is None:
        return DESCRIBE if prompt is None or ASKED in prompt else prompt
    if prompt is None:
        return question
    return prompt.replace(ASKED, question) if ASKED in prompt else f"{prompt}\n{question}"


def read_record(line: str, where: str) -> dict[str, Any]:
    """A line's JSON object. Raises RecipeError."""
    try:
        record = json.loads(line)
        json.dumps(record, ensure_ascii=False).encode()  # half a character, "\\ud800", could not be stored
    except (ValueError, RecursionError) as error:
        raise RecipeError(f"{where} is not JSON ({error}): mend or remove the line.") from None
    if not isinstance(record, dict):
        raise RecipeError(f"{where} must hold a JSON object, got {record!r}.")
    return record


def read_values(record: Mapping[str, Any], columns: Mapping[Any, str], where: str) -> dict[str, Any]:
    """The row's value, or None, for every column but the picture's. Raises RecipeError for what is of another kind."""
    values = {}
    for column, read in READERS.items():
        key = columns.get(column, column)
        try:
            values[column] = None if record.get(key) is None else read(record[key], key)
        except ValueError as error:
            raise RecipeError(f"{where}: {error}.") from None
    return values


def is_empty(record: Mapping[str, Any], values: Mapping[str, Any], columns: Mapping[Any, str], where: str) -> bool:
    """Whether the record has keys for what is right, and nothing in any. Raises RecipeError for a row without the keys
    that `data.columns` names.
    """
    named = [columns[column] for column in RIGHT if column in columns]
    there = any(columns.get(column, column) in record for column in RIGHT)
    if named and not there:
        keys = " or ".join(map(repr, named))
        raise RecipeError(f"{where} has no {keys}, only {sorted(record)}: set data.columns to its keys.")
    return there and all(values[column] is None for column in RIGHT)


def readable_picture(path: Path, where: str) -> Path:
    """The path, when a picture can be opened there. Raises RecipeError."""
    try:
        with Image.open(path) as picture:
            picture.load()  # verify() would not look at a JPEG's data
    except FileNotFoundError:
        raise RecipeError(f"{where}: there is no picture {path}; paths are relative to the file's folder.") from None
    except (UnidentifiedImageError, OSError, SyntaxError) as error:
        raise RecipeError(f"{where}: {path} cannot be read as a picture ({error}): mend or remove it.") from None
    return path


def _text(value: Any, key: str) -> str | None:
    if not isinstance(value, str):
        raise ValueError(f"{key!r} must hold a text, got {value!r}")
    return value if value.strip() else None


def _texts(value: Any, key: str) -> list[str] | None:
    return list(texts(value, key)) or None


def _answers(value: Any, key: str) -> list[str] | None:
    """People's answers as texts, or as VQA datasets have them: objects with the text in "answer"."""
    entries = value if isinstance(value, list) else [value]
    given = [entry.get("answer") if isinstance(entry, dict) else entry for entry in entries]
    if not all(isinstance(answer, str) for answer in given):
        raise ValueError(f'{key!r} must hold a text, a list of texts or of {{"answer": text}}, got {value!r}')
    return _texts(given, key)


def _box(value: Any, key: str) -> list[float]:
    numbers = value if isinstance(value, list) and len(value) == 4 else []
    box = [float(one) for one in numbers if type(one) in (int, float) and math.isfinite(one)]
    if len(box) < 4 or not (box[0] < box[2] and box[1] < box[3]):
        raise ValueError(f"{key!r} must hold four numbers x0 < x1, y0 < y1 as [x0, y0, x1, y1], got {value!r}")
    return box


READERS: dict[str, Callable[[Any, str], Any]] = {
    "reference": _texts,
    "question": _text,
    "answers": _answers,
    "context": _text,
    "bbox": _box,
    "task": _text,
}
