"""Reads a row of a dataset into a Sample: `read_sample(row, completion, prompt)`."""

from collections.abc import Mapping
from typing import Any

from spanreward.rewards.base import values
from spanreward.rewards.base.verdict import Sample

_FIELDS = "prompt image images reference question answers task bbox context anchor criteria id"


READ = frozenset(_FIELDS.split())  # the dataset columns that become fields of a Sample


def read_sample(row: Mapping[str, Any], completion: Any, prompt: Any = "") -> Sample:
    """Returns the Sample for a dataset row (docs/recipes.md). Raises ValueError for a value of the wrong type."""
    images, question = row.get("images"), values.one_text(row.get("question"), "question")
    if images is None:
        images = [row["image"]] if row.get("image") is not None else []
    if not isinstance(images, (list, tuple)):
        raise ValueError(f"the column 'images' must hold a list of pictures, got {images!r}")
    return Sample(
        prompt=values.prompt_text(prompt),
        completion=values.completion_text(completion),
        images=tuple(images),
        references=values.texts(row.get("reference"), "reference"),
        question=question and values.without_placeholders(question),
        answers=values.people(row.get("answers"), "answers"),
        task=values.one_text(row.get("task"), "task"),
        bbox=values.box(row.get("bbox"), "bbox"),
        context=values.one_text(row.get("context"), "context"),
        anchor=values.one_text(row.get("anchor"), "anchor"),
        criteria=values.texts(row.get("criteria"), "criteria"),
        id=None if row.get("id") is None else str(row["id"]),
        columns={name: value for name, value in row.items() if name not in READ},
    )
