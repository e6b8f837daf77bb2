"""Pairs of texts that differ in meaning, or in markup alone, by a seed.

Reading a text should remove its markup and nothing else. So two texts that a careful reader tells
apart must stay apart, and texts that differ in markup alone must come out equal. The pairs were
written before their writer had read a rule of the product.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from experiments.meaning.captions import CAPTIONS
from experiments.meaning.markup import IN_MATHS, WRAPPERS, Wrapper, fits, together, wrap
from experiments.meaning.numbers import NUMBERS
from experiments.meaning.official import official
from experiments.meaning.spellings import SPELLINGS
from experiments.meaning.symbols import SYMBOLS

COUNT = 40  # pairs of a dimension
MIXED = "two or three kinds"
WRAPPED = 0.4  # share of the pairs with different meanings that stand in markup
ANSWERS = {**NUMBERS, **SYMBOLS}
LITERAL = {"programming names", "punctuation as the answer", "places and pictures"}  # no LaTeX

THINGS = ("ball", "cup", "lamp", "kite", "bag", "book", "hat", "bowl", "clock", "chair")
COLOURS = ("red", "green", "blue", "yellow", "brown", "purple", "pink", "grey")
COUNTS = ("two", "three", "four", "five", "six", "seven")
PEOPLE = ("man", "woman", "boy", "girl", "farmer", "teacher")


@dataclass(frozen=True)
class Pair:
    """Two texts for the same question or picture, as two completions would have them.

    Args:
        family: "apart" or "same".
        dimension: what differs: a meaning or, where nothing does, the markup.
        texts: "answer" or "caption".
        question: empty for captions.
        reference: the right text, without markup.
        right: the right text as one completion has it; in the family "same" without markup.
        candidate: the other completion.
        kind: "markup", "prose" or "spelling", as in Wrapper; of the family "same" alone.
        merged: whether the published VQA accuracy makes right and candidate equal.
    """

    family: str
    dimension: str
    texts: str
    question: str
    reference: str
    right: str
    candidate: str
    kind: str = "markup"
    merged: bool = False


def fillers(rng: random.Random) -> dict[str, str]:
    """Returns what stands for each blank of a row."""
    digits = rng.sample("23456789", 5)
    variables = rng.sample("xyzkt", 2)
    things = rng.sample(THINGS, 2)
    colours = rng.sample(COLOURS, 2)
    counts = rng.sample(COUNTS, 2)
    people = rng.sample(PEOPLE, 2)
    return {
        **dict(zip("abcde", digits, strict=True)),
        "x": variables[0],
        "y": variables[1],
        "thing": things[0],
        "other": things[1],
        "colour": colours[0],
        "tint": colours[1],
        "two": counts[0],
        "three": counts[1],
        "man": people[0],
        "woman": people[1],
    }


def fill(row: str, words: dict[str, str]) -> str:
    """Returns the row with its blanks filled; a caption begins with a capital letter."""
    text = re.sub("«([a-z]+)»", lambda blank: words[blank[1]], row)
    if row.startswith("«") and row.endswith("."):
        text = text[0].upper() + text[1:]
    return text


def rows(
    dimension: dict[str, list[tuple[str, str]]], rng: random.Random
) -> Iterator[tuple[str, str, str]]:
    """Yields question and both texts, without end: all rows in random order, then all again."""
    every = []
    for question, texts in dimension.items():
        for first, second in texts:
            every.append((question, first, second))
    while True:
        rng.shuffle(every)
        for question, first, second in every:
            words = fillers(rng)
            sides = [fill(first, words), fill(second, words)]
            rng.shuffle(sides)
            yield fill(question, words), sides[0], sides[1]


def suits(dimension: str, wrapper: Wrapper, text: str, texts: str) -> bool:
    """Says whether the wrapper is markup alone around a text of the dimension."""
    if dimension in LITERAL and wrapper.name in IN_MATHS:
        return False
    return fits(wrapper, text, texts)


def fitting(dimension: str, both: tuple[str, str], texts: str) -> list[Wrapper]:
    """Returns the wrappers that are markup alone around either text."""
    usable = []
    for wrapper in WRAPPERS:
        if all(suits(dimension, wrapper, text, texts) for text in both):
            usable.append(wrapper)
    return usable


def around(first: list[Wrapper], usable: list[Wrapper], rng: random.Random) -> list[Wrapper]:
    """Returns the first wrappers and up to three in all that stand together, of markup alone."""
    chosen = list(first)
    for wrapper in rng.sample(usable, min(len(usable), rng.randint(0, 6))):
        if wrapper.kind == "markup" and len(chosen) < 3 and together([*chosen, wrapper]):
            chosen.append(wrapper)
    return chosen


def apart(
    name: str,
    dimension: dict[str, list[tuple[str, str]]],
    texts: str,
    rng: random.Random,
    count: int,
) -> Iterator[Pair]:
    """Yields pairs of different meaning, some of them with both texts in the same markup."""
    seen: set[tuple[str, str]] = set()
    for tries, (question, right, wrong) in enumerate(rows(dimension, rng)):
        if len(seen) == count or tries == 40 * count:
            return
        if right == wrong or (right, wrong) in seen:
            continue
        seen.add((right, wrong))
        merged = texts == "answer" and official(right) == official(wrong)
        usable = fitting(name, (right, wrong), texts)
        wrappers = []
        if rng.random() < WRAPPED:
            wrappers = around([], usable, rng)
        twice = rng.random()
        yield Pair(
            "apart",
            name,
            texts,
            question,
            right,
            wrap(right, wrappers, texts, random.Random(twice)),
            wrap(wrong, wrappers, texts, random.Random(twice)),
            merged=merged,
        )


def texts_of(texts: str, rng: random.Random) -> Iterator[tuple[str, str, str]]:
    """Yields dimension, question and a text of it, of each dimension in turn, without end."""
    if texts == "answer":
        dimensions = ANSWERS
    else:
        dimensions = {name: {"": pairs} for name, pairs in CAPTIONS.items()}
    sources = {name: rows(dimension, rng) for name, dimension in dimensions.items()}
    while True:
        for name, source in sources.items():
            question, right, _ = next(source)
            yield name, question, right


def same(wrapper: Wrapper, texts: str, rng: random.Random, count: int) -> Iterator[Pair]:
    """Yields pairs of a bare text and the same in this markup: half of them in it alone, which are
    the dimension of its name, and half in one or two more.
    """
    seen: set[tuple[str, str]] = set()
    for tries, (name, question, right) in enumerate(texts_of(texts, rng)):
        if len(seen) == count or tries == 200 * count:
            return
        if not suits(name, wrapper, right, texts):
            continue
        usable = fitting(name, (right, right), texts)
        wrappers = [wrapper]
        if len(seen) >= count // 2:
            wrappers = around(wrappers, usable, rng)
        wrapped = wrap(right, wrappers, texts, rng)
        if wrapped == right or (right, wrapped) in seen:
            continue
        seen.add((right, wrapped))
        yield Pair(
            "same",
            wrapper.name if len(wrappers) == 1 else MIXED,
            texts,
            question,
            right,
            right,
            wrapped,
            wrapper.kind,
            official(right) == official(wrapped),
        )


def spelled(
    name: str, dimension: dict[str, list[tuple[str, str]]], rng: random.Random, count: int
) -> Iterator[Pair]:
    """Yields pairs of two spellings of one answer."""
    seen: set[tuple[str, str]] = set()
    for tries, (question, right, other) in enumerate(rows(dimension, rng)):
        if len(seen) == count or tries == 40 * count:
            return
        if (right, other) not in seen:
            seen.add((right, other))
            merged = official(right) == official(other)
            yield Pair("same", name, "answer", question, right, right, other, "spelling", merged)


def all_pairs(seed: int = 0, count: int = COUNT) -> list[Pair]:
    """Returns all pairs. Each dimension has its own generator, so that a new one changes no other."""
    pairs: list[Pair] = []
    for name, dimension in ANSWERS.items():
        rng = random.Random(f"{seed} apart {name}")
        pairs.extend(apart(name, dimension, "answer", rng, count))
    for name, captions in CAPTIONS.items():
        rng = random.Random(f"{seed} captions {name}")
        pairs.extend(apart(name, {"": captions}, "caption", rng, count))
    for texts in ("answer", "caption"):
        for wrapper in WRAPPERS:
            rng = random.Random(f"{seed} same {texts} {wrapper.name}")
            pairs.extend(same(wrapper, texts, rng, count))
    for name, dimension in SPELLINGS.items():
        rng = random.Random(f"{seed} spelled {name}")
        pairs.extend(spelled(name, dimension, rng, count))
    return pairs
