"""What a judge of Scenes is taught: the questions that PoSh, LAVE and the pairwise metric put, with
the truth.

    lessons = posh_lessons(make_scenes("train", 2, 100), random.Random(0))
    lessons[0].question.messages, lessons[0].target
    # a prompt as the metric words it, {"5": 0.9, "4": 0.09, ...}

The metrics themselves ask, of descriptions of which some are mistaken (mistakes.py) or terse; who
answers knows the truth (referee_judge.py) and keeps what was asked. So the prompts are byte for
byte those that the judge will be put.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal

from experiments.scenes.language import PROMPT, describe
from experiments.scenes.mistakes import with_mistakes
from experiments.scenes.noisy_judge import scene_of
from experiments.scenes.questions import UNSURE, ask, other_words
from experiments.scenes.referee import judge_description
from experiments.scenes.referee_judge import RefereeJudge
from experiments.scenes.world import Scene
from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.judges.judge import Failure, Question, Rating
from spanreward.rewards.judges.probe import PairProbe, PresenceProbe
from spanreward.rewards.lave.reward import LaveReward
from spanreward.rewards.pairwise.reward import PairwiseReward
from spanreward.rewards.posh import PoshReward

SOFTNESS = 0.1  # of the probability of a rating, what the next one on the scale has
# truth F1: how near two texts must be for people to disagree about which is better
PAIR_NOISE = 0.1
MOST_MISTAKES = 3
# shares of objects and of attributes that a description names, drawn evenly
KEPT = (1.0, 1.0, 0.8, 0.6)

Kind = Literal["entity", "attribute", "relation", "denied", "lave", "pair"]


@dataclass(frozen=True, slots=True)
class Lesson:
    """A question, the scale it is answered on, and the distribution over it that is right.

    right: the scale's entry that the truth is; of a pair, the likeliest.
    """

    kind: Kind
    question: Question
    target: dict[str, float]

    @property
    def right(self) -> str:
        return max(self.target, key=lambda entry: self.target[entry])


class Teacher(RefereeJudge):
    """The referee, who also compares two texts by their truth F1, and keeps what was asked."""

    name = "teacher"

    def __init__(self) -> None:
        super().__init__({})
        self.lessons: list[Lesson] = []

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        answers = super().rate_each(questions, scale)
        for question, answer in zip(questions, answers, strict=True):
            if isinstance(answer, Failure):
                raise ValueError(f"the teacher cannot answer what it is asked: {answer.message}")
            pair = isinstance(question.probe, PairProbe)
            target = dict(answer.probabilities) if pair else soft(answer)
            self.lessons.append(Lesson(kind_of(question.probe), question, target))
        return answers

    def _rate(self, probe: Any, scale: Sequence[str]) -> Rating | Failure:
        if isinstance(probe, PairProbe):
            scene = scene_of(probe.context)
            first, second = (
                judge_description(text, scene).f1 for text in (probe.first, probe.second)
            )
            return Rating(dict(zip(scale, preference(first, second), strict=True)))
        return super()._rate(probe, scale)


def preference(first: float, second: float) -> tuple[float, float, float]:
    """How often the first text is preferred, the second, neither: people see truth F1 with
    PAIR_NOISE and call a tie what looks nearer than half of it.
    """
    seen = NormalDist(first - second, PAIR_NOISE)
    second_wins = seen.cdf(-PAIR_NOISE / 2)
    first_wins = 1 - seen.cdf(PAIR_NOISE / 2)
    return first_wins, second_wins, 1 - first_wins - second_wins


def soft(answer: Rating) -> dict[str, float]:
    """A certain rating as a distribution that falls off by SOFTNESS with every step away from
    it.
    """
    (right,) = [float(entry) for entry, share in answer.probabilities.items() if share == 1.0]
    weights = {entry: SOFTNESS ** abs(float(entry) - right) for entry in answer.probabilities}
    return {entry: weight / sum(weights.values()) for entry, weight in weights.items()}


def kind_of(probe: Any) -> Kind:
    if isinstance(probe, PresenceProbe):
        return probe.kind
    return "pair" if isinstance(probe, PairProbe) else "lave"


def told(scene: Scene, generator: random.Random) -> str:
    """A description as policies write them: with some mistakes, and with some left out."""
    seen = with_mistakes(scene, generator, generator.randint(0, MOST_MISTAKES))
    return describe(seen, generator, generator.choice(KEPT), generator.choice(KEPT))


def posh_lessons(scenes: Sequence[Scene], generator: random.Random) -> list[Lesson]:
    """All questions of PoSh about a description of each scene and a reference."""
    teacher = Teacher()
    samples = [
        Sample(PROMPT, told(scene, generator), references=(describe(scene, generator),))
        for scene in scenes
    ]
    PoshReward(teacher).assess(samples)
    return teacher.lessons


def lave_lessons(scenes: Sequence[Scene], generator: random.Random) -> list[Lesson]:
    """LAVE's question about an answer, right or wrong equally often, to a question about each
    scene.
    """
    teacher = Teacher()
    samples = []
    for scene in scenes:
        asked = ask(scene, generator)
        right = generator.choice((asked.right, asked.right, *other_words(asked.right)))
        answer = right if generator.random() < 0.5 else generator.choice((*asked.wrong, UNSURE))
        samples.append(Sample(asked.text, answer, question=asked.text, answers=asked.answers))
    LaveReward(teacher, rationale=False).assess(samples)
    return teacher.lessons


def pair_lessons(scenes: Sequence[Scene], generator: random.Random) -> list[Lesson]:
    """Which of two descriptions of each scene is better, in both orders, by a full description."""
    teacher = Teacher()
    # that of both texts, which makes them a group
    contexts = [describe(scene, generator) for scene in scenes]
    samples = [
        Sample(PROMPT, told(scene, generator), context=context)
        for scene, context in zip(scenes, contexts, strict=True)
        for _ in range(2)
    ]
    PairwiseReward(teacher, evidence="context").assess(samples)
    return teacher.lessons
