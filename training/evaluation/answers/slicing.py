"""How the rows are sliced, and which of them are drawn together: by columns of the data, pictures
and lengths.

slices, clusters = parted(rows, records, columns=["level"], cluster="", where="rows.jsonl")
slices["level"]         # [("1",), ("2",), ...], one entry per row
clusters                # [0, 0, 1, ...]: the first two rows have one picture
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from numpy import quantile

from spanreward.training.recipe import RecipeError

# of one row in one slice: usually one, several where a column holds a list, none
Values = tuple[str, ...]


def parted(
    rows: Sequence[Mapping[str, Any]],
    records: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    cluster: str,
    where: str,
) -> tuple[dict[str, list[Values]], list[int]]:
    """Returns the slices and clusters. records: each row's, with these columns.

    Raises RecipeError for others.
    """
    found = {
        name: [values_of(record.get(name)) for record in records]
        for name in (*columns, cluster)
        if name
    }
    for name, values in found.items():
        if not any(values):
            raise RecipeError(f"--slice {name}: no row of {where} has this column.")
    groups = found[cluster] if cluster else [picture_of(row) for row in rows]
    return {**slices_of(rows), **{name: found[name] for name in columns}}, numbered(groups)


def picture_of(row: Mapping[str, Any]) -> Any:
    """Returns a key that is equal for equal pictures; the row's id where it has no picture."""
    image = row.get("image")
    return (
        row["id"]
        if image is None
        else (image.mode, image.size, hashlib.blake2b(image.tobytes()).digest())
    )


def numbered(values: Sequence[Any]) -> list[int]:
    """Returns a number for each value, in order of appearance."""
    numbers: dict[Any, int] = {}
    return [numbers.setdefault(value, len(numbers)) for value in values]


def slices_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Values]]:
    """Slices by what is asked, and in thirds by the longest reference's length, both known before
    any answer.
    """
    kinds: list[Values] = [
        ("question",) if row.get("question") else ("description",) for row in rows
    ]
    lengths = [
        max((len(text.split()) for text in row.get("reference") or ()), default=None)
        for row in rows
    ]
    known = [length for length in lengths if length is not None]
    short, long = (
        (round(float(edge)) for edge in quantile(known, [1 / 3, 2 / 3])) if known else (0, 0)
    )
    names = (f"up to {short}", f"{short + 1} to {long}", f"over {long}")
    bins: list[Values] = [
        () if length is None else (names[(length > short) + (length > long)],) for length in lengths
    ]
    return {"asked for": kinds, "words of the reference": bins}


def values_of(value: Any) -> Values:
    """Returns a column's value as texts: those of a list, or the one."""
    return tuple(
        str(entry) for entry in (value if isinstance(value, list) else [value]) if entry is not None
    )
