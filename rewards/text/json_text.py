"""JSON in a text, read as a person reads it: what it says, without its syntax."""

import re
from collections.abc import Iterator

from spanreward.rewards.text.pieces import BOXES, JSON, PLACE_NAME, Piece

_START = re.compile(
    r"""\{\s*(["'])(?:(?!\1)[^\\\n]|\\.)*+\1\s*:
    | \[\s*(?:\{\s*["'] | (["'])(?:(?!\2)[^\\\n]|\\.)*+\2\s*[,\]])""",
    re.X,
)
_TOKEN = re.compile(
    r"""\s*+(?: (?P<open>[\[{]) | (?P<close>[\]}]) | , | null | (?P<value>-?\d[\d.eE+-]*|true|false)
    | (["'])(?P<text>(?:(?!\4)[^\\]|\\(?:.|\Z)|\4(?!\s*(?:[,:}\]]|\Z)))*+)
        (?:\4(?P<key>\s*:)?|\Z))""",
    re.X | re.DOTALL | re.IGNORECASE,
)
_PLACE = re.compile(rf"_*{PLACE_NAME}", re.IGNORECASE)
_NUMBERS = re.compile(r"[\d\s.,;()\[\]-]*")


def without_json(text: str) -> Iterator[Piece]:
    """Yields the values of JSON after their keys: those of an object each on a line, short ones of
    a list in a row.
    """
    at = 0
    while start := _START.search(text, at):
        yield at, start.start()
        at, is_place = start.start(), False
        joint = "\n" if at else ""
        within: list[str] = []
        while (token := _TOKEN.match(text, at)) and (within or token["open"]):
            begin, end = token.span("value" if token["text"] is None else "text")
            if begin < 0:
                begin = end = token.end()
            if token["key"]:
                is_place = _PLACE.match(text, begin, end) is not None
            kind = BOXES if is_place else JSON
            yield at, begin, kind
            at = token.end()
            if token["key"] and is_place:
                yield begin, end, kind
            elif token["key"]:
                yield from ((joint, begin), (begin, end), (": ", end))
                joint = ""
            elif begin < end and is_place and _NUMBERS.fullmatch(text, begin, end):
                yield begin, end, kind
            elif begin < end:
                yield from ((joint, begin), (begin, end))
                joint = "\n" if within[-1] == "{" or text[end - 1] in ".!?" else ", "
            elif token["open"]:
                within.append(token["open"])
            elif token["close"]:
                within.pop()
                joint = joint and "\n"
                if not within:
                    break
            yield end, at, kind
        yield "\n" * (at < len(text)), at - 1
    yield at, len(text)
