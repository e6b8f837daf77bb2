"""What a row asks for and is judged by, which tells it from others wherever it stands.

row_content({"question": "Which?", "answers": ["red"]})     # ("Which?", (), ("red",))
"""

from collections.abc import Mapping
from typing import Any


def row_content(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Returns the question, the references and the answers, which can be entries of a set. row:
    with the columns of `load_data`.
    """
    references = tuple(map(str, row.get("reference") or ()))
    answers = tuple(map(str, row.get("answers") or ()))
    return row.get("question"), references, answers
