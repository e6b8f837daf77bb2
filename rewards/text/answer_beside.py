"""An answer in tags beside a description in tags is no part of the description, as policies write
them that are asked for both: "<caption>A heron stands.</caption><answer>heron</answer>".
"""

import re
from collections.abc import Iterator

from spanreward.rewards.text.pieces import ANSWER, Piece

_TAG = re.compile(
    r"<(?P<slash>/)?(?P<name>(?:[a-z]+_)?(?:caption|description)|(?:final_)?answer)(?:\s[^<>]*)?>",
    re.IGNORECASE,
)
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")


def without_answer(text: str) -> Iterator[Piece]:
    """Yields the text without the answers that stand beside a description, not within it."""
    answers: list[tuple[int, int]] = []
    is_described = False
    for start, within, end, stop, name in _tagged_parts(text):
        if name.endswith("answer"):
            answers.append((start, stop))
        elif _LETTER_OR_DIGIT.search(text, within, end):
            is_described = True
    # an answer without a description is what was asked for
    if not is_described:
        yield 0, len(text)
        return
    at = 0
    for start, stop in answers:
        yield at, start
        yield start, stop, ANSWER
        at = stop
    yield at, len(text)


def _tagged_parts(text: str) -> Iterator[tuple[int, int, int, int, str]]:
    """Yields start, start and end of the content, end, and name of the outermost tags. A tag
    without an end goes to the end of the text.
    """
    opened: re.Match[str] | None = None
    for tag in _TAG.finditer(text):
        name = tag["name"].lower()
        if opened is None and not tag["slash"]:
            opened = tag
        elif opened and tag["slash"] and opened["name"].lower() == name:
            start, within = opened.span()
            end, stop = tag.span()
            yield start, within, end, stop, name
            opened = None
    if opened:
        start, within = opened.span()
        end = len(text)
        yield start, within, end, end, opened["name"].lower()
