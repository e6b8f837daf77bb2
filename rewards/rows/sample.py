"""Turns a row into a Sample, and a Sample into a row.

    read_sample({"reference": "A blue kite."}, completion="A red kite.", prompt="Describe it.")
    row_sample({"prompt": "Describe it.", "reference": "A blue kite."}, "A red kite.")
    row_of(sample)["reference"]     # ("A blue kite.",)

columns.py lists the columns that become fields of the Sample. All other columns of the row become
the Sample's `columns`.
"""

from collections.abc import Mapping
from typing import Any

from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.rows.columns import COLUMNS_READ, read_columns, read_pictures
from spanreward.rewards.rows.messages import completion_text, prompt_text
from spanreward.rewards.rows.placeholders import without_placeholders


def read_sample(row: Mapping[str, Any], completion: Any, prompt: Any = "") -> Sample:
    """Returns the Sample for a dataset row (docs/recipes.md).

    completion, prompt: a text or chat messages. Raises ValueError for a value of the wrong type,
    and for placeholders of more pictures than the row has.
    """
    values = read_columns(row)
    images = read_pictures(row)
    question = values.pop("question")
    if question is not None:
        question = without_placeholders(question, len(images), "the question")
    name = row.get("id")
    if name is not None:
        name = str(name)
    other_columns = {key: value for key, value in row.items() if key not in COLUMNS_READ}
    references = values.pop("reference")
    # the remaining values have the same names as fields of the Sample
    return Sample(
        prompt=prompt_text(prompt, len(images)),
        completion=completion_text(completion),
        images=images,
        references=references,
        question=question,
        id=name,
        columns=other_columns,
        **values,
    )


def row_sample(row: Mapping[str, Any], completion: Any = "") -> Sample:
    """Returns the Sample for a row whose prompt, if any, is the row's column `prompt`.

    Raises ValueError for a value of the wrong type, and for placeholders of more pictures than the
    row has.
    """
    prompt = row.get("prompt")
    if prompt is None:
        prompt = ""
    return read_sample(row, completion, prompt)


def row_of(sample: Sample) -> dict[str, Any]:
    """Returns a row from which `read_sample` makes this sample, with prompt and completion:
    Sample("Say.", "A dog.", references=("A cat.",)) gives {"prompt": "Say.", "completion":
    "A dog.", "reference": ("A cat.",), ...}.
    """
    row = dict(sample.columns)
    # The Sample's fields have the names of the columns, except two: a picture of the column `image`
    # is in `images`, and the column `reference` is in `references`.
    for name in sorted(COLUMNS_READ - {"image", "reference"}):
        row[name] = getattr(sample, name)
    row["completion"] = sample.completion
    row["reference"] = sample.references
    return row
