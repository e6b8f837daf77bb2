"""The question, references and answers of a row, by which equal rows of two datasets are found.

row_content({"question": "Which?", "answers": ["red"]})     # ("Which?", (), ("red",))
"""

from collections.abc import Mapping
from typing import Any


def row_content(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Returns (question, references, answers) of a row, as values that can be entries of a set.

    row: a row of the dataset that `load_data` returns.
    """
    references = tuple(map(str, row.get("reference") or ()))
    answers = tuple(map(str, row.get("answers") or ()))
    return row.get("question"), references, answers
