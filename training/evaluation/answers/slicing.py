"""Sorts the rows of a comparison into slices and clusters.

slices, clusters = slices_and_clusters(rows, records, ["level"], cluster="", where="rows.jsonl")
slices["level"]  # [("1",), ("2",), ...], one entry per row
clusters  # [0, 0, 1, ...]: the first two rows have the same picture

A slice is a group of rows that are also compared by themselves, such as all questions. A cluster is
a group of rows that the statistics draw together, such as two questions about one picture.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from numpy import quantile

from spanreward.training.recipe import RecipeError

# the values of one row in a slice: usually one, several if a column holds a list, or none
SliceValues = tuple[str, ...]


def slices_and_clusters(
    rows: Sequence[Mapping[str, Any]],
    records: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    cluster: str,
    where: str,
) -> tuple[dict[str, list[SliceValues]], list[int]]:
    """Returns the slices of the rows, {name: the values of each row}, and the number of each row's
    cluster.

    Args:
        rows: the rows that are compared on.
        records: for each row, its record in the data with all columns.
        columns: the columns to slice by.
        cluster: the column whose equal values put rows into one cluster; "" takes equal pictures.
        where: the name of the data, for messages.

    Raises:
        RecipeError: for a column that no row has.
    """
    needed_columns = list(columns)
    if cluster:
        needed_columns.append(cluster)
    values: dict[str, list[SliceValues]] = {}  # by column, the values of each row
    for name in needed_columns:
        values[name] = [values_of(record.get(name)) for record in records]
        if not any(values[name]):
            raise RecipeError(f"--slice {name}: no row of {where} has this column.")
    slices = slices_of(rows)
    for name in columns:
        slices[name] = values[name]
    # rows with the same picture are one cluster by default: their answers are not independent
    if cluster:
        return slices, cluster_numbers(values[cluster])
    pictures = [picture_identity(row) for row in rows]
    return slices, cluster_numbers(pictures)


def picture_identity(row: Mapping[str, Any]) -> Any:
    """Returns a key that is equal for rows with equal pictures; the row's id if it has no
    picture.
    """
    image = row.get("image")
    if image is None:
        return row["id"]
    # a digest, because the pixels of all pictures would fill the memory
    pixels = hashlib.blake2b(image.tobytes())
    return image.mode, image.size, pixels.digest()


def cluster_numbers(values: Sequence[Any]) -> list[int]:
    """Returns a number for each value, in order of appearance: ["a", "b", "a"] gives [0, 1, 0]."""
    numbers: dict[Any, int] = {}
    for value in values:
        numbers.setdefault(value, len(numbers))
    return [numbers[value] for value in values]


def slices_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[SliceValues]]:
    """Returns the two slices that need no column: "asked for" and "words of the reference".

    "asked for" is "question" or "description". "words of the reference" sorts the rows into thirds
    by the length of the longest reference. Both values are known before the models answer, so that
    no answer decides its own slice.
    """
    kinds: list[SliceValues] = []  # each row is of one kind
    for row in rows:
        kind = "question" if row.get("question") else "description"
        kinds.append((kind,))
    lengths = [longest_reference(row) for row in rows]
    return {"asked for": kinds, "words of the reference": thirds_of_lengths(lengths)}


def longest_reference(row: Mapping[str, Any]) -> int | None:
    """Returns the number of words of the row's longest reference; None without references."""
    references = row.get("reference") or ()
    counts = [len(text.split()) for text in references]
    return max(counts, default=None)


def thirds_of_lengths(lengths: Sequence[int | None]) -> list[SliceValues]:
    """Returns the name of the third to which each length belongs, and () for None.

    The three names are such as ("up to 12",), ("13 to 20",) and ("over 20",). The thirds have
    about equally many lengths.
    """
    known_lengths = [length for length in lengths if length is not None]
    # the greatest lengths of the first and the second third
    first_end = 0
    second_end = 0
    if known_lengths:
        ends = quantile(known_lengths, [1 / 3, 2 / 3])
        first_end = round(float(ends[0]))
        second_end = round(float(ends[1]))
    names: list[SliceValues] = []
    for length in lengths:
        if length is None:
            names.append(())
        elif length <= first_end:
            names.append((f"up to {first_end}",))
        elif length <= second_end:
            names.append((f"{first_end + 1} to {second_end}",))
        else:
            names.append((f"over {second_end}",))
    return names


def values_of(value: Any) -> SliceValues:
    """Returns a column's value as texts: 3 gives ("3",), ["dog", "cat"] gives ("dog", "cat"), and
    None gives ().
    """
    listed = value if isinstance(value, list) else [value]
    return tuple(str(entry) for entry in listed if entry is not None)
