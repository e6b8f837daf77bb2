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
    values: dict[str, list[Values]] = {}
    for name in filter(None, (*columns, cluster)):
        values[name] = [values_of(record.get(name)) for record in records]
        if not any(values[name]):
            raise RecipeError(f"--slice {name}: no row of {where} has this column.")
    slices = slices_of(rows)
    slices |= {name: values[name] for name in columns}
    if cluster:
        return slices, cluster_numbers(values[cluster])
    return slices, cluster_numbers([picture_identity(row) for row in rows])


def picture_identity(row: Mapping[str, Any]) -> Any:
    """Returns a key that is equal for equal pictures; the row's id where it has no picture."""
    image = row.get("image")
    if image is None:
        return row["id"]
    return image.mode, image.size, hashlib.blake2b(image.tobytes()).digest()


def cluster_numbers(values: Sequence[Any]) -> list[int]:
    """Returns a number for each value, in order of appearance; equal values have one number."""
    numbers: dict[Any, int] = {}
    for value in values:
        numbers.setdefault(value, len(numbers))
    return [numbers[value] for value in values]


def slices_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Values]]:
    """Slices by what is asked, and in thirds by the longest reference's length, both known before
    any answer.
    """
    kinds: list[Values] = []
    for row in rows:
        kind = "question" if row.get("question") else "description"
        kinds.append((kind,))
    lengths = [longest_reference(row) for row in rows]
    return {"asked for": kinds, "words of the reference": thirds(lengths)}


def longest_reference(row: Mapping[str, Any]) -> int | None:
    """Returns the words of the longest reference, None for a row without any."""
    references = row.get("reference") or ()
    return max((len(text.split()) for text in references), default=None)


def thirds(lengths: Sequence[int | None]) -> list[Values]:
    """Returns the third in which each length is; () for None."""
    present = [length for length in lengths if length is not None]
    short, long = 0, 0
    if present:
        edges = quantile(present, [1 / 3, 2 / 3])
        short, long = round(float(edges[0])), round(float(edges[1]))
    names: list[Values] = []
    for length in lengths:
        if length is None:
            names.append(())
        elif length <= short:
            names.append((f"up to {short}",))
        elif length <= long:
            names.append((f"{short + 1} to {long}",))
        else:
            names.append((f"over {long}",))
    return names


def values_of(value: Any) -> Values:
    """Returns a column's value as texts: those of a list, or the one."""
    listed = value if isinstance(value, list) else [value]
    return tuple(str(entry) for entry in listed if entry is not None)
