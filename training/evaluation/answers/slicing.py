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
    """Returns the slices, by name each row's values, and each row's cluster as a number.

    records: what the data hold of each row, in the rows' order. columns: those to slice by.
    cluster: the column whose equal values are drawn together, "" for the picture. where: the data's
    name in messages. Raises RecipeError for a column that no row has.
    """
    names = list(columns)
    if cluster:
        names.append(cluster)
    values: dict[str, list[Values]] = {}
    for name in names:
        column = []
        for record in records:
            column.append(values_of(record.get(name)))
        if not any(column):
            raise RecipeError(f"--slice {name}: no row of {where} has this column.")
        values[name] = column
    slices = slices_of(rows)
    for name in columns:
        slices[name] = values[name]
    # answers about one picture depend on each other
    if cluster:
        return slices, cluster_numbers(values[cluster])
    pictures = [picture_identity(row) for row in rows]
    return slices, cluster_numbers(pictures)


def picture_identity(row: Mapping[str, Any]) -> Any:
    """Returns a key that is equal for equal pictures; the row's id where it has no picture."""
    image = row.get("image")
    if image is None:
        return row["id"]
    # a digest, since the pixels of all pictures would fill the memory
    pixels = hashlib.blake2b(image.tobytes())
    return image.mode, image.size, pixels.digest()


def cluster_numbers(values: Sequence[Any]) -> list[int]:
    """Returns a number for each value, in order of appearance; equal values have one number."""
    numbers: dict[Any, int] = {}
    for value in values:
        numbers.setdefault(value, len(numbers))
    return [numbers[value] for value in values]


def slices_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Values]]:
    """Returns the slices that need no column: by what is asked, and in thirds by the longest
    reference's length. Both are known before any answer, so no answer decides its own slice.
    """
    kinds: list[Values] = []  # each row is of one kind
    for row in rows:
        kind = "question" if row.get("question") else "description"
        kinds.append((kind,))
    lengths = [longest_reference(row) for row in rows]
    return {"asked for": kinds, "words of the reference": thirds(lengths)}


def longest_reference(row: Mapping[str, Any]) -> int | None:
    """Returns the words of the longest reference, None for a row without any."""
    references = row.get("reference") or ()
    counts = [len(text.split()) for text in references]
    return max(counts, default=None)


def thirds(lengths: Sequence[int | None]) -> list[Values]:
    """Returns the third in which each length is, such as ("up to 12",), ("13 to 20",) or ("over
    20",); () for None.
    """
    present = [length for length in lengths if length is not None]
    # the greatest lengths of the first and the second third
    short = 0
    long = 0
    if present:
        edges = quantile(present, [1 / 3, 2 / 3])
        short = round(float(edges[0]))
        long = round(float(edges[1]))
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
    """Returns a column's value as texts: ("3",) of 3, ("dog", "cat") of ["dog", "cat"], () of
    None.
    """
    listed = value if isinstance(value, list) else [value]
    return tuple(str(entry) for entry in listed if entry is not None)
