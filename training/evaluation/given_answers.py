"""Answers that somebody else's model has written, from a file: one JSON object a line with the row's `id`.

{"id": "1", "completion": "A dog on grass."}

read_answers("answers.jsonl", rows)     # the completions, in the rows' order
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from training.data.jsonl import read_records
from training.recipe import RecipeError


def is_answers(model: str) -> bool:
    """Whether what stands for a model is a file of answers."""
    return Path(model).suffix == ".jsonl"


def read_answers(path: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A completion per row. Raises RecipeError, naming the line or the row, for an answer that is none, is there twice,
    or is missing; what else the file holds is left alone.
    """
    texts: dict[str, str] = {}
    for where, record in read_records(Path(path)):
        name, text = record.get("id"), record.get("completion")
        if name is None or not isinstance(text, str):
            raise RecipeError(f"{where} needs an id and a completion, a text, and has {sorted(record)}.")
        if str(name) in texts:
            raise RecipeError(f"{where} answers the row {name!r} a second time: keep one answer a row.")
        texts[str(name)] = text
    missing = [str(row["id"]) for row in rows if str(row["id"]) not in texts]
    if missing:
        raise RecipeError(
            f"{path} has no answer to {len(missing)} of the {len(rows)} rows, the first of them {missing[0]!r}: give "
            "the ids of completions.jsonl, which of a file or a dataset are the rows' numbers from 1."
        )
    return [texts[str(row["id"])] for row in rows]
