"""Checks in each step that all completions of a group belong to one row of the data.

    marks = [mark_of(row, row) for row in rows]         # the rows of this rank
    check_groups(marks_of_all_ranks, rows, size=8, ranks=2)     # may raise MixedGroup on all ranks

GRPO compares the completions of a group with each other, so that a group of two prompts teaches
noise. The marks of the rows are gathered together with the judges' counts (judge_metrics.py), so
that the check needs no further collective.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from accelerate.utils import gather_object
from PIL import Image

from spanreward.training.ranks.rows import REMEDY_FOR_RANKS, named_ranks, start_of_text

# A mark has 3 bytes: marks are gathered as float32, which is exact for integers up to 2 ** 24.
GROUP_MARK_BYTES = 3
LOOKED_AT_PIXELS = (16, 16)  # width and height of the small copy that stands for a picture


class MixedGroup(RuntimeError):
    """A group of a step has completions of several rows.

    Every rank raises the same message, which names the group and two of its prompts.
    """


def mark_of(row: Mapping[str, Any], names: Iterable[str]) -> int:
    """Returns a fingerprint of these columns of a row: a number below 2 ** 24, equal for equal
    values.

    Two different rows have the same number with a chance of 1 in 17 million.

    names: the columns that count. Columns that the row lacks are skipped.
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
    """Returns plain data that is equal for two equal values, even in different processes.

    Example: {"b": (1, 2), "a": None} gives [("a", None), ("b", [1, 2])]. A picture gives its size,
    its mode and the pixels of a small copy. An object of an unknown type gives only the name of the
    type.
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
    return type(value).__name__  # the object's repr may have an address, which differs by process


def check_groups(
    marks: Sequence[float],
    rows: Sequence[Mapping[str, Any]],
    size: int,
    ranks: int,
) -> None:
    """Raises MixedGroup, on all ranks or none, for a group whose rows differ.

    Args:
        marks: the `mark_of` of each row of all ranks, rank after rank.
        rows: the rows of this rank.
        size: the number of completions of a group.
        ranks: the number of ranks.
    """
    group = mixed_group(marks, size)
    if group is not None:  # every rank has the same marks, so that every rank gathers and raises
        prompts = gather_object([repr(row.get("prompt")) for row in rows])
        raise MixedGroup(sentence_of_group(group, size, marks, prompts, ranks))


def mixed_group(marks: Sequence[float], size: int) -> int | None:
    """Returns the number, from 0, of the first group whose rows differ; None without such a group.

    marks: the marks of all ranks' rows, group after group. size: the number of rows of a group.
    """
    for first in range(0, len(marks), size):
        marks_of_group = marks[first : first + size]
        if len(set(marks_of_group)) > 1:
            return first // size
    return None


def sentence_of_group(
    group: int,
    size: int,
    marks: Sequence[float],
    prompts: Sequence[str],
    ranks: int,
) -> str:
    """Returns the message of MixedGroup: the ranks of the mixed group, and two of its prompts.

    Args:
        group: the number of the mixed group, from 0.
        size: the number of rows of a group.
        marks: the marks of all ranks' rows, group after group.
        prompts: the prompts of all ranks' rows, as texts.
        ranks: the number of ranks.
    """
    first = group * size
    rows_of_group = range(first, first + size)
    # find the first row of the group that differs from the group's first row
    differing = first
    while marks[differing] == marks[first]:
        differing += 1
    rows_per_rank = len(marks) // ranks
    ranks_of_group = sorted({row // rows_per_rank for row in rows_of_group})
    names = named_ranks(ranks_of_group)
    first_prompt = start_of_text(prompts[first])
    second_prompt = start_of_text(prompts[differing])
    return (
        f"group {group + 1} of this step mixes rows, so that completions of different prompts "
        f"would be compared as if they answered one prompt: on {names} it has "
        f"{first_prompt} and {second_prompt}: {REMEDY_FOR_RANKS}"
    )
