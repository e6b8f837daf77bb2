"""Checks before the first step that all ranks have the same rows, in the same order.

    check_same_rows("train_dataset", dataset)       # two collectives if the rows are the same

Each rank reads the data by itself, and takes its part of the rows by number. Rows from
`list(set(...))` have another order in every process, and another node may have other files. Then a
group's completions would belong to several prompts. Some rows would be trained on twice, and other
rows never. The rows of a stream, or of a transform, are not read ahead. groups.py checks such rows
in each step.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from os.path import basename
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from accelerate import PartialState
from accelerate.utils import gather_object
from datasets import Dataset

MARK_BYTES = 8  # bytes of a row's fingerprint
BATCH_ROWS = 1000  # so many rows are read together
PICTURED_BATCH_ROWS = 64  # so many rows are read together if the rows may have pictures
MAX_VALUE_CHARACTERS = 60  # at most so many characters of a value are in a message
REMEDY_FOR_RANKS = (
    "make the same rows in the same order on every rank, as by sorted() in place of a set, and by "
    "the same files on every node."
)


def check_same_rows(part: str, dataset: Any) -> None:
    """Raises ValueError, on all ranks or none, if a rank has other rows than rank 0.

    Every rank must call this function.

    part: the dataset's name in the message, such as "train_dataset". dataset: a dataset, several
    datasets by name, or None.
    """
    if PartialState().num_processes == 1:
        return
    if isinstance(dataset, Mapping):  # several datasets by name
        for name, split in dataset.items():
            check_same_rows(f"{part}[{name!r}]", split)
    if not isinstance(dataset, Dataset):
        return
    # compare one fingerprint of all rows for each rank
    marks = list(row_marks(dataset))
    whole = hashlib.blake2b(b"".join(marks)).digest()
    fingerprints = gather_object([(len(marks), whole)])
    if differing_ranks(fingerprints):  # which every rank knows
        raise ValueError(sentence_of_difference(part, dataset, marks, fingerprints))


def sentence_of_difference(
    part: str,
    dataset: Dataset,
    marks: Sequence[bytes],
    fingerprints: Sequence[tuple[int, bytes]],
) -> str:
    """Returns the message for ranks with different rows: their numbers of rows, or the first row
    that differs.

    Every rank must call this function, because the ranks gather their rows to find the row.

    part: the dataset's name. marks: the `row_marks` of this rank. fingerprints: for each rank the
    number of its rows, and a fingerprint of all its rows.
    """
    lengths = [length for length, _ in fingerprints]
    if differing_ranks(lengths):
        return sentence_of_lengths(part, lengths)
    ranks = differing_ranks(fingerprints)
    marks_of_ranks = gather_object([b"".join(marks)])
    row = first_difference(marks_of_ranks[0], marks_of_ranks[ranks[0]])
    values = gather_object([texts_of_row(dataset, row)])
    return sentence_of_row(part, row, ranks, values[0], values[ranks[0]])


def row_marks(dataset: Dataset) -> Iterator[bytes]:
    """Yields a fingerprint of each row as it is stored, before any transform.

    The order of the columns does not matter. No picture is decoded: the fingerprint has the name of
    the picture's file and the number of its bytes in memory.
    """
    size = BATCH_ROWS
    table = dataset.with_format("arrow")  # reads the stored values: decodes and transforms nothing
    if any(holds_pictures(column.type) for column in table[:0].columns):
        size = PICTURED_BATCH_ROWS
    for batch in table.iter(size):
        names = sorted(batch.column_names)  # two ranks may have the columns in another order
        columns = []
        for name in names:
            columns.append(plain_values(batch[name]))
        for values in zip(*columns, strict=True):
            content = repr((names, values)).encode()
            yield hashlib.blake2b(content, digest_size=MARK_BYTES).digest()


def holds_pictures(kind: pa.DataType) -> bool:
    """Returns whether a column of this arrow type holds a picture, or a list of pictures, in each
    row.
    """
    if pa.types.is_list(kind):
        return is_picture(kind.value_type)
    return is_picture(kind)


def is_picture(kind: pa.DataType) -> bool:
    """Returns whether `datasets` stores a picture with this arrow type: a struct of bytes and a
    path.
    """
    if not pa.types.is_struct(kind):
        return False
    return sorted(field.name for field in kind) == ["bytes", "path"]


def plain_values(column: pa.ChunkedArray) -> list[Any]:
    """Returns the values of a column as Python objects. A picture becomes (file name, size).

    A list of pictures becomes (count, [(file name, size), ...]), or (None, []) for a row without a
    list.
    """
    kind = column.type
    if is_picture(kind):
        return pictures_by_name(column.combine_chunks())
    if not holds_pictures(kind):
        return list(column.to_pylist())
    # for lists of pictures, describe all pictures at once, and divide them among the rows again
    lists = column.combine_chunks()
    all_pictures = iter(pictures_by_name(lists.flatten()))
    values = []
    for count in pc.list_value_length(lists).to_pylist():  # None for a row without a list
        pictures_of_row = list(islice(all_pictures, count or 0))
        values.append((count, pictures_of_row))
    return values


def pictures_by_name(pictures: pa.StructArray) -> list[tuple[str, int | None]]:
    """Returns for each picture the name of its file and the number of its bytes in memory.

    The name has no folder, because another node may keep the files in another folder. The number is
    None for a picture that is only a path.
    """
    paths = pc.struct_field(pictures, "path")
    stored = pc.struct_field(pictures, "bytes")
    sizes = pc.binary_length(stored).to_pylist()
    names = [basename(path) for path in pc.fill_null(paths, "").to_pylist()]
    return list(zip(names, sizes, strict=True))


def differing_ranks(fingerprints: Sequence[Any]) -> list[int]:
    """Returns the ranks whose fingerprint is not that of rank 0. fingerprints: in order of rank."""
    ranks = []
    for rank, fingerprint in enumerate(fingerprints):
        if fingerprint != fingerprints[0]:
            ranks.append(rank)
    return ranks


def first_difference(marks: bytes, other_marks: bytes) -> int:
    """Returns the number, from 0, of the first row whose mark differs on two ranks.

    marks, other_marks: the joined `row_marks` of the two ranks, MARK_BYTES bytes for each row. The
    ranks have equally many rows, and at least one row differs.
    """
    row = 0
    start = 0  # the index of the row's first byte
    while marks[start : start + MARK_BYTES] == other_marks[start : start + MARK_BYTES]:
        row += 1
        start += MARK_BYTES
    return row


def texts_of_row(dataset: Dataset, row: int) -> dict[str, str]:
    """Returns the values of row number `row` as texts, by column. The first column is "prompt"."""
    batch = dataset.with_format("arrow")[row : row + 1]
    texts = {"prompt": "missing"}
    for name in sorted(batch.column_names):
        (value,) = plain_values(batch[name])  # the batch has one row
        texts[name] = repr(value)
    return texts


def sentence_of_lengths(part: str, lengths: Sequence[int]) -> str:
    """Returns the message for ranks with different numbers of rows.

    part: the dataset's name. lengths: the number of rows of each rank.
    """
    ranks = differing_ranks(lengths)
    return (
        f"the ranks have other rows of {part}: {lengths[0]} on rank 0 and {lengths[ranks[0]]} on "
        f"rank {ranks[0]} ({named_ranks([0, *ranks])} differ), so that groups would mix prompts: "
        f"{REMEDY_FOR_RANKS}"
    )


def sentence_of_row(
    part: str,
    row: int,
    ranks: Sequence[int],
    first: Mapping[str, str],
    second: Mapping[str, str],
) -> str:
    """Returns the message for ranks with different rows.

    Args:
        part: the dataset's name.
        row: the number of the first row that differs, from 0.
        ranks: the ranks whose rows differ from those of rank 0.
        first: the row's texts on rank 0, by column, with the column "prompt" first
            (`texts_of_row`).
        second: the same for the first rank of `ranks`.
    """
    # find the first column whose texts differ; one of the ranks may lack a column
    columns = {**first, **second}  # the columns of both ranks, each once, with "prompt" first
    for column in columns:
        text = first.get(column, "missing")
        second_text = second.get(column, "missing")
        if text != second_text:
            break
    return (
        f"the ranks have other rows of {part}: the {column} of row {row + 1} is "
        f"{start_of_text(text)} on rank 0 and {start_of_text(second_text)} on rank {ranks[0]} "
        f"({named_ranks([0, *ranks])} differ), so that groups would mix prompts: {REMEDY_FOR_RANKS}"
    )


def named_ranks(ranks: Sequence[int]) -> str:
    """Returns the ranks in words: "rank 1" or "ranks 1, 2 and 5"."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    *first, last = map(str, ranks)
    return f"ranks {', '.join(first)} and {last}"


def start_of_text(text: str) -> str:
    """Returns the text, cut to MAX_VALUE_CHARACTERS characters and " ..." if it is longer."""
    if len(text) <= MAX_VALUE_CHARACTERS:
        return text
    return f"{text[:MAX_VALUE_CHARACTERS]} ..."
