"""A judge that sees the pictures of Scenes, and errs as often as it is told to.

    PoshReward(PictureJudge(errors=0.2), evidence="both")

About a text it answers as `match` does. About a picture it answers from what was drawn, by the
referee's rules, and then turns a share `errors` of its answers round: yes becomes no, and no
becomes yes. Such an error belongs to a component of a picture. Whoever asks about a red circle of
this picture gets the same answer, in whatever completion the circle stands. In a recipe:

    judge: {name: "experiments/scenes/picture_judge.py:PictureJudge", options: {errors: 0.2}}

It knows a picture by its pixels, which it looks up among all pictures of such scenes.
"""

import random
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, get_args

from PIL import Image

from experiments.scenes.chance import chance
from experiments.scenes.language import as_existence, noun_phrase, place_phrase
from experiments.scenes.referee import Reading, read
from experiments.scenes.referee_judge import NO, YES, says
from experiments.scenes.world import Scene, Split, draw, make_scenes
from spanreward.rewards.base.verdict import Status
from spanreward.rewards.judges.judge import Failure, Judge, Question, Rating, rating_of
from spanreward.rewards.judges.match.match_judge import MatchJudge
from spanreward.rewards.judges.probe import Mention, PictureProbe, PresenceProbe

LEVELS = (1, 2, 3)  # the oracle knows how things lie in their grid


class PictureJudge(Judge):
    """A judge of texts and of the pictures of Scenes.

    Args:
        errors: the share of its answers about pictures that is turned round, from 0 to 1.
        level, count, scenes_seed: of the scenes whose pictures it knows, as in rows.py.
    """

    sees_pictures = True

    def __init__(
        self, errors: float = 0.0, level: int = 1, count: int = 2000, scenes_seed: int = 0
    ) -> None:
        if not 0 <= errors <= 1:
            raise ValueError(f"errors must be a share from 0 to 1, got {errors}")
        if level not in LEVELS:
            raise ValueError(f"level must be one of {LEVELS}, got {level}")
        self.errors = errors
        self.level = level
        self.count = count
        self.scenes_seed = scenes_seed
        self.texts = MatchJudge()
        self._readings: dict[str, Reading] = {}
        self._splits_to_draw = list(get_args(Split))

    @property
    def name(self) -> str:
        scenes = f"level {self.level}, seed {self.scenes_seed}"
        return f"pictures of Scenes ({scenes}), errors {self.errors}, {self.texts.name}"

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        def look(of_pictures: Sequence[Question]) -> list[Rating | Failure]:
            return [
                self._look(question.probe, question.images[0], scale) for question in of_pictures
            ]

        return rate_apart(questions, partial(self.texts.rate, scale=scale), look)

    def _look(self, probe: Any, image: Image.Image, scale: Sequence[str]) -> Rating | Failure:
        picture = digest(image)
        reading = self._reading(picture)
        if reading is None:
            return Failure(
                Status.ERROR,
                f"no picture of {self.count} scenes of level {self.level} has these pixels: give "
                "the judge the level, count and seed of your rows",
            )
        answer = shows(probe, reading)
        if chance(f"{picture} {component(probe)}") < self.errors:
            answer = not answer
        return rating_of(YES if answer else NO, scale)

    def _reading(self, picture: str) -> Reading | None:
        """Returns what is on the picture. Splits are drawn when a picture of them may be asked
        about.
        """
        while picture not in self._readings and self._splits_to_draw:
            split = self._splits_to_draw.pop(0)
            for scene in make_scenes(split, self.level, self.count, self.scenes_seed):
                self._readings[digest(draw(scene))] = contents(scene)
        return self._readings.get(picture)


def rate_apart(
    questions: Sequence[Question],
    read: Callable[[Sequence[Question]], Sequence[Rating | Failure]],
    look: Callable[[Sequence[Question]], Sequence[Rating | Failure]],
) -> list[Rating | Failure]:
    """Returns the answers in order: `look` gets the questions about pictures, `read` the others."""
    of_pictures: list[Question] = []
    of_texts: list[Question] = []
    for question in questions:
        if isinstance(question.probe, PictureProbe):
            of_pictures.append(question)
        else:
            of_texts.append(question)
    seen, texts_read = iter(look(of_pictures)), iter(read(of_texts))
    answers: list[Rating | Failure] = []
    for question in questions:
        if isinstance(question.probe, PictureProbe):
            answers.append(next(seen))
        else:
            answers.append(next(texts_read))
    return answers


def digest(image: Image.Image) -> str:
    return sha256(image.convert("RGB").tobytes()).hexdigest()


def contents(scene: Scene) -> Reading:
    """Returns what the referee reads in a text that says everything, and nothing twice."""
    every_word = random.Random(0)  # no share of words is left out, so nothing is drawn
    phrases = [(noun_phrase(thing, every_word), place_phrase(thing)) for thing in scene.objects]
    return read(as_existence(phrases))


def shows(probe: PictureProbe, reading: Reading) -> bool:
    """Returns whether the picture has the thing, has it so, or has the two so.

    A text with a blue circle has the thing "red circle", described otherwise. A picture of a blue
    circle has no red circle, so a thing is asked about as one that is denied: with all its words.
    """
    kind = probe.kind
    if kind == "entity":
        kind = "denied"
    return says(PresenceProbe("", kind, probe.mention, probe.words, probe.other), reading)


def component(probe: PictureProbe) -> str:
    """Returns the component's words in one form: equal ones are erred on alike."""
    parts = [probe.kind, phrase(probe.mention), probe.words]
    if probe.other is not None:
        parts.append(phrase(probe.other))
    return " | ".join(parts).lower()


def phrase(mention: Mention) -> str:
    return " ".join((*sorted(mention.attributes), mention.head))
