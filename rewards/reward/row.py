"""Reads a row of a dataset into a Sample, `read_sample(row, completion, prompt)`, and writes it
again, `row_of`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from spanreward.rewards.base import values
from spanreward.rewards.base.verdict import Sample

_FIELDS = "prompt image images reference question answers task bbox context anchor criteria id"
READ = frozenset(_FIELDS.split())  # the dataset columns that become fields of a Sample


def read_sample(row: Mapping[str, Any], completion: Any, prompt: Any = "") -> Sample:
    """Returns the Sample for a dataset row (docs/recipes.md).

    Raises ValueError for a value of the wrong type.
    """
    question = values.one_text(row.get("question"), "question")
    images = pictures(row.get("images"), "images") or pictures(row.get("image"), "image")
    return Sample(
        prompt=values.prompt_text(prompt),
        completion=values.completion_text(completion),
        images=images,
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


def pictures(value: Any, column: str) -> tuple[Any, ...]:
    """Returns a picture, or several, as other columns hold texts.

    An array of numbers is one value, and no picture.
    """
    value = values.plain_value(value)
    found = [value] if isinstance(value, np.ndarray) else values.entries(value, column)
    if any(isinstance(one, int | float) or one is None for one in found):
        raise ValueError(
            f"the column {column!r} must hold a picture or a list of pictures, got {value!r:.80}"
        )
    return tuple(one for one in found if not isinstance(one, str) or one.strip())


def row_of(sample: Sample) -> dict[str, Any]:
    """Returns the row that `read_sample` reads as this sample, with its prompt and completion."""
    read = {name: getattr(sample, name) for name in sorted(READ - {"image", "reference"})}
    return {
        **sample.columns,
        **read,
        "completion": sample.completion,
        "reference": sample.references,
    }
