"""What a small judge learns to see from: questions about pictures of Scenes, and the truth.

    data: {source: "experiments/scenes/picture_lessons.py:lessons", options: {count: 4000}}

    next(lessons(count=10))
    # {"image": ..., "question": "red circle?", "answers": ["5\\nstar: small?1\\nedge?5"]}

A row has several questions about its picture, so that the picture is read once for all of them. The
first is the prompt, and the others stand in the answer, each after the answer before it. A judge is
asked one question, and gives the first answer.

Each picture is described once with mistakes and once as another picture would be, and PoSh asks
about every component of both texts, and about decoys. So the questions have the form and the words
that a policy's texts will lead to. Of each picture as many are kept whose answer is yes as no.

The pictures are those of the split `validation`: the quickstart's policies learn from `train` and
are measured on `test`, and no contents occur in two splits.
"""

import random
from collections.abc import Iterator, Sequence
from typing import Any

from PIL import Image

from experiments.scenes.language import describe
from experiments.scenes.picture_judge import contents, shows
from experiments.scenes.referee_judge import NO, YES
from experiments.scenes.rows import misread
from experiments.scenes.seeing_judge import short_question
from experiments.scenes.world import COLUMNS, ROWS, SHAPES, Scene, Split, Thing, draw, make_scenes
from spanreward.rewards import PoshReward
from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.judges.judge import Failure, Judge, Question, Rating, rating_of
from spanreward.rewards.judges.probe import PictureProbe

PART = 3.0  # the rating: enough to be asked about details, and no yes to decoys
MISREAD = 0.4  # of the sizes and colours of things that are described, and half as many other facts
ASKED_TOGETHER = 256  # texts of one call of PoSh


class Recorder(Judge):
    """Finds a part of everything, so that PoSh asks about all components, and keeps the questions."""

    name = "recorder"

    def __init__(self) -> None:
        self.asked: list[Question] = []

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        self.asked += [
            question for question in questions if isinstance(question.probe, PictureProbe)
        ]
        return [rating_of(PART, scale) for _ in questions]


def lessons(
    split: Split = "validation", level: int = 1, count: int = 4000, seed: int = 0, each: int = 8
) -> Iterator[dict[str, Any]]:
    """Rows for SFT, two of each picture. each: at most so many questions in a row."""
    generator = random.Random(f"lessons {split} {level} {seed}")
    scenes = make_scenes(split, level, count, seed)
    for begin in range(0, count, ASKED_TOGETHER):
        some = scenes[begin : begin + ASKED_TOGETHER]
        pictures = [draw(scene) for scene in some]
        asked = questions_about(some, pictures, generator)
        for number, scene in enumerate(some):
            pairs = balanced(asked[number], scene, 2 * each, generator)
            for of_row in (pairs[0::2], pairs[1::2]):
                if of_row:
                    yield row_of(pictures[number], of_row)


def row_of(picture: Image.Image, pairs: Sequence[tuple[PictureProbe, float]]) -> dict[str, Any]:
    """Returns a row with these questions and answers."""
    lines = [f"{short_question(probe)}{answer:.0f}" for probe, answer in pairs]
    question = short_question(pairs[0][0])
    answers = "\n".join(lines).removeprefix(question)
    return {"image": picture, "question": question, "answers": [answers], "completion": answers}


def questions_about(
    scenes: Sequence[Scene], pictures: Sequence[Any], generator: random.Random
) -> list[list[PictureProbe]]:
    """Returns PoSh's questions about each picture: of a text with mistakes, of another picture's
    text, and of decoys.
    """
    recorder = Recorder()
    reward = PoshReward(recorder, evidence="picture")
    samples: list[Sample] = []
    for scene, picture in zip(scenes, pictures, strict=True):
        with_mistakes = describe(mistaken(scene, generator), generator)
        of_another = describe(generator.choice(scenes), generator)
        for text in (with_mistakes, of_another):
            samples.append(
                Sample(
                    prompt="",
                    completion=text,
                    images=(picture,),
                    references=(describe(scene, generator),),
                )
            )
    reward.assess(samples)
    numbers = {picture.tobytes(): number for number, picture in enumerate(pictures)}
    probes: list[dict[str, PictureProbe]] = [{} for _ in scenes]
    for question in recorder.asked:
        assert isinstance(question.probe, PictureProbe)
        number = numbers[question.images[0].tobytes()]
        probes[number][short_question(question.probe)] = question.probe
    return [list(of_picture.values()) for of_picture in probes]


def mistaken(scene: Scene, generator: random.Random) -> Scene:
    """Returns the scene with wrong sizes and colours, and with wrong shapes and places too."""
    things: list[Thing] = []
    for thing in misread(scene, generator, MISREAD).objects:
        changes = {"shape": thing.shape, "row": thing.row, "column": thing.column}
        for fact, values in (("shape", SHAPES), ("row", ROWS), ("column", COLUMNS)):
            if generator.random() < MISREAD / 2:
                changes[fact] = generator.choice(values)
        things.append(Thing(color=thing.color, size=thing.size, **changes))
    return Scene(tuple(things), scene.seed)


def balanced(
    probes: Sequence[PictureProbe], scene: Scene, most: int, generator: random.Random
) -> list[tuple[PictureProbe, float]]:
    """Returns equally many questions whose answer is yes and no, at most `most` in all, in any
    order.
    """
    reading = contents(scene)
    by_answer: dict[float, list[PictureProbe]] = {YES: [], NO: []}
    for probe in probes:
        answer = YES if shows(probe, reading) else NO
        by_answer[answer].append(probe)
    size = min(most // 2, len(by_answer[YES]), len(by_answer[NO]))
    kept: list[tuple[PictureProbe, float]] = []
    for answer, of_answer in by_answer.items():
        for probe in generator.sample(of_answer, size):
            kept.append((probe, answer))
    generator.shuffle(kept)
    return kept
