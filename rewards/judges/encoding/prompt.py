"""Encoded questions, and which of them begin alike: what a model computes once for several of them.

for run in runs(sorted(prompts)):
    run.shared                       # tokens that all of prompts[run.start : run.stop] begin with
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from rewards.judges.encoding.picture import Picture

MIN_SHARED = 16  # tokens; a shorter beginning is not worth a call of its own


@dataclass(frozen=True, slots=True, order=True)
class Prompt:
    """What a model reads: `ids`, in which each of the `pictures` has as many placeholder tokens as the model needs.

    Prompts sort by pictures, then ids. head: tokens up to the end of the last picture. short: the ids with one
    placeholder per picture, as engines take them that count for themselves; None for ids without pictures.
    """

    pictures: tuple[Picture, ...]
    ids: tuple[int, ...]
    head: int = field(default=0, compare=False)
    short: tuple[int, ...] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Run:
    """Prompts [start, stop) of a sorted sequence, and how many tokens of theirs are the same and computed once."""

    start: int
    stop: int
    shared: int


def runs(prompts: Sequence[Prompt]) -> Iterator[Run]:
    """Sorted prompts, cut where their beginnings are not worth sharing. Those with the same pictures after the same
    words are one run that shares at least the pictures, which are so computed once, be it for a single prompt.
    """
    start = 0
    for (pictures, _), same in groupby(prompts, key=lambda prompt: (prompt.pictures, prompt.ids[: prompt.head])):
        several = [prompt.ids for prompt in same]
        for low, high in [(0, len(several))] if pictures else groups(several):
            shared = shared_length(several[low:high]) if high - low > 1 else 0
            head = prompts[start + low].head
            yield Run(start + low, start + high, max(head, shared if shared >= MIN_SHARED else 0))
        start += len(several)


def shared_length(prompts: Sequence[Sequence[int]]) -> int:
    """How many tokens all of these sorted prompts begin with; less than the shortest of them has."""
    first, last = prompts[0], prompts[-1]
    limit = min(len(prompt) for prompt in prompts) - 1
    return next((i for i in range(limit) if first[i] != last[i]), limit)


def groups(prompts: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Sorted prompts as ranges [start, stop) whose beginnings are worth sharing.

    A range ends where two neighbours share less than half of what one of them shares with its other neighbour.
    """
    shared = [0, *(shared_length(pair) for pair in pairwise(prompts)), 0]  # shared[i]: prompts i - 1 and i
    inner = range(1, len(prompts))
    cuts = [i for i in inner if 2 * shared[i] < max(shared[i - 1], shared[i + 1])]
    return list(pairwise([0, *cuts, len(prompts)]))
