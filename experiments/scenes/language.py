"""English for scenes: several wordings of the same contents, complete or terse.

    describe(scene, random.Random(0))
    # "A small red star sits in the top left corner. A large blue square sits at the right edge."

A terse description keeps each object and each of its attributes only with a given probability: what
it says is true, but it says too little. The base policy learns from those.
"""

import random
from collections.abc import Callable

from experiments.scenes.world import FINE_ROWS, Scene, Thing, distance

PROMPT = "Describe the picture."


def describe(
    scene: Scene, generator: random.Random, keep_object: float = 1.0, keep_attribute: float = 1.0
) -> str:
    """One description in a randomly chosen wording. At least one object is always named."""
    kept = [thing for thing in scene.objects if generator.random() < keep_object]
    kept = kept or [generator.choice(scene.objects)]
    wording = generator.choice(WORDINGS)
    phrases = [
        (noun_phrase(thing, generator, keep_attribute), place_phrase(thing)) for thing in kept
    ]
    place_kept = [generator.random() < keep_attribute for _ in kept]
    text = wording(
        [
            (noun, place if keep else "")
            for (noun, place), keep in zip(phrases, place_kept, strict=True)
        ]
    )
    complete = keep_object == keep_attribute == 1.0
    return text + (
        relation_sentence(kept, generator) if complete and generator.random() < 0.2 else ""
    )


def criteria(scene: Scene) -> list[str]:
    """What a good description must do, one text for each object."""
    complete = random.Random(0)  # of which nothing is asked: no word is left out
    return [
        f"It says that there is {noun_phrase(thing, complete)} {place_phrase(thing)}."
        for thing in scene.objects
    ]


def noun_phrase(thing: Thing, generator: random.Random, keep_attribute: float = 1.0) -> str:
    """ "a small red star", or less."""
    words = [word for word in (thing.size, thing.color) if generator.random() < keep_attribute]
    return " ".join(["a", *words, thing.shape])


def place_phrase(thing: Thing) -> str:
    """Where the object is: a corner, an edge or the center, or in a fine grid its row and
    column.
    """
    row, column = thing.row, thing.column
    if row in FINE_ROWS:
        return f"in the {row} and {column}"
    if row == "middle" and column == "center":
        return "in the center"
    if row == "middle":
        return f"at the {column} edge"
    if column == "center":
        return f"at the {row} edge"
    return f"in the {row} {column} corner"


def relation_sentence(things: list[Thing], generator: random.Random) -> str:
    """A sentence about how two of the objects lie to each other, when their names tell them
    apart.
    """
    names = [f"the {thing.color} {thing.shape}" for thing in things]
    distinct = [i for i, name in enumerate(names) if names.count(name) == 1]
    if len(distinct) < 2:
        return ""
    first, second = generator.sample(distinct, 2)
    relation = relation_between(things[first], things[second], generator)
    return f" {capitalised(names[first])} is {relation} {names[second]}."


def relation_between(first: Thing, second: Thing, generator: random.Random) -> str:
    """One relation that holds from the first to the second; they lie in different places."""
    rows, columns = distance(first, second)
    vertical = "above" if rows < 0 else "below"
    horizontal = "to the left of" if columns < 0 else "to the right of"
    if rows == 0:
        return horizontal
    if columns == 0:
        return vertical
    return generator.choice((vertical, horizontal))


def capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def as_existence(phrases: list[tuple[str, str]]) -> str:
    return " ".join(f"There is {noun}{' ' + place if place else ''}." for noun, place in phrases)


def as_posture(phrases: list[tuple[str, str]]) -> str:
    return " ".join(
        f"{capitalised(noun)} sits {place}." if place else f"{capitalised(noun)}."
        for noun, place in phrases
    )


def as_front(phrases: list[tuple[str, str]]) -> str:
    return " ".join(
        f"{capitalised(place)} there is {noun}." if place else f"There is {noun}."
        for noun, place in phrases
    )


def as_list(phrases: list[tuple[str, str]]) -> str:
    clauses = [f"{noun} is {place}" if place else noun for noun, place in phrases]
    return capitalised(", and ".join(clauses)) + "."


WORDINGS: tuple[Callable[[list[tuple[str, str]]], str], ...] = (
    as_existence,
    as_posture,
    as_front,
    as_list,
)
