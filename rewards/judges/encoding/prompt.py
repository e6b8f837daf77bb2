"""Encoded questions: equal ones are asked once, and a model computes common beginnings once.

answers, cuts = ask_once(questions, encode, ask)      # ask gets the distinct encodings, sorted
for run in runs(sorted(prompts)):
    run.shared                       # tokens that all of prompts[run.start : run.stop] begin with
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any, TypeVar

from spanreward.rewards.base.verdict import Status
from spanreward.rewards.judges.encoding.picture import Picture
from spanreward.rewards.judges.judge import Failure, Question

T = TypeVar("T")
MIN_SHARED = 16  # tokens; a shorter beginning is not worth a forward pass of its own


@dataclass(frozen=True, slots=True, order=True)
class Prompt:
    """A model's input. Prompts sort by pictures, then ids.

    ids: with all placeholder tokens that the model needs for each picture. head: tokens up to the end of the last
    picture. short: for vLLM, the ids with one placeholder per picture; None without pictures.
    """

    pictures: tuple[Picture, ...]
    ids: tuple[int, ...]
    head: int = field(default=0, compare=False)
    short: tuple[int, ...] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Run:
    """Prompts [start, stop) of a sorted sequence. shared: how many first tokens they have in common."""

    start: int
    stop: int
    shared: int


def runs(prompts: Sequence[Prompt]) -> Iterator[Run]:
    """Cuts sorted prompts into runs with a common beginning. Prompts with equal heads (pictures and the text before
    them) are one run that shares at least the head.
    """
    start = 0
    for _, block in groupby(prompts, key=lambda prompt: (prompt.pictures, prompt.ids[: prompt.head])):
        same_head = list(block)
        ids = [prompt.ids for prompt in same_head]
        ranges = [(0, len(ids))] if same_head[0].pictures else groups(ids)
        for low, high in ranges:
            shared = shared_length(ids[low:high]) if high - low > 1 else 0
            worth_sharing = shared if shared >= MIN_SHARED else 0
            yield Run(start + low, start + high, max(same_head[low].head, worth_sharing))
        start += len(ids)


def shared_length(prompts: Sequence[Sequence[int]]) -> int:
    """How many first tokens these sorted prompts have in common; fewer than the shortest prompt has."""
    first, last = prompts[0], prompts[-1]
    limit = min(len(prompt) for prompt in prompts) - 1
    return next((i for i in range(limit) if first[i] != last[i]), limit)


def groups(prompts: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Cuts sorted prompts into ranges [start, stop): between two neighbours that share less than half as many tokens as
    one of them shares with its other neighbour.
    """
    shared = [0, *(shared_length(pair) for pair in pairwise(prompts)), 0]  # shared[i]: prompts i - 1 and i
    inner = range(1, len(prompts))
    cuts = [i for i in inner if 2 * shared[i] < max(shared[i - 1], shared[i + 1])]
    return list(pairwise([0, *cuts, len(prompts)]))


def ask_once(
    questions: Iterable[Question],
    encode: Callable[[Question], tuple[Any, int]],
    ask: Callable[[list[Any]], Sequence[T | Failure]],
) -> tuple[list[T | Failure], list[int]]:
    """Returns an answer per question, in order, and how many characters of each description were cut.

    encode: returns a hashable encoding that sorts by its beginning, and the number of characters cut (two descriptions
    may become equal by it). If it raises ValueError, this question is a Failure and the others are asked.
    ask: is not called with an empty list.
    """
    cuts: list[int] = []
    answers: list[T | Failure] = []
    places: dict[Any, list[int]] = {}
    for number, question in enumerate(questions):
        why, cut = "not asked", 0
        try:
            key, cut = encode(question)
            places.setdefault(key, []).append(number)
        except ValueError as error:
            why = str(error)
        answers.append(Failure(Status.ERROR, why))
        cuts.append(cut)
    order = sorted(places)
    if order:
        for key, answer in zip(order, ask(order), strict=True):
            for number in places[key]:
                answers[number] = answer
    return answers, cuts
