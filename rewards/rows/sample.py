"""Reads a row of a dataset into a Sample, `read_sample(row, completion, prompt)`, and writes it
again, `row_of`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from spanreward.rewards.base.texts import entries, people, texts
from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.rows.messages import (
    completion_text,
    prompt_text,
    without_placeholders,
)
from spanreward.rewards.rows.values import box, one_text, plain_value

_FIELDS = "prompt image images reference question answers task bbox context anchor criteria id"
READ = frozenset(_FIELDS.split())  # the dataset columns that become fields of a Sample


def read_sample(row: Mapping[str, Any], completion: Any, prompt: Any = "") -> Sample:
    """Returns the Sample for a dataset row (docs/recipes.md).

    Raises ValueError for a value of the wrong type.
    """
    question = one_text(row.get("question"), "question")
    images = pictures(row.get("images"), "images") or pictures(row.get("image"), "image")
    return Sample(
        prompt=prompt_text(prompt),
        completion=completion_text(completion),
        images=images,
        references=texts(row.get("reference"), "reference"),
        question=question and without_placeholders(question),
        answers=people(row.get("answers"), "answers"),
        task=one_text(row.get("task"), "task"),
        bbox=box(row.get("bbox"), "bbox"),
        context=one_text(row.get("context"), "context"),
        anchor=one_text(row.get("anchor"), "anchor"),
        criteria=texts(row.get("criteria"), "criteria"),
        id=None if row.get("id") is None else str(row["id"]),
        columns={name: value for name, value in row.items() if name not in READ},
    )


def pictures(value: Any, column: str) -> tuple[Any, ...]:
    """Returns a picture, or several, as other columns hold texts.

    An array of numbers is one value, and no picture.
    """
    value = plain_value(value)
    found = [value] if isinstance(value, np.ndarray) else entries(value, column)
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
