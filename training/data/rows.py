"""Reads rows of a file, a hub dataset or your own function into the rows that a trainer and the
rewards take.

    rows = read_rows(records, data, picture)
    # [{"id": "1", "image": ..., "prompt": "Describe the picture.", ...

A record holds a picture, or a prompt of its own, and any column of a Sample (docs/recipes.md),
under their own names or those in `data.columns`. rewards/rows reads their values; this file makes
what the policy is asked and sees. Either all rows have pictures or none has. A row has a value
or None for each column for which some row has a value. A record that has keys for reference,
answers or context, and nothing in any of them, is left out and counted. A record without these keys
is for metrics without a reference.
"""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from os.path import exists
from pathlib import Path
from typing import Any

from PIL import Image

from spanreward.rewards.rows.columns import (
    READ,
    READERS,
    picture_key,
    read_columns,
    without_missing,
)
from spanreward.rewards.rows.messages import message_text
from spanreward.rewards.rows.pictures import PictureError, located, opened
from spanreward.rewards.rows.placeholders import without_placeholders
from spanreward.rewards.rows.tables import say_missing
from spanreward.rewards.rows.values import one_text
from spanreward.training.recipe import RecipeError, RowsPart

log = logging.getLogger(__name__)

DESCRIBE = "Describe the picture."
QUESTION_FIELD = "{question}"
ALL_OR_NONE = "give all rows of a run a picture, or none"
ROW_COLUMNS = ("prompt", *READERS)  # of a row, beside its id and picture
JUDGED_COLUMNS = ("reference", "answers", "context")  # what an answer can be compared with


def read_rows(
    records: Iterable[tuple[str, Mapping[str, Any]]],
    data: RowsPart,
    picture: Callable[[Any, str], Any],
    keep_other_keys: bool = False,
    extra_columns: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Returns at most `data.count` rows. Raises RecipeError, naming the record, for one that cannot
    be used.

    records: (name for error messages, record). picture: turns the record's picture into the row's
    image, or raises. A row's id is its record's number from 1, as text. keep_other_keys: a
    row has its record's other keys too. extra_columns: those that it has anyway, since rewards
    read them.
    """
    rows: list[dict[str, Any]] = []
    left_out = 0
    first_pictured: bool | None = None
    missing = Counter[str]()
    for number, (where, written) in enumerate(records, start=1):
        record = without_missing(dict(written), missing, data.columns)
        values = usable_values(record, data, where)
        if values is None:
            left_out += 1
            continue
        # the first row decides whether the run has pictures
        image_key = picture_key(data.columns, record)
        pictured = image_key in record
        if first_pictured is None:
            first_pictured = pictured
        if pictured != first_pictured:
            article = "a" if pictured else "no"
            raise RecipeError(
                f"{where} has {article} picture, unlike the rows before it: {ALL_OR_NONE}."
            )
        image = picture(record[image_key], where) if pictured else None
        prompt = asked_in(values, data.prompt, pictured, where)
        # the record's number, so that the id still leads to it where records are left out
        row: dict[str, Any] = {"id": str(number), "image": image, "prompt": prompt}
        row.update(values)
        if keep_other_keys:
            row.update(other_columns(record, data))
        row.update(columns_named(record, extra_columns))
        rows.append(row)
        # records may have no end
        if len(rows) == data.count:
            break
    # said once, and not of each row
    say_missing(missing, "the data")
    if left_out:
        log.warning(
            "left out %d rows without reference, answers and context, kept %d", left_out, len(rows)
        )
    return with_equal_columns(rows)


def usable_values(record: Mapping[str, Any], data: RowsPart, where: str) -> dict[str, Any] | None:
    """Returns what `read_values` does; None for a record with nothing to judge by.

    Raises RecipeError for a record that cannot be used.
    """
    values = read_values(record, data.columns, where)
    image_key = picture_key(data.columns, record)
    # text alone needs a prompt, and data that name a column for pictures have it in every row
    needs_picture = values["prompt"] is None or "image" in data.columns
    if needs_picture and image_key not in record:
        raise RecipeError(
            f"{where} has no {image_key!r}, only {sorted(record)}: set data.columns to its "
            "keys; a row without a picture needs a 'prompt', and no name for pictures in "
            "data.columns."
        )
    if is_empty(record, values, data.columns, where):
        return None
    # the corners are pixels of the picture as it is
    if values["bbox"] is not None and data.max_pixels is not None:
        raise RecipeError(
            f"{where} has a bbox, which data.max_pixels would put elsewhere: leave max_pixels out."
        )
    # the recipe's task is for the rows that have none
    if values["task"] is None:
        values["task"] = data.task
    return values


def other_columns(record: Mapping[str, Any], data: RowsPart) -> dict[str, Any]:
    """Returns what the record holds beside what rewards and policies read."""
    read = {*READ, *data.columns.values()}
    columns = {}
    for name, value in record.items():
        if name not in read:
            columns[name] = value
    return columns


def columns_named(record: Mapping[str, Any], extra_columns: Collection[str]) -> dict[str, Any]:
    """Returns what the record holds under these names, whatever it stands for in `data.columns`."""
    columns = {}
    # sorted, so that the columns of every run have one order
    for name in sorted(extra_columns):
        if name in record:
            columns[name] = record[name]
    return columns


def with_equal_columns(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the rows with the columns in which some row has a value, and None where one lacks
    it.
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
    """Returns what the policy is asked: `prompt` with the question in place of `{question}`, or
    else after it. question, prompt: None where the row or the recipe has none.
    """
    if question is None:
        # a prompt with a place for a question says nothing without one
        if prompt is None or QUESTION_FIELD in prompt:
            return DESCRIBE
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
    """Returns the record's value or None for each of ROW_COLUMNS, as a dataset holds it: lists for
    tuples. Raises RecipeError for a value of another kind.
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
            values[column] = list(value) or None  # an empty list is as good as no key
    return values


def is_empty(
    record: Mapping[str, Any],
    values: Mapping[str, Any],
    columns: Mapping[Any, str],
    where: str,
) -> bool:
    """Returns whether the record has keys of JUDGED_COLUMNS, and they hold nothing.

    values: those of `read_values`. columns: those of the data block. Raises RecipeError where
    `columns` names some of these keys and none is there.
    """
    named = []
    has_key = False
    for column in JUDGED_COLUMNS:
        if column in columns:
            named.append(columns[column])
        if columns.get(column, column) in record:
            has_key = True
    if named and not has_key:
        keys = " or ".join(map(repr, named))
        raise RecipeError(
            f"{where} has no {keys}, only {sorted(record)}: set data.columns to its keys."
        )
    return has_key and all(values[column] is None for column in JUDGED_COLUMNS)


def asked_in(values: dict[str, Any], prompt: str | None, pictured: bool, where: str) -> str:
    """Takes the row's prompt out of its values, and returns what the policy is asked: the row's own
    prompt, else the recipe's with the row's question.

    values: those of `read_values`; a question in them loses its placeholders too. prompt: the
    recipe's. pictured: whether the row has a picture. where: the row's name, for messages. A
    picture's placeholder goes, as the policy's processor puts it in, or becomes words. Raises
    RecipeError for a placeholder without a picture.
    """
    row_prompt = values.pop("prompt")
    question = values["question"]
    if question is not None:
        question = _without_placeholders(question, "the question", pictured, where)
        values["question"] = question
    # a row's own prompt stands alone, whatever the recipe's says
    if row_prompt:
        text = _without_placeholders(row_prompt, "the prompt", pictured, where)
    elif prompt is not None:
        template = _without_placeholders(prompt, "the recipe's prompt", pictured, where)
        text = prompt_for(question or None, template)
    else:
        text = prompt_for(question or None, None)
    # a prompt may have been a placeholder alone
    return text or DESCRIBE


def _without_placeholders(text: str, name: str, pictured: bool, where: str) -> str:
    """Returns the text without placeholders. Raises RecipeError for one without a picture."""
    try:
        plain = without_placeholders(text, 1 if pictured else 0, name)
    except ValueError as error:
        raise RecipeError(f"{where}: {error}.") from None
    # a policy without the picture would be asked about nothing
    if plain != text and not pictured:
        raise RecipeError(
            f"{where} has the placeholder of a picture and no picture, {text!r:.80}: name it in "
            "data.columns."
        )
    return plain


def usable_picture(folder: Path, value: Any, where: str) -> Any:
    """Returns the picture as `datasets` takes it: its path, its {"bytes", "path"}, or a PIL image.

    folder: see `located`. Raises as `open_picture`.
    """
    image = open_picture(folder, value, where)
    picture = located(only_picture(value, where), folder)
    # a path stays one, so that the pixels of all rows are not in memory
    if isinstance(picture, str) and exists(picture):
        return picture
    if isinstance(picture, Mapping):
        content = picture.get("bytes")
        if isinstance(content, bytes):
            return picture
    return image  # `datasets` reads no other form


def open_picture(folder: Path, value: Any, where: str) -> Image.Image:
    """Returns the picture decoded to its end, as a damaged JPEG may begin well.

    Raises RecipeError for one that cannot be read, and for several.
    """
    try:
        return opened(only_picture(value, where), folder)
    except PictureError as error:
        raise RecipeError(f"{where}: {error}.") from None


def only_picture(value: Any, where: str) -> Any:
    """Returns the picture, maybe out of a list of one."""
    if not isinstance(value, list):
        return value
    if len(value) != 1:
        raise RecipeError(f"{where} must hold one picture, got {len(value)}.")
    return value[0]


def read_prompt(value: Any, column: str) -> str | None:
    """Returns a prompt as it is, or the text of its one message, None without one. Raises
    ValueError for another value.
    """
    if isinstance(value, list) and len(value) == 1:
        message = value[0]
        if isinstance(message, Mapping):
            value = message_text(message)
    return one_text(value, column)


def ordered_box(box: Sequence[float], value: Any, column: str) -> list[float]:
    """Returns the corners. Raises ValueError, with the value as it is written, for those that no
    picture has.
    """
    x0, y0, x1, y1 = box
    if not (x0 < x1 and y0 < y1):
        raise ValueError(
            f"the column {column!r} must hold x0 < x1, y0 < y1 as [x0, y0, x1, y1], got {value!r}"
        )
    return [float(corner) for corner in box]
