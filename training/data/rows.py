"""Turns the records of a file, a hub dataset or a user's function into rows for a trainer and its
rewards.

    rows = read_rows(records, data, picture)
    # [{"id": "1", "image": ..., "prompt": "Describe the picture.", ...

A record holds a picture, or a prompt of its own, and may hold any column of a Sample
(docs/recipes.md). The record's keys have our names of the columns, or the names in `data.columns`.
rewards/rows reads the values of the columns. This module makes the policy's prompt and picture.

Either all rows have pictures, or no row has a picture. All rows have the same columns: None fills
the gaps. A record is left out if it has some of the keys reference, answers and context, and all of
these keys are empty. A warning gives the number of such records. A record without any of these keys
stays, since some metrics need no reference.
"""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from os.path import exists
from pathlib import Path
from typing import Any

from PIL import Image

from spanreward.rewards.rows.columns import (
    COLUMN_READERS,
    COLUMNS_READ,
    picture_key,
    read_columns,
    without_missing,
)
from spanreward.rewards.rows.messages import message_text
from spanreward.rewards.rows.pictures import PictureError, opened_picture, picture_path
from spanreward.rewards.rows.placeholders import without_placeholders
from spanreward.rewards.rows.tables import warn_of_missing
from spanreward.rewards.rows.values import one_text
from spanreward.training.recipe import RecipeError, RowsPart

log = logging.getLogger(__name__)

DEFAULT_INSTRUCTION = "Describe the picture."
QUESTION_FIELD = "{question}"
ALL_OR_NONE = "give all rows of a run a picture, or none"
ROW_COLUMNS = ("prompt", *COLUMN_READERS)  # the columns of a row, except its id and picture
JUDGED_COLUMNS = ("reference", "answers", "context")  # texts to compare a completion with


def read_rows(
    records: Iterable[tuple[str, Mapping[str, Any]]],
    data: RowsPart,
    picture: Callable[[Any, str], Any],
    keep_other_keys: bool = False,
    extra_columns: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Returns a row for each record, at most `data.count` rows. The id of a row is the number of
    its record, from 1, as a text.

    Args:
        records: for each record a name for messages, such as "rows.jsonl line 3", and the record.
        data: the recipe's data block.
        picture: a function that gets the record's picture and the record's name, and returns the
            row's image. The function may raise RecipeError.
        keep_other_keys: whether a row also gets all other keys of its record.
        extra_columns: other keys of the record that a row gets in any case, because a user's own
            metric reads these keys.

    Raises:
        RecipeError: with the record's name, for a record that cannot be used.
    """
    rows: list[dict[str, Any]] = []
    left_out = 0
    first_pictured: bool | None = None  # whether the first row has a picture
    missing = Counter[str]()  # how often each column has a mark of a missing value, such as NaN
    for number, (where, written) in enumerate(records, start=1):
        record = without_missing(dict(written), missing, data.columns)
        values = usable_values(record, data, where)
        if values is None:
            left_out += 1
            continue
        pictured = picture_key(data.columns, record) in record
        if first_pictured is None:
            first_pictured = pictured
        check_all_or_none(pictured, first_pictured, where)
        # records that are left out are numbered too, so that the id leads to the record in the data
        row = row_of_record(str(number), record, values, data, picture, where)
        if keep_other_keys:
            row.update(other_columns(record, data))
        row.update(columns_named(record, extra_columns))
        rows.append(row)
        # stop here, since a user's function may yield records without end
        if len(rows) == data.count:
            break
    # one warning for all rows
    warn_of_missing(missing, "the data")
    if left_out:
        log.warning(
            "left out %d rows without reference, answers and context, kept %d", left_out, len(rows)
        )
    return with_equal_columns(rows)


def check_all_or_none(pictured: bool, first_pictured: bool, where: str) -> None:
    """Raises RecipeError if a row has a picture and the first row has none, or the reverse: either
    all rows of a run have pictures, or no row has one.

    where: the row's name, for the message.
    """
    if pictured != first_pictured:
        article = "a" if pictured else "no"
        raise RecipeError(
            f"{where} has {article} picture, unlike the rows before it: {ALL_OR_NONE}."
        )


def row_of_record(
    number: str,
    record: Mapping[str, Any],
    values: Mapping[str, Any],
    data: RowsPart,
    picture: Callable[[Any, str], Any],
    where: str,
) -> dict[str, Any]:
    """Returns the row of a record: {"id": number, "image": ..., "prompt": ..., "reference": ...}.

    values: the result of `usable_values`. picture: as in `read_rows`. where: the record's name, for
    messages.
    """
    image_key = picture_key(data.columns, record)
    pictured = image_key in record
    image = picture(record[image_key], where) if pictured else None
    prompt, other_values = prompt_and_values(values, data.prompt, pictured, where)
    return {"id": number, "image": image, "prompt": prompt, **other_values}


def usable_values(record: Mapping[str, Any], data: RowsPart, where: str) -> dict[str, Any] | None:
    """Returns the values of a record's columns (`read_values`), with the recipe's task if the
    record has no task. Returns None for a record that is left out (`is_empty`).

    Raises RecipeError for a record that cannot be used.
    """
    values = read_values(record, data.columns, where)
    image_key = picture_key(data.columns, record)
    # A record without a prompt needs a picture. If `data.columns` names a column for pictures,
    # every record needs a picture.
    needs_picture = values["prompt"] is None or "image" in data.columns
    if needs_picture and image_key not in record:
        raise RecipeError(
            f"{where} has no {image_key!r}, only {sorted(record)}: set data.columns to its "
            "keys; a row without a picture needs a 'prompt', and no name for pictures in "
            "data.columns."
        )
    if is_empty(record, values, data.columns, where):
        return None
    # the box counts pixels of the original picture, and max_pixels would scale the picture down
    if values["bbox"] is not None and data.max_pixels is not None:
        raise RecipeError(
            f"{where} has a bbox, which data.max_pixels would put elsewhere: leave max_pixels out."
        )
    # the recipe's task is for rows without a task
    if values["task"] is None:
        values["task"] = data.task
    return values


def other_columns(record: Mapping[str, Any], data: RowsPart) -> dict[str, Any]:
    """Returns the record's keys and values, except the columns of a Sample and the keys that
    `data.columns` names.
    """
    read = {*COLUMNS_READ, *data.columns.values()}
    columns = {}
    for name, value in record.items():
        if name not in read:
            columns[name] = value
    return columns


def columns_named(record: Mapping[str, Any], extra_columns: Collection[str]) -> dict[str, Any]:
    """Returns {name: value} of the keys of the record that `extra_columns` names.

    Example: the record {"id": 1, "mood": "calm"} and the names {"mood", "author"} give {"mood":
    "calm"}. extra_columns: the columns that a user's own metric reads.
    """
    columns = {}
    # sorted, so that the columns of every run have one order
    for name in sorted(extra_columns):
        if name in record:
            columns[name] = record[name]
    return columns


def with_equal_columns(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the rows with equal columns, as a dataset needs: the columns in which at least one
    row has a value. A row without a value gets None.
    """
    present: dict[str, None] = {}  # in order of appearance
    for row in rows:
        for column, value in row.items():
            if value is not None:
                present[column] = None
    equal_rows = []
    for row in rows:
        equal_row = {column: row.get(column) for column in present}
        equal_rows.append(equal_row)
    return equal_rows


def prompt_for(question: str | None, prompt: str | None) -> str:
    """Returns the policy's prompt from the row's question and the recipe's prompt. Each of the two
    may be None.

    Example: the question "How many?" and the prompt "Answer briefly: {question}" give "Answer
    briefly: How many?". Without `{question}` in the prompt, the question follows the prompt in a
    new line. Without a prompt, the question is the prompt. Without a question, a prompt that
    contains `{question}` is replaced by "Describe the picture."
    """
    if question is None:
        # a prompt such as "Answer: {question}" makes no sense without a question
        if prompt is None or QUESTION_FIELD in prompt:
            return DEFAULT_INSTRUCTION
        return prompt
    if prompt is None:
        return question
    if QUESTION_FIELD in prompt:
        return prompt.replace(QUESTION_FIELD, question)
    return f"{prompt}\n{question}"


def read_values(
    record: Mapping[str, Any],
    columns: Mapping[Any, str],
    where: str,
) -> dict[str, Any]:
    """Returns {column: value or None} of a record, with every column of ROW_COLUMNS. Several texts
    are a list, because a dataset holds no tuples.

    columns: `data.columns`. where: the record's name, for messages. Raises RecipeError for a value
    of a wrong type.
    """
    prompt_key = columns.get("prompt", "prompt")
    box_key = columns.get("bbox", "bbox")
    values: dict[str, Any] = {}
    try:
        values["prompt"] = read_prompt(record.get(prompt_key), prompt_key)
        values.update(read_columns(record, columns))
        if values["bbox"] is not None:
            values["bbox"] = ordered_box(values["bbox"], record[box_key], box_key)
    except ValueError as error:
        raise RecipeError(f"{where}: {error}.") from None
    for column, value in values.items():
        if isinstance(value, tuple):
            values[column] = list(value) or None  # an empty list counts as a missing value
    return values


def is_empty(
    record: Mapping[str, Any],
    values: Mapping[str, Any],
    columns: Mapping[Any, str],
    where: str,
) -> bool:
    """Returns whether the record has nothing to compare a completion with, although it should: it
    has at least one key of JUDGED_COLUMNS, and all of these keys are empty.

    values: the result of `read_values`. columns: `data.columns`. where: the record's name, for
    messages. Raises RecipeError if `columns` names a key of JUDGED_COLUMNS and the record has no
    such key.
    """
    keys_of_recipe = []  # the keys that the recipe names for these columns
    has_key = False
    for column in JUDGED_COLUMNS:
        if column in columns:
            keys_of_recipe.append(columns[column])
        if columns.get(column, column) in record:
            has_key = True
    if keys_of_recipe and not has_key:
        keys = " or ".join(map(repr, keys_of_recipe))
        raise RecipeError(
            f"{where} has no {keys}, only {sorted(record)}: set data.columns to its keys."
        )
    return has_key and all(values[column] is None for column in JUDGED_COLUMNS)


def prompt_and_values(
    values: Mapping[str, Any],
    prompt: str | None,
    pictured: bool,
    where: str,
) -> tuple[str, dict[str, Any]]:
    """Returns the policy's prompt for a row, and the row's values without the key "prompt".

    The policy's prompt is the row's own prompt, or `prompt_for` of the row's question and the
    recipe's prompt. Placeholders of pictures, such as "<image>", are removed from all of these
    texts or replaced by words, because the policy's processor adds its own placeholder. Example:
    {"prompt": None, "question": "<image>Which cup?"} gives "Which cup?" and {"question": "Which
    cup?"}.

    Args:
        values: the result of `read_values`.
        prompt: the recipe's prompt, or None.
        pictured: whether the row has a picture.
        where: the row's name, for messages.

    Raises:
        RecipeError: for a placeholder in a row without a picture.
    """
    other_values = dict(values)
    row_prompt = other_values.pop("prompt")
    question = other_values["question"]
    if question is not None:
        question = _without_placeholders(question, "the question", pictured, where)
        other_values["question"] = question
    # if a row has its own prompt, the recipe's prompt is not used
    if row_prompt:
        text = _without_placeholders(row_prompt, "the prompt", pictured, where)
    elif prompt is not None:
        template = _without_placeholders(prompt, "the recipe's prompt", pictured, where)
        text = prompt_for(question or None, template)
    else:
        text = prompt_for(question or None, None)
    # the text is empty if the prompt was only a placeholder
    return text or DEFAULT_INSTRUCTION, other_values


def _without_placeholders(text: str, name: str, pictured: bool, where: str) -> str:
    """Returns the text without placeholders of pictures: "<image>Which cup?" gives "Which cup?".

    name: the text's name, for messages, such as "the prompt". pictured: whether the row has a
    picture. where: the row's name, for messages. Raises RecipeError for any placeholder in a row
    without a picture, and for placeholders of two or more pictures in a row with a picture.
    """
    if pictured:
        try:
            return without_placeholders(text, 1, name)
        except ValueError as error:  # the text has placeholders of more pictures than 1
            raise RecipeError(f"{where}: {error}.") from None
    plain = without_placeholders(text)
    # if the text had a placeholder, it asks about a picture that the policy would not see
    if plain != text:
        raise RecipeError(
            f"{where} has the placeholder of a picture and no picture, {text!r:.80}: name it in "
            "data.columns."
        )
    return plain


def usable_picture(folder: Path, value: Any, where: str) -> Any:
    """Returns the picture in a form that `datasets` reads: its path, {"bytes": ..., "path": ...},
    or a PIL image.

    folder: relative paths start from this folder. value: the record's picture, such as a path or
    bytes. where: the record's name, for messages. Raises RecipeError for a picture that cannot be
    read, and for several pictures.
    """
    image = open_picture(folder, value, where)  # raises for a picture that cannot be decoded
    picture = picture_path(only_picture(value, where), folder)
    # keep a path as it is, so that memory does not hold the pixels of all rows
    if isinstance(picture, str) and exists(picture):
        return picture
    if isinstance(picture, Mapping):
        content = picture.get("bytes")
        if isinstance(content, bytes):
            return picture
    return image  # `datasets` does not read other forms, so return the decoded picture


def open_picture(folder: Path, value: Any, where: str) -> Image.Image:
    """Returns the picture, decoded to its end: a damaged JPEG may have an intact beginning.

    folder: relative paths start from this folder. value: the record's picture, such as a path or
    bytes. where: the record's name, for messages. Raises RecipeError for a picture that cannot be
    read, and for several pictures.
    """
    try:
        return opened_picture(only_picture(value, where), folder)
    except PictureError as error:
        raise RecipeError(f"{where}: {error}.") from None


def only_picture(value: Any, where: str) -> Any:
    """Returns the only picture of a list, or `value` itself if it is no list. Raises RecipeError
    for a list with another number of pictures.
    """
    if not isinstance(value, list):
        return value
    if len(value) != 1:
        raise RecipeError(f"{where} must hold one picture, got {len(value)}.")
    return value[0]


def read_prompt(value: Any, column: str) -> str | None:
    """Returns the text of a prompt, or None for a missing prompt. A list with a single message
    gives the text of the message.

    column: the column's name, for messages. Raises ValueError for any other value.
    """
    if isinstance(value, list) and len(value) == 1:
        message = value[0]
        if isinstance(message, Mapping):
            value = message_text(message)
    return one_text(value, column)


def ordered_box(box: Sequence[float], value: Any, column: str) -> list[float]:
    """Returns the box [x0, y0, x1, y1] as a list. value: the box as the record holds it, for the
    message. Raises ValueError unless x0 < x1 and y0 < y1.
    """
    x0, y0, x1, y1 = box
    if not (x0 < x1 and y0 < y1):
        raise ValueError(
            f"the column {column!r} must hold x0 < x1, y0 < y1 as [x0, y0, x1, y1], got {value!r}"
        )
    return [float(corner) for corner in box]
