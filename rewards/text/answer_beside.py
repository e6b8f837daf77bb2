"""Drops an answer in tags from a text that also has a description in tags.

A policy that is asked for a description and an answer writes, for example,
"<caption>A heron stands.</caption><answer>heron</answer>". The answer is no part of the
description, so a metric of descriptions must not read "heron".
"""

import re
from collections.abc import Iterator

from spanreward.rewards.text.pieces import ANSWER, Piece

_ANSWER_TAG = re.compile(
    r"<(?P<slash>/)?(?P<name>(?:[a-z]+_)?(?:caption|description)|(?:final_)?answer)(?:\s[^<>]*)?>",
    re.IGNORECASE,
)
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")


def without_answer(text: str) -> Iterator[Piece]:
    """Yields the pieces of the text, in which tagged answers are dropped if the text has a tagged
    description. "<caption>A heron.</caption><answer>heron</answer>" loses its answer.

    An answer within a description is kept. A text without a description is kept whole.
    """
    # find the outermost tags
    answers: list[tuple[int, int]] = []
    is_described = False
    for start, within, end, stop, name in _tagged_parts(text):
        if name.endswith("answer"):
            answers.append((start, stop))
        elif _LETTER_OR_DIGIT.search(text, within, end):
            is_described = True
    # without a description, the prompt asked for the answer alone: keep the answer
    if not is_described:
        yield 0, len(text)
        return
    # keep the text between the answers, and drop each answer with its tags
    at = 0
    for start, stop in answers:
        yield at, start
        yield start, stop, ANSWER
        at = stop
    yield at, len(text)


def _tagged_parts(text: str) -> Iterator[tuple[int, int, int, int, str]]:
    """Yields (start, content start, content end, end, name) of each outermost pair of tags.

    `"<answer>heron</answer>"` gives `(0, 8, 13, 22, "answer")`. The content of a tag that is never
    closed ends at the end of the text.
    """
    opened: re.Match[str] | None = None
    for tag in _ANSWER_TAG.finditer(text):
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
