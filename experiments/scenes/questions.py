"""Questions about scenes, each with ten answers that vary as people's do.

    asked = ask(scene, random.Random(0))
    asked.text, asked.right         # "What color is the star?", "red"
    asked.answers                   # ("red", "red", "dark red", "red", ..., "blue")

Four kinds, drawn evenly where the scene allows them: color and place of a shape that is there once,
how many there are of something, and whether something is there, to which yes and no are right
equally often. Of the ten answers most are the usual one; some are the same in other words, and a
few are slips. The most frequent one is always right. People may also be `unsure`: then they see the
answer and say UNSURE, as the base policy learns to.
"""

import random
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from experiments.scenes.world import COLORS, COLUMNS, ROWS, SHAPES, Scene, Thing

Kind = Literal["color", "count", "presence", "place"]

KINDS: tuple[Kind, ...] = ("color", "count", "presence", "place")
PEOPLE = 10
OTHER_WORDS = 0.15  # how often a person answers rightly and not in the usual words
SLIP = 0.08  # how often a person is wrong
UNSURE = "not sure"
COUNTS = {
    0: "none",
    1: "one",
    2: "two",
    3: "three",
    4: "four",
    5: "five",
    6: "six",
    7: "seven",
    8: "eight",
    9: "nine",
}
SYNONYMS = {
    **{"red": ("dark red",), "green": ("dark green",), "blue": ("dark blue",)},
    **{"yellow": ("gold",), "purple": ("violet",), "black": ("dark",)},
    **{str(number): (word,) for number, word in COUNTS.items()},
    "yes": ("yes it is",),
    "no": ("no it is not",),
}


@dataclass(frozen=True, slots=True)
class SceneQuestion:
    """`right`: the usual right answer. wrong: other answers of its kind. answers: those of PEOPLE
    people.
    """

    kind: Kind
    text: str
    right: str
    wrong: tuple[str, ...]
    answers: tuple[str, ...]


def ask(scene: Scene, generator: random.Random, unsure: float = 0.0) -> SceneQuestion:
    """A question that the scene answers without doubt. unsure: how often a person does not answer
    it, in [0, 1].
    """
    names = [thing.shape for thing in scene.objects]
    single = [thing for thing in scene.objects if names.count(thing.shape) == 1]
    kind = generator.choice(KINDS if single else ("count", "presence"))
    if kind == "color":
        thing = generator.choice(single)
        text, right, wrong = f"What color is the {thing.shape}?", thing.color, tuple(COLORS)
    elif kind == "place":
        thing = generator.choice(single)
        places = tuple(place_name(row, column) for row in ROWS for column in COLUMNS)
        text, right, wrong = (
            f"Where is the {thing.shape}?",
            place_name(thing.row, thing.column),
            places,
        )
    elif kind == "count":
        shape = generator.choice((*names, generator.choice(SHAPES), "shape"))
        number = len(names) if shape == "shape" else names.count(shape)
        text, right, wrong = (
            f"How many {shape}s are there?",
            str(number),
            tuple(str(n) for n in range(number + 3)),
        )
    else:
        thing, there = something(scene, generator)
        text, right, wrong = (
            f"Is there a {thing.color} {thing.shape}?",
            "yes" if there else "no",
            ("yes", "no"),
        )
    wrong = tuple(answer for answer in wrong if answer != right)
    answers = tuple(
        UNSURE if generator.random() < unsure else answer
        for answer in people(right, wrong, generator)
    )
    return SceneQuestion(kind, text, right, wrong, answers)


def several(scene: Scene, generator: random.Random, count: int) -> list[SceneQuestion]:
    """At most `count` different questions that a description can answer: each is about a shape that
    is there.
    """
    asked = [ask(scene, generator) for _ in range(8 * count)]
    about = {
        one.text: one
        for one in asked
        if any(f" {thing.shape}" in one.text for thing in scene.objects)
    }
    return list(about.values())[:count]


def something(scene: Scene, generator: random.Random) -> tuple[Thing, bool]:
    """A thing that is there, or as often one that differs from such a thing in color or shape and
    is not there.
    """
    thing = generator.choice(scene.objects)
    if generator.random() < 0.5:
        return thing, True
    present = {(other.color, other.shape) for other in scene.objects}
    near = [(color, thing.shape) for color in COLORS] + [(thing.color, shape) for shape in SHAPES]
    color, shape = generator.choice([pair for pair in near if pair not in present])
    return Thing(shape, color, thing.size, thing.row, thing.column), False


def place_name(row: str, column: str) -> str:
    """ "top left", "top", "left" or "center"."""
    words = [word for word in (row, column) if word not in ("middle", "center")]
    return " ".join(words) or "center"


def people(right: str, wrong: tuple[str, ...], generator: random.Random) -> tuple[str, ...]:
    """PEOPLE answers, of which none is as frequent as the right one."""
    while True:
        answers = tuple(person(right, wrong, generator) for _ in range(PEOPLE))
        (_, most), *others = Counter(answers).most_common()
        if answers.count(right) == most and all(count < most for _, count in others):
            return answers


def person(right: str, wrong: tuple[str, ...], generator: random.Random) -> str:
    chance = generator.random()
    if chance < SLIP:
        return generator.choice(wrong)
    return generator.choice(other_words(right)) if chance < SLIP + OTHER_WORDS else right


def other_words(answer: str) -> tuple[str, ...]:
    """The same answer as other people put it."""
    if answer in SYNONYMS:
        return SYNONYMS[answer]
    if answer == "center":
        return ("middle", "in the center")
    if " " in answer:
        return (f"{answer} corner", answer.replace("top", "upper").replace("bottom", "lower"))
    return (f"{answer} edge", f"at the {answer}")
