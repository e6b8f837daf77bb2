"""A judge of pictures whose contents are known in words: it reads a description in place of each picture.

    judge = DescribedPictures(MatchJudge(), {key_of(draw(scene)): describe(scene, random.Random(0))})
    PoshReward(judge, evidence="picture")

Questions without pictures go to the inner judge as they are. In experiments the description is the whole truth of a
scene, or what annotators say is in a photograph.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from random import Random
from typing import Any

from experiments.scenes.language import describe
from experiments.scenes.world import draw, make_scenes
from spanreward.rewards.judges.judge import RATING_SCALE, Failure, Judge, Question, Rating
from spanreward.rewards.judges.match.match_judge import MatchJudge


def key_of(picture: Any) -> str:
    """The same for equal pixels."""
    return blake2b(picture.convert("RGB").tobytes(), digest_size=16).hexdigest()


class DescribedPictures(Judge):
    """texts: what is in each picture, by `key_of`. asked: how many questions had a picture."""

    def __init__(self, judge: Judge, texts: Mapping[str, str]) -> None:
        self.judge = judge
        self.texts = dict(texts)
        self.asked = 0

    @property
    def name(self) -> str:
        return f"{self.judge.name} with {len(self.texts)} pictures in words"

    def rate(self, questions: Sequence[Question], scale: Sequence[str] = RATING_SCALE) -> list[Rating | Failure]:
        self.asked += sum(bool(question.images) for question in questions)
        return self.judge.rate([self._in_words(question) for question in questions], scale)

    def write(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        return self.judge.write(questions, max_tokens)

    def _in_words(self, question: Question) -> Question:
        if not question.images:
            return question
        text = " ".join(self.texts[key_of(picture)] for picture in question.images)
        return replace(question, images=(), probe=replace(question.probe, text=text, graph=None))


class ScenePictures(DescribedPictures):
    """`match`, which sees the first 2,000 training pictures of level 1 through their complete descriptions."""

    def __init__(self) -> None:
        scenes = make_scenes("train", 1, 2000, 0)
        super().__init__(MatchJudge(), {key_of(draw(scene)): describe(scene, Random(scene.seed)) for scene in scenes})
