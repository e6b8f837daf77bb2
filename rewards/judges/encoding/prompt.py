"""Encoded questions, sorted, so that a model computes common beginnings once.

questions = ready(questions)  # their images are now Pictures: RGB, upright, of limited size
batch = encoded(questions, encoder.prompt, budget)
answers = batch.by_question(ask(batch.inputs))    # in the order of the questions
for run in runs(sorted(prompts)):
    run.shared                       # tokens that all of prompts[run.start : run.stop] begin with
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import Any

from PIL import Image

from spanreward.rewards.base.verdict import Status
from spanreward.rewards.judges.judge import Failure, Question, T
from spanreward.rewards.rows.pictures import PictureError, judges_picture

MIN_SHARED = 16  # tokens; a shorter beginning is not worth a forward pass of its own


@dataclass(frozen=True, slots=True, order=True)
class Picture:
    """A picture as a judge sees it (rows/pictures.py converts it).

    Attributes:
        key: 32 hex digits of the size and the pixels; "" if there is no image.
        image: in RGB; None if it could not be decoded.
        trouble: says why there is none.
    """

    key: str
    image: Image.Image | None = field(default=None, compare=False)
    trouble: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, order=True)
class Prompt:
    """A model's input. Prompts sort by pictures, then ids, so that those with one beginning are
    neighbours.

    Attributes:
        pictures: in the order in which the ids have their placeholders.
        ids: token ids, with all placeholder tokens that the model needs for each picture.
        head: tokens up to the end of the last picture; 0 without pictures.
        short: for vLLM, the ids with one placeholder per picture; None without pictures.
    """

    pictures: tuple[Picture, ...]
    ids: tuple[int, ...]
    head: int = field(default=0, compare=False)
    short: tuple[int, ...] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Run:
    """Prompts [start, stop) of a sorted sequence.

    Attributes:
        start, stop: numbers of prompts.
        shared: how many first tokens they have in common.
    """

    start: int
    stop: int
    shared: int


def ready(questions: Sequence[Question]) -> list[Question]:
    """Returns the questions with Pictures in place of PIL images. An image of several questions is
    decoded once. Only questions about one that cannot be decoded become Failures.

    Raises ValueError for an image that is not a PIL image.
    """
    pictures: dict[int, Picture] = {}  # by the image's id
    for question in questions:
        for image in question.images:
            if not isinstance(image, Image.Image):
                raise ValueError(
                    f"a question's images are PIL images, got {type(image).__name__} "
                    f"{str(image)[:100]!r}: open it with PIL.Image.open first; nothing is "
                    "downloaded or opened by name here."
                )
            if id(image) not in pictures:
                pictures[id(image)] = picture(image)
    with_pictures = []
    for question in questions:
        images = tuple(pictures[id(image)] for image in question.images)
        with_pictures.append(replace(question, images=images))
    return with_pictures


def picture(image: Image.Image) -> Picture:
    """Decodes the image into a Picture. An error becomes the Picture's `trouble`."""
    try:
        converted = judges_picture(image)
    except PictureError as error:
        return Picture("", trouble=str(error))
    # with the size, because 2 x 3 pixels may have the bytes of 3 x 2
    content = repr(converted.size).encode() + converted.tobytes()
    digest = hashlib.sha256(content)
    return Picture(digest.hexdigest()[:32], converted)


def runs(prompts: Sequence[Prompt]) -> Iterator[Run]:
    """Cuts sorted prompts into runs with a common beginning, which is at least the head of prompts
    with equal heads.
    """
    start = 0
    for _, block in groupby(prompts, key=_head_of):
        same_head = list(block)
        ids = [prompt.ids for prompt in same_head]
        # Prompts with pictures share at least these, and are not parted.
        ranges = [(0, len(ids))]
        if not same_head[0].pictures:
            ranges = groups(ids)
        for low, high in ranges:
            shared = 0
            if high - low > 1:
                shared = shared_length(ids[low:high])
            if shared < MIN_SHARED:
                shared = 0
            # at least the head: pictures are computed with the beginning, also of one prompt alone
            shared = max(same_head[low].head, shared)
            yield Run(start + low, start + high, shared)
        start += len(ids)


def _head_of(prompt: Prompt) -> tuple[tuple[Picture, ...], tuple[int, ...]]:
    """Returns the pictures of a prompt, and its ids up to the end of the last one."""
    return prompt.pictures, prompt.ids[: prompt.head]


def shared_length(prompts: Sequence[Sequence[int]]) -> int:
    """Returns how many first tokens these sorted prompts have in common; fewer than the shortest
    prompt has.
    """
    # Of sorted prompts the first and the last differ most. One token is left to each prompt, after
    # which the model is to answer.
    first = prompts[0]
    last = prompts[-1]
    limit = min(len(prompt) for prompt in prompts) - 1
    for place in range(limit):
        if first[place] != last[place]:
            return place
    return limit


def groups(prompts: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Cuts sorted prompts into ranges [start, stop) where two share less than half of what one
    shares beside it.

    Prompts A1, A2, B1, B2, of which those with one letter share 800 tokens and all of them 30, are
    cut into (0, 2) and (2, 4).
    """
    # shared[i] is of the prompts i - 1 and i; the two zeros at the ends are of no pair
    shared = [0, *map(shared_length, pairwise(prompts)), 0]
    cuts = [0]
    for place in range(1, len(prompts)):
        beside = max(shared[place - 1], shared[place + 1])
        if 2 * shared[place] < beside:
            cuts.append(place)
    return list(pairwise([*cuts, len(prompts)]))


@dataclass(slots=True)
class Batch:
    """Encoded questions of one call.

    Attributes:
        inputs: the encodings, sorted, so that those with one beginning are neighbours.
        numbers: which question each input is of.
        cuts: how many characters of each question's description were cut.
        failures: why a question has no input, by its number.
    """

    inputs: list[Any]
    numbers: list[int]
    cuts: list[int]
    failures: dict[int, Failure]

    def by_question(self, answers: Sequence[T | Failure]) -> list[T | Failure]:
        """Returns the answers to the inputs in the order of the questions, with the failures."""
        answered: dict[int, T | Failure] = dict(self.failures)
        for number, answer in zip(self.numbers, answers, strict=True):
            answered[number] = answer
        return [answered[number] for number in range(len(self.cuts))]


def encoded(
    questions: Iterable[Question],
    encode: Callable[[Question, int], tuple[Any, int]],
    budget: int,
) -> Batch:
    """Encodes questions, each in at most `budget` tokens.

    encode: returns an encoding that sorts by its beginning, and the number of characters cut. If it
    raises ValueError, this question is a Failure and the others have their inputs.
    """
    cuts: list[int] = []
    inputs: dict[int, Any] = {}
    failures: dict[int, Failure] = {}
    for number, question in enumerate(questions):
        cut = 0
        try:
            inputs[number], cut = encode(question, budget)
        except ValueError as error:
            failures[number] = Failure(Status.ERROR, str(error))
        cuts.append(cut)
    numbers = sorted(inputs, key=inputs.__getitem__)
    sorted_inputs = [inputs[number] for number in numbers]
    return Batch(sorted_inputs, numbers, cuts, failures)
