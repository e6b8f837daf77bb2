"""Texts that make a regular expression slow if any do, derived from the expression itself.

Backtracking costs most where a repeat has read much and what follows it fails, and where many
starts read the same run again. So each text is a beginning that leads to a repeat, what the repeat
takes many times over, and an end that fails.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.support.regex_steps import REPEATS, SINGLE, single, tree_of

LONG = 20  # times; a repeat that is bounded lower is not pumped
PROBES = " \n\taA1_-.'\"é中(x,:<*\\"  # what a class of characters may accept
ENDS = ("\x00", "", "\n", "a")
MANY = 100  # texts, which have one end only
MOST_CHARACTERS = 5  # of one class


class Pumped(NamedTuple):
    start: str
    pump: str
    end: str

    def text(self, length: int) -> str:
        return self.start + self.pump * (length // len(self.pump)) + self.end


def pumped_texts(pattern: re.Pattern[Any]) -> list[Pumped]:
    tree = tree_of(pattern)
    characters = PROBES + "".join(sorted(set(_literals(tree))))
    pumps = set(_pumps(tree, "", pattern.flags, characters))
    starts = {start for start, _ in pumps}
    pumps |= {("", start) for start in starts if start}
    ends = ENDS if len(pumps) < MANY else ENDS[:1]
    return [Pumped(start, pump, end) for start, pump in sorted(pumps) if pump for end in ends]


def _literals(tree: Any) -> Iterator[str]:
    for name, value in _nodes(tree):
        if name in ("LITERAL", "NOT_LITERAL"):
            yield chr(value)


def _nodes(tree: Any) -> Iterator[tuple[str, Any]]:
    for node in tree:
        name, value = str(node[0]), node[1]
        yield name, value
        if name == "IN":
            yield from _nodes([one for one in value if str(one[0]) == "LITERAL"])
        for part in _parts(name, value):
            yield from _nodes(part)


def _parts(name: str, value: Any) -> list[Any]:
    """The patterns within a part of a pattern."""
    if name == "SUBPATTERN":
        return [value[3]]
    if name == "BRANCH":
        return list(value[1])
    if name in REPEATS:
        return [value[2]]
    if name == "ATOMIC_GROUP":
        return [value]
    if name in ("ASSERT", "ASSERT_NOT"):
        return [value[1]]
    return []


def _pumps(tree: Any, start: str, flags: int, characters: str) -> Iterator[tuple[str, str]]:
    """Yields each beginning that leads to a repeat, with what the repeat takes once."""
    for node in tree:
        name, value = str(node[0]), node[1]
        if name in REPEATS and value[1] > LONG:
            for pump in _takes(value[2], flags, characters):
                yield start, pump
                yield "", pump
        for part in _parts(name, value):
            yield from _pumps(part, start, flags, characters)
        start += next(_takes([node], flags, characters), "")
    yield "", start


def _takes(tree: Any, flags: int, characters: str) -> Iterator[str]:
    """Yields short texts that a part of a pattern takes; looks around are not considered."""
    texts = [""]
    for node in tree:
        name, value = str(node[0]), node[1]
        choices = list(_taken(name, value, flags, characters)) or [""]
        texts = [text + choices[0] for text in texts] + [texts[0] + other for other in choices[1:]]
    yield from texts


def _taken(name: str, value: Any, flags: int, characters: str) -> Iterator[str]:
    if name == "LITERAL":
        yield chr(value)
    elif name in SINGLE:
        yield from _accepted(name, value, flags, characters)
    elif name in REPEATS:
        for text in _takes(value[2], flags, characters):
            yield text * max(1, value[0])
    elif name == "BRANCH":
        for branch in value[1]:
            yield from _takes(branch, flags, characters)
    elif name in ("SUBPATTERN", "ATOMIC_GROUP"):
        yield from _takes(_parts(name, value)[0], flags, characters)


def _accepted(name: str, value: Any, flags: int, characters: str) -> Iterator[str]:
    """Yields the first of these characters that a class of characters accepts."""
    accepts = single(name, value, flags)
    count = 0
    for character in characters:
        if accepts.match(character) and count < MOST_CHARACTERS:
            count += 1
            yield character
