"""Loads a recipe's data as a dataset for TRL. The columns are id, prompt, image (for data with
pictures), the columns that rewards read, and for SFT completion.

dataset = load_data(recipe.data)                      # columns id, prompt, image, reference
dataset = load_data(recipe.data, completions=True)  # one row per reference, which is the completion

A row with a question has the question in its prompt and in the column `question`, and the answers
of several people in `answers`. For SFT, a row with answers gives one row, whose completion is the
most frequent answer. A row with references gives a row for each reference. SFT cannot learn answers
and references at once, so a row with answers and references needs `data.target`. If a row lacks a
column of other rows, the row has None there. Pictures of hub datasets stay on disk until a row is
read.
"""

import logging
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Any

from datasets import Dataset, Image, concatenate_datasets
from pyarrow import ArrowException

from spanreward.rewards.base.texts import texts_of_value
from spanreward.rewards.files.hub import load_split
from spanreward.rewards.language.answer_text import normalise_answer
from spanreward.rewards.rows.pictures import DECODED_PIXELS, Pictures
from spanreward.rewards.rows.tables import read_table
from spanreward.training.data.custom import custom_records, custom_rows
from spanreward.training.data.hub import hub_rows
from spanreward.training.data.jsonl import jsonl_rows
from spanreward.training.data.rows import ALL_OR_NONE
from spanreward.training.recipe import (
    DataPart,
    FilePart,
    HubPart,
    JsonlPart,
    MixedPart,
    RecipeError,
    RowsPart,
)

log = logging.getLogger(__name__)


def load_data(
    data: DataPart,
    completions: bool = False,
    look: bool = True,
    extra_columns: Collection[str] = (),
) -> Dataset:
    """Returns the dataset of a recipe's data block.

    completions: whether rows get a completion, for SFT. look: whether pictures that JSONL files
    name are opened. With look=False, the column `image` of such a row holds a text in place of the
    picture, such as "rows.jsonl line 3"; a check can still see that the row has a picture.
    extra_columns: columns of the data that a user's own metric reads (`columns_asked_by`); each row
    keeps these columns.

    Raises RecipeError, with the row's name, for a row that cannot be used.
    """
    part_datasets = []
    try:
        for part in data.parts:
            part_datasets.append(load_part(part, completions, look, extra_columns))
    except ValueError as error:
        raise RecipeError(str(error)) from error
    if isinstance(data, MixedPart):
        part_datasets = parts_of_mix(part_datasets)
    dataset = concatenate_datasets(part_datasets)
    if not look or "image" not in dataset.column_names:
        return dataset
    # the smallest limit is used for all rows, since the transform does not know a row's part
    limits = [part.max_pixels or DECODED_PIXELS for part in data.parts]
    return dataset.with_transform(Pictures(min(limits)))


def parts_of_mix(datasets: Sequence[Dataset]) -> list[Dataset]:
    """Returns the datasets of a mix with the number of the part in each id, such as "1/7", because
    each part counts its rows from 1. Raises RecipeError if only some of the parts have pictures.
    """
    has_pictures = {"image" in dataset.column_names for dataset in datasets}
    if len(has_pictures) > 1:
        raise RecipeError(f"some parts of the data have pictures, and others none: {ALL_OR_NONE}.")
    return [with_part_number(dataset, number) for number, dataset in enumerate(datasets)]


def load_part(
    data: JsonlPart | HubPart | FilePart,
    completions: bool,
    look: bool,
    extra_columns: Collection[str],
) -> Dataset:
    """Returns the dataset of a single block of data, from one file, dataset or function.

    completions: whether rows get a completion, for SFT. look: whether the pictures of a JSONL file
    are opened (`load_data`). extra_columns: other columns that each row keeps.

    Raises ValueError for a row that cannot be used, and if no row is left.
    """
    pictures = None
    if isinstance(data, HubPart):
        rows, pictures = hub_rows(data, extra_columns)
    elif isinstance(data, FilePart):
        rows = custom_rows(data)
    else:
        rows = jsonl_rows(data, look, extra_columns)
    # turn the prompts into messages, and for SFT add completions
    rows = taught_rows(rows, data) if completions else chat_rows(rows)
    if not rows:
        content = "a reference or answers" if completions else "something to judge by"
        raise RecipeError(f"the data of {data.source} holds no row with {content}.")
    dataset = as_dataset(rows, data.source)
    if pictures is not None:
        # Add the picture to each row. The id of a hub dataset's row is its number, from 1. For SFT,
        # several rows may have one id, one row per reference.
        places = [int(row["id"]) - 1 for row in rows]
        dataset = concatenate_datasets([pictures.select(places), dataset], axis=1)
    # paths and bytes become pictures when a row is read
    if "image" in dataset.column_names:
        dataset = dataset.cast_column("image", Image())
    return dataset


def as_dataset(rows: list[dict[str, Any]], source: str) -> Dataset:
    """Returns the rows as a dataset. source: the name of the data, for the message.

    Raises RecipeError for a column with values of several types. Only a column for a user's own
    metric can have such values, because `read_rows` checks the types of all other columns.
    """
    try:
        return Dataset.from_list(rows)
    except ArrowException as error:
        raise RecipeError(
            f"a column of the data of {source} holds values of several kinds: {error}."
        ) from error


def chat_rows(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the rows for RL: prompts are lists with a message, and completions are removed."""
    chats = []
    for row in rows:
        message = {"role": "user", "content": row["prompt"]}
        chat = {**row, "prompt": [message]}
        # RL samples its completions from the policy
        chat.pop("completion", None)
        chats.append(chat)
    return chats


def taught_rows(rows: Sequence[dict[str, Any]], data: RowsPart) -> list[dict[str, Any]]:
    """Returns the rows for SFT: a row for each text that SFT learns (`taught_texts`), with the
    prompt and the completion as messages.

    Rows without such a text are left out, and a warning with their number is logged. Raises
    RecipeError for a row with answers and references if `data.target` is not set.
    """
    chats = []
    left_out = 0
    for row, chat in zip(rows, chat_rows(rows), strict=True):
        targets = taught_texts(row, data)
        if not targets:
            left_out += 1
        for text in targets:
            message = {"role": "assistant", "content": text}
            chats.append({**chat, "completion": [message]})
    # if no row is left, the caller raises, so a warning is not needed
    if left_out and chats:
        log.warning(
            "left out %d rows with neither a reference nor answers, which SFT cannot learn, kept "
            "%d",
            left_out,
            len(rows) - left_out,
        )
    return chats


def with_part_number(dataset: Dataset, number: int) -> Dataset:
    """Returns the dataset with the number of its part before each id: "7" becomes "1/7" in part 1.
    So the ids of different parts of a mix differ.
    """
    ids = [f"{number}/{name}" for name in dataset["id"]]  # "0/1", "0/2", ...
    return dataset.remove_columns("id").add_column("id", ids)


def taught_texts(row: dict[str, Any], data: RowsPart) -> list[str]:
    """Returns the texts that SFT learns from a row. A row from a user's function may have a
    `completion`, which is then the only source. For other rows, the texts are either the most
    frequent answer or all references.

    Raises RecipeError for a row with answers and references if `data.target` is not set.
    """
    if row.get("completion"):
        return list(texts_of_value(row["completion"], "completion"))
    references = row.get("reference") or []
    if not row.get("answers"):
        return references
    answer = most_frequent(row["answers"])
    if not references or data.target == "answers":
        return [answer]
    if data.target == "reference":
        return references
    raise RecipeError(
        f"row {row['id']} of the data has answers (most often {answer!r:.60}) and a reference "
        f"({references[0]!r:.60}), and SFT learns one of them: set data.target to answers or "
        "to reference."
    )


def most_frequent(answers: Sequence[str]) -> str:
    """Returns the most frequent answer: ["Two dogs", "2 dogs", "dogs"] gives "Two dogs".

    Answers are counted in normalised form, so "Two dogs" and "2 dogs" are equal, and the first
    spelling is returned. Of equally frequent answers, the first is returned.
    """
    # the normalised form of an answer such as "a" is "", so the answer itself is counted
    forms = [normalise_answer(answer) or answer for answer in answers]
    most_frequent_form = max(forms, key=forms.count)
    return answers[forms.index(most_frequent_form)]


def records_of(data: DataPart, ids: Sequence[str]) -> list[Any]:
    """Returns the original record of each row, as the data's files hold it, for rows of the dataset
    of `load_data`. ids: the ids of these rows, such as "7", or "1/7" in mixed data.
    """
    part_numbers = []
    row_numbers = []  # from 1
    for name in ids:
        part, _, number = name.rpartition("/")
        part_numbers.append(int(part or 0))
        row_numbers.append(int(number))
    last = max(row_numbers, default=0)
    records_of_parts = [records_of_part(part, last) for part in data.parts]
    records = []
    for part_number, row_number in zip(part_numbers, row_numbers, strict=True):
        part_records = records_of_parts[part_number]
        records.append(part_records[row_number - 1])
    return records


def records_of_part(part: JsonlPart | HubPart | FilePart, last: int) -> Any:
    """Returns the original records of a block as a sequence. The record of row "7" has the index 6.

    last: the number of the last record that the caller needs, if the block's records are read from
    a file or made by a function. Of a hub dataset, all records that the recipe uses are returned.
    """
    if isinstance(part, HubPart):
        split = load_split(
            part.id,
            part.split,
            part.subset,
            part.revision,
            part.streaming,
        )
        if isinstance(split, Dataset):
            return split
        # a stream has no indices, so its first `count` records are read to a list
        return list(split.take(part.count or 0))
    if isinstance(part, FilePart):
        records: Iterator[tuple[str, Any]] = custom_records(part)
    else:
        records = read_table(part.path)
    # a user's function may yield rows without end
    first_records = islice(records, last)
    return [record for _, record in first_records]
