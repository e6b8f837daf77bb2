"""Encodes questions and sorts the encodings, so that a model computes common beginnings once.

# the images become Pictures: RGB, upright, of limited size
questions = with_converted_images(questions)
batch = encode_batch(questions, encoder.prompt, budget)
answers = batch.by_question(ask(batch.inputs))    # in the order of the questions
for run in runs_of_prompts(sorted(prompts)):
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
    """A picture as a judge sees it: a PIL image of a question, converted by rows/pictures.py.

    Attributes:
        key: 32 hex digits, the hash of the size and the pixels; "" if `image` is None.
        image: the converted image in RGB; None if the PIL image could not be decoded.
        trouble: the reason why `image` is None; "" otherwise.
    """

    key: str
    image: Image.Image | None = field(default=None, compare=False)
    trouble: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, order=True)
class Prompt:
    """A model's input. Prompts sort by pictures, then ids, so that prompts with the same beginning
    are neighbours.

    Attributes:
        pictures: the pictures, in the order of their placeholders in `ids`.
        ids: the token ids, with all placeholder tokens that the model needs for each picture.
        head: how many first ids reach to the end of the last picture; 0 without pictures.
        short: the ids with only one placeholder per picture, as vLLM needs them; None without
            pictures.
    """

    pictures: tuple[Picture, ...]
    ids: tuple[int, ...]
    head: int = field(default=0, compare=False)
    short: tuple[int, ...] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Run:
    """The prompts [start, stop) of a sorted sequence, which have a common beginning.

    Attributes:
        start, stop: indices in the sequence.
        shared: the length of the common beginning in tokens.
    """

    start: int
    stop: int
    shared: int


def with_converted_images(questions: Sequence[Question]) -> list[Question]:
    """Returns the questions with Pictures in place of PIL images.

    An image that several questions share is decoded once. An image that cannot be decoded raises
    nothing here: its Picture has the reason in `trouble`, and `PictureChatEncoder.prompt` raises
    for the questions about it. Raises ValueError for an image that is not a PIL image.
    """
    pictures: dict[int, Picture] = {}  # by `id` of the image
    for question in questions:
        for image in question.images:
            if not isinstance(image, Image.Image):
                raise ValueError(
                    f"a question's images are PIL images, got {type(image).__name__} "
                    f"{str(image)[:100]!r}: open it with PIL.Image.open first; nothing is "
                    "downloaded or opened by name here."
                )
            if id(image) not in pictures:
                pictures[id(image)] = picture_of_image(image)
    with_pictures = []
    for question in questions:
        images = tuple(pictures[id(image)] for image in question.images)
        with_pictures.append(replace(question, images=images))
    return with_pictures


def picture_of_image(image: Image.Image) -> Picture:
    """Returns the image as a Picture. If the image cannot be decoded, the Picture has no image, and
    `trouble` has the reason.
    """
    try:
        converted = judges_picture(image)
    except PictureError as error:
        return Picture("", trouble=str(error))
    # The hash includes the size, because an image of 2 x 3 pixels can have the same bytes as an
    # image of 3 x 2 pixels.
    content = repr(converted.size).encode() + converted.tobytes()
    digest = hashlib.sha256(content)
    return Picture(digest.hexdigest()[:32], converted)


def runs_of_prompts(prompts: Sequence[Prompt]) -> Iterator[Run]:
    """Yields runs of prompts with a common beginning, which a model then computes once per run.

    prompts: sorted. The common beginning of prompts with pictures includes all their pictures. A
    common beginning of fewer than MIN_SHARED tokens counts as 0 for prompts without pictures.

    The head of a prompt is its beginning up to the end of its last picture.
    """
    start = 0
    for _, block in groupby(prompts, key=_head_of):
        same_head = list(block)
        ids = [prompt.ids for prompt in same_head]
        # Prompts with the same pictures are one run, because they share at least the pictures.
        ranges = [(0, len(ids))]
        if not same_head[0].pictures:
            ranges = groups_of_prompts(ids)
        for low, high in ranges:
            shared = _shared_of_run(same_head[low:high])
            yield Run(start + low, start + high, shared)
        start += len(ids)


def _shared_of_run(prompts: Sequence[Prompt]) -> int:
    """Returns how many first tokens of these prompts a judge computes once: the common beginning,
    or 0 if the beginning is shorter than MIN_SHARED or there is only one prompt. The pictures are
    always included, because a judge computes pictures together with the common beginning.

    prompts: sorted, with the same pictures.
    """
    shared = 0
    if len(prompts) > 1:
        shared = shared_length([prompt.ids for prompt in prompts])
    if shared < MIN_SHARED:
        shared = 0
    return max(prompts[0].head, shared)


def _head_of(prompt: Prompt) -> tuple[tuple[Picture, ...], tuple[int, ...]]:
    """Returns the pictures of a prompt, and its ids up to the end of the last picture."""
    return prompt.pictures, prompt.ids[: prompt.head]


def shared_length(prompts: Sequence[Sequence[int]]) -> int:
    """Returns how many first tokens the sorted prompts have in common.

    The number is less than the length of the shortest prompt.
    """
    # Among sorted prompts, the first and the last have the shortest common beginning. At least one
    # token of each prompt stays outside the common beginning, because the model gives its answer
    # after that token.
    first = prompts[0]
    last = prompts[-1]
    limit = min(len(prompt) for prompt in prompts) - 1
    for place in range(limit):
        if first[place] != last[place]:
            return place
    return limit


def groups_of_prompts(prompts: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Cuts sorted prompts into ranges [start, stop) of prompts with a long common beginning.

    Two neighbours are cut apart if the first tokens that they share are less than half of those
    that one of the two shares with its other neighbour. Example: A1 and A2 share 800 first tokens,
    B1 and B2 too, and A2 and B1 share 30. Then A1, A2, B1, B2 are cut into (0, 2) and (2, 4).
    """
    # shared[i]: how many first tokens the prompts i - 1 and i share; 0 at both ends
    shared = [0, *map(shared_length, pairwise(prompts)), 0]
    cuts = [0]
    for place in range(1, len(prompts)):
        with_each_other = shared[place]
        with_other_neighbour = max(shared[place - 1], shared[place + 1])
        if with_each_other < with_other_neighbour / 2:
            cuts.append(place)
    return list(pairwise([*cuts, len(prompts)]))


@dataclass(slots=True)
class Batch:
    """The encoded questions of one call.

    Attributes:
        inputs: the encodings, sorted, so that encodings with the same beginning are neighbours.
        numbers: for each input, the index of its question.
        cuts: how many characters of each question's description were cut.
        failures: by the index of a question, the reason why the question could not be encoded.
    """

    inputs: list[Any]
    numbers: list[int]
    cuts: list[int]
    failures: dict[int, Failure]

    def by_question(self, answers: Sequence[T | Failure]) -> list[T | Failure]:
        """Returns one answer per question, in the order of the questions.

        answers: one per input, in the order of `inputs`. A question without an input gets its
        Failure.
        """
        answered: dict[int, T | Failure] = dict(self.failures)
        for number, answer in zip(self.numbers, answers, strict=True):
            answered[number] = answer
        return [answered[number] for number in range(len(self.cuts))]


def encode_batch(
    questions: Iterable[Question],
    encode: Callable[[Question, int], tuple[Any, int]],
    budget: int,
) -> Batch:
    """Returns the encodings of questions, each of at most `budget` tokens, sorted. So encodings
    with the same beginning are neighbours, and a model computes the beginning once.

    encode: a function such as `ChatEncoder.prompt`, which takes a question and the budget. The
    function returns an encoding, which must be sortable, and how many characters of the description
    were cut. If the function raises ValueError for a question, only that question becomes a
    Failure.
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
