"""A recipe's data as a dataset for TRL: id, prompt, image if any, the columns that rewards read,
for SFT a completion.

dataset = load_data(recipe.data)                      # columns id, prompt, image, reference
dataset = load_data(recipe.data, completions=True)  # one row per reference, which is the completion

A row with a question has it in its prompt and in `question`, and people's answers in `answers`. For
SFT it is one row, whose completion is an answer. A row holds None in the columns that only other
rows have. Pictures of hub datasets stay on disk until a row is read.
"""

from collections.abc import Sequence
from typing import Any

from datasets import Dataset, Image, concatenate_datasets

from spanreward.rewards.base.texts import texts
from spanreward.rewards.language.answer_text import normalise
from spanreward.rewards.rows.pictures import DECODED_PIXELS, Pictures
from spanreward.training.data.custom import custom_rows
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
)


def load_data(data: DataPart, completions: bool = False, look: bool = True) -> Dataset:
    """Returns the dataset of a recipe's data block. Raises RecipeError, naming the row, for one
    that cannot be used.

    look: whether pictures of files are opened; if not, the dataset names their places in their
    stead.
    """
    try:
        loaded = [load_part(part, completions, look) for part in data.parts]
    except ValueError as error:
        raise RecipeError(str(error)) from error
    if isinstance(data, MixedPart):
        loaded = [numbered(dataset, number) for number, dataset in enumerate(loaded)]
        if len({"image" in dataset.column_names for dataset in loaded}) > 1:
            raise RecipeError(
                f"some parts of the data have pictures, and others none: {ALL_OR_NONE}."
            )
    dataset = concatenate_datasets(loaded)
    pixels = min(part.max_pixels or DECODED_PIXELS for part in data.parts)
    return (
        dataset.with_transform(Pictures(pixels))
        if "image" in dataset.column_names and look
        else dataset
    )


def load_part(data: JsonlPart | HubPart | FilePart, completions: bool, look: bool) -> Dataset:
    pictures = None
    if isinstance(data, HubPart):
        rows, pictures = hub_rows(data)
    else:
        rows = custom_rows(data) if isinstance(data, FilePart) else jsonl_rows(data, look)
    if completions:
        learn = [(row, text) for row in rows for text in learned(row)]
        rows = [
            {**row, "completion": [{"role": "assistant", "content": text}]} for row, text in learn
        ]
    else:
        rows = [
            {name: value for name, value in row.items() if name != "completion"} for row in rows
        ]
    if not rows:
        wanted = "a reference or answers" if completions else "something to judge by"
        raise RecipeError(f"the data of {data.source} holds no row with {wanted}.")
    rows = [{**row, "prompt": [{"role": "user", "content": row["prompt"]}]} for row in rows]
    dataset = Dataset.from_list(rows)
    if pictures is not None:
        chosen = pictures.select([int(row["id"]) - 1 for row in rows])
        dataset = concatenate_datasets([chosen, dataset], axis=1)
    return dataset.cast_column("image", Image()) if "image" in dataset.column_names else dataset


def numbered(dataset: Dataset, number: int) -> Dataset:
    """Returns the dataset with ids that differ from those of a mix's other parts."""
    ids = [f"{number}/{name}" for name in dataset["id"]]
    return dataset.remove_columns("id").add_column("id", ids)


def learned(row: dict[str, Any]) -> list[str]:
    """Returns the texts that SFT learns from a row: its `completion`, which only a function of your
    own gives; else every reference; of a question the answer that most people gave.
    """
    if row.get("completion"):
        return list(texts(row["completion"], "completion"))
    if row.get("question") and row.get("answers"):
        return [most_frequent(row["answers"])]
    return row.get("reference") or []


def most_frequent(answers: Sequence[str]) -> str:
    """Returns the answer whose normalised form is most frequent, in its first spelling; among
    equals the first.
    """
    forms = [normalise(answer) or answer for answer in answers]
    return answers[forms.index(max(forms, key=forms.count))]
