"""Are all completions of a group of one row? The ranks' rows are compared in each step, by what is
gathered anyway.

    marks = [mark_of(row, row) for row in rows]         # of this rank
    check_groups(marks_of_all_ranks, rows, size=8, ranks=2)     # MixedGroup, on every rank

A group's completions are compared with each other, so that a group of two prompts teaches noise.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from accelerate.utils import gather_object
from PIL import Image

from spanreward.training.ranks.rows import REMEDY_FOR_RANKS, named_ranks, start_of_text

# Of a mark: whole numbers below 2 ** 24 are the same in float32, in which they travel.
GROUP_MARK_BYTES = 3
LOOKED_AT_PIXELS = (16, 16)  # pixels of a picture that are looked at


class MixedGroup(RuntimeError):
    """A group of a step has completions of several rows.

    The message, the same on every rank, names the group and two of its prompts.
    """


def mark_of(row: Mapping[str, Any], names: Iterable[str]) -> int:
    """Returns a number below 2 ** 24 for what these columns of a row hold.

    Two different rows share one with a chance of 1 in 17 million. Columns that the row lacks do not
    count.
    """
    values = []
    for name in sorted(names):
        if name in row:
            values.append((name, comparable_value(row[name])))
    content = repr(values)
    encoded = content.encode(errors="surrogatepass")
    digest = hashlib.blake2b(encoded, digest_size=GROUP_MARK_BYTES)
    return int.from_bytes(digest.digest())


def comparable_value(value: Any) -> Any:
    """Returns what two equal values have in common: of a picture its size and some pixels, of an
    object of another kind its type alone.
    """
    match value:
        case None | bool() | int() | float() | str() | bytes():
            return value
        case Mapping():
            names = sorted(value, key=str)  # equal mappings may have another order
            return [(name, comparable_value(value[name])) for name in names]
        case list() | tuple():
            return [comparable_value(entry) for entry in value]
        case Image.Image():
            look = value.resize(LOOKED_AT_PIXELS, Image.Resampling.NEAREST)
            return value.size, value.mode, look.tobytes()
    return type(value).__name__  # its repr may hold an address, which no two processes share


def check_groups(
    marks: Sequence[float], rows: Sequence[Mapping[str, Any]], size: int, ranks: int
) -> None:
    """Raises MixedGroup, on all ranks or none, for a group whose rows differ.

    marks: of all ranks' rows, rank by rank. rows: of this rank. size: of a group. ranks: how many
    there are.
    """
    group = mixed_group(marks, size)
    if group is not None:  # on every rank, as all have the same marks
        prompts = gather_object([repr(row.get("prompt")) for row in rows])
        raise MixedGroup(sentence_of_group(group, size, marks, prompts, ranks))


def mixed_group(marks: Sequence[float], size: int) -> int | None:
    """Returns the number, from 0, of the first group whose rows differ. marks: of all ranks' rows,
    in the order in which groups of `size` follow each other.
    """
    for first in range(0, len(marks), size):
        marks_of_group = marks[first : first + size]
        if len(set(marks_of_group)) > 1:
            return first // size
    return None


def sentence_of_group(
    group: int, size: int, marks: Sequence[float], prompts: Sequence[str], ranks: int
) -> str:
    """Returns what is said of a mixed group. marks, prompts: of all ranks' rows."""
    first = group * size
    rows = range(first, first + size)
    # the first row of the group that differs from the first one; there is one
    second = first
    while marks[second] == marks[first]:
        second += 1
    rows_of_rank = len(marks) // ranks
    holding = sorted({row // rows_of_rank for row in rows})
    first_prompt = start_of_text(prompts[first])
    second_prompt = start_of_text(prompts[second])
    return (
        f"group {group + 1} of this step mixes rows, of which its completions would be compared as "
        f"if they answered one prompt: on {named_ranks(holding)} it has "
        f"{first_prompt} and {second_prompt}: {REMEDY_FOR_RANKS}"
    )
