"""Do all ranks have the same rows, in the same order? Each rank reads the data by itself, and takes
its part by number.

    check_same_rows("train_dataset", dataset)       # two collectives, before the first step

Rows from `list(set(...))` have another order in every process, and a node may have other files.
Then a group's completions belong to several prompts, or rows are trained on twice and never. A
stream is not read ahead, nor is what a transform makes of a row: groups.py looks at these in each
step.
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
BATCH_ROWS = 1000  # that are read together
PICTURED_BATCH_ROWS = 64  # likewise, where they may hold pictures
MAX_VALUE_CHARACTERS = 60  # characters of a value in a sentence
REMEDY_FOR_RANKS = (
    "make the same rows in the same order on every rank, as by sorted() in place of a set, and by "
    "the same files on every node."
)


def check_same_rows(part: str, dataset: Any) -> None:
    """Raises ValueError, on all ranks alike, where a rank has other rows than rank 0.

    part: the words that name the dataset. Every rank must call it.
    """
    if PartialState().num_processes == 1:
        return
    if isinstance(dataset, Mapping):  # several, by name
        for name, split in dataset.items():
            check_same_rows(f"{part}[{name!r}]", split)
    if not isinstance(dataset, Dataset):
        return
    # compare one fingerprint a rank, of all of its rows
    marks = list(row_marks(dataset))
    all_marks = b"".join(marks)
    whole = hashlib.blake2b(all_marks).digest()
    fingerprints = gather_object([(len(marks), whole)])
    ranks = differing_ranks(fingerprints)
    if not ranks:
        return
    # they differ, and every rank knows it: look for the first row that does
    lengths = [length for length, _ in fingerprints]
    if differing_ranks(lengths):
        raise ValueError(sentence_of_lengths(part, lengths))
    marks_of_ranks = gather_object([all_marks])
    row = first_difference(marks_of_ranks[0], marks_of_ranks[ranks[0]])
    values = gather_object([texts_of_row(dataset, row)])
    raise ValueError(sentence_of_row(part, row, ranks, values[0], values[ranks[0]]))


def row_marks(dataset: Dataset) -> Iterator[bytes]:
    """Yields a fingerprint of each row, over its columns by name.

    No picture is decoded: it counts by its file's name and the number of its bytes in memory. What
    a transform would make of a row is not asked for.
    """
    size = BATCH_ROWS
    table = dataset.with_format("arrow")  # as stored: nothing is decoded or transformed
    if any(holds_pictures(column.type) for column in table[:0].columns):
        size = PICTURED_BATCH_ROWS
    for batch in table.iter(size):
        names = sorted(batch.column_names)  # the ranks' columns may have another order
        columns = []
        for name in names:
            columns.append(plain_values(batch[name]))
        for values in zip(*columns, strict=True):
            content = repr((names, values)).encode()
            yield hashlib.blake2b(content, digest_size=MARK_BYTES).digest()


def holds_pictures(kind: pa.DataType) -> bool:
    """Whether a column of arrow holds a picture a row, or a list of them, as `datasets` stores
    them.
    """
    if pa.types.is_list(kind):
        return is_picture(kind.value_type)
    return is_picture(kind)


def is_picture(kind: pa.DataType) -> bool:
    """Whether arrow's type is that of one picture in `datasets`."""
    if not pa.types.is_struct(kind):
        return False
    return sorted(field.name for field in kind) == ["bytes", "path"]


def plain_values(column: pa.ChunkedArray) -> list[Any]:
    """Returns a column's values, of pictures their names and sizes."""
    kind = column.type
    if is_picture(kind):
        return pictures_by_name(column.combine_chunks())
    if not holds_pictures(kind):
        return list(column.to_pylist())
    # lists of pictures: name all of them at once, and deal them out to the rows again
    lists = column.combine_chunks()
    pictures = iter(pictures_by_name(lists.flatten()))
    values = []
    for count in pc.list_value_length(lists).to_pylist():
        pictures_of_row = list(islice(pictures, count or 0))  # None: the row has no list
        values.append((count, pictures_of_row))
    return values


def pictures_by_name(pictures: pa.StructArray) -> list[tuple[str, int | None]]:
    """Returns for each picture its file's name, which may have another folder on each node, and how
    many bytes of it are in memory.
    """
    paths = pc.struct_field(pictures, "path")
    stored = pc.struct_field(pictures, "bytes")
    sizes = pc.binary_length(stored).to_pylist()
    names = [basename(path) for path in pc.fill_null(paths, "").to_pylist()]
    return list(zip(names, sizes, strict=True))


def differing_ranks(fingerprints: Sequence[Any]) -> list[int]:
    """Returns the ranks whose fingerprint is not rank 0's."""
    ranks = []
    for rank, fingerprint in enumerate(fingerprints):
        if fingerprint != fingerprints[0]:
            ranks.append(rank)
    return ranks


def first_difference(marks: bytes, beside: bytes) -> int:
    """Returns the number, from 0, of the first row that differs. marks, beside: of equally many
    rows, MARK_BYTES bytes each.
    """
    row = 0
    while marks.startswith(beside[: MARK_BYTES * (row + 1)]):
        row += 1
    return row


def texts_of_row(dataset: Dataset, row: int) -> dict[str, str]:
    """Returns the row's values by column as texts, its prompt first."""
    batch = dataset.with_format("arrow")[row : row + 1]
    texts = {"prompt": "missing"}
    for name in sorted(batch.column_names):
        (value,) = plain_values(batch[name])  # of the one row
        texts[name] = repr(value)
    return texts


def sentence_of_lengths(part: str, lengths: Sequence[int]) -> str:
    """Returns what is said where the ranks have unequally many rows. lengths: by rank."""
    ranks = differing_ranks(lengths)
    return (
        f"the ranks have other rows of {part}: {lengths[0]} on rank 0 and {lengths[ranks[0]]} on "
        f"rank {ranks[0]} ({named_ranks([0, *ranks])} differ), so that groups would mix prompts: "
        f"{REMEDY_FOR_RANKS}"
    )


def sentence_of_row(
    part: str, row: int, ranks: Sequence[int], first: Mapping[str, str], second: Mapping[str, str]
) -> str:
    """Returns what is said of the first row that differs. ranks: whose rows are not rank 0's.
    first, second: the row's texts on rank 0 and on the first of these.
    """
    for column in {**first, **second}:  # the prompt first
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
    """Returns "rank 1" or "ranks 1, 2 and 5" for a sentence."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    *first, last = map(str, ranks)
    return f"ranks {', '.join(first)} and {last}"


def start_of_text(text: str) -> str:
    """Returns at most MAX_VALUE_CHARACTERS characters, and dots where there were more."""
    if len(text) <= MAX_VALUE_CHARACTERS:
        return text
    return f"{text[:MAX_VALUE_CHARACTERS]} ..."
