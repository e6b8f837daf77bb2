"""Bounds the part of a completion that is judged, so that no text costs too much time.

    text[: judged_length(text)]                         # the part of a text that is judged

Text past JUDGED_CHARACTERS, or past JUDGED_TOKENS words and signs, is not parsed. In mode "default"
such text counts as wrong.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice

from spanreward.rewards.base.verdict import Span, Verdict

JUDGED_CHARACTERS = 10_000
JUDGED_TOKENS = 4_000  # English prose of JUDGED_CHARACTERS has 2,100; "!a!a!a" would have 10,000
WORD_OR_SIGN = re.compile(r"[^\W_]+|[^\w\s]|_")


def judged_length(text: str) -> int:
    """Returns how many of the text's characters are judged: those of its first JUDGED_TOKENS words
    and signs, and at most JUDGED_CHARACTERS.
    """
    if len(text) <= JUDGED_TOKENS:  # a word or sign has at least one character
        return len(text)
    beginning = text[:JUDGED_CHARACTERS]
    words = WORD_OR_SIGN.finditer(beginning)
    # the last word that is judged, or None if the beginning has fewer words
    last = next(islice(words, JUDGED_TOKENS - 1, None), None)
    # include white space behind the last word: otherwise trailing white space would count as wrong
    if last is None or not WORD_OR_SIGN.search(beginning, last.end()):
        return len(beginning)
    return last.end()


def shrink_parts(
    parts: Mapping[str, float],
    share_left: float,
    lowest: Mapping[str, float],
) -> dict[str, float]:
    """Returns the parts, with each part that `lowest` names moved towards its lowest value.

    `shrink_parts({"clarity": 5.0}, 0.5, {"clarity": 1.0})` gives `{"clarity": 3.0}`: half of the
    distance from 1 is left. Other parts stay unchanged.
    """
    shrunk = dict(parts)
    for part in lowest.keys() & parts.keys():
        distance = parts[part] - lowest[part]
        shrunk[part] = lowest[part] + distance * share_left
    return shrunk


def penalise_unread(
    verdict: Verdict,
    read: int,
    total: int,
    lowest: Mapping[str, float],
) -> Verdict:
    """Returns the verdict on a text of `total` characters, from the verdict on its first `read`
    characters.

    Score and credits are multiplied by the share of characters that was read. The unread characters
    become one span of score 0, whose credit is the loss of score. lowest: the parts that shrink
    with the score, with the lowest value of each part.
    """
    if read >= total or verdict.score is None:
        return verdict
    share = read / total
    score = verdict.score * share
    spans = _spans_of_beginning(verdict, read, share)
    # the unread span is a new component, so that no other words share its credit
    components = [span.component for span in spans]
    unread = Span(
        start=read,
        end=total,
        score=0.0,
        credit=score - verdict.score,
        kind="unread",
        note=f"not judged: past {read} characters",
        component=max(components, default=-1) + 1,
    )
    parts = shrink_parts(verdict.parts, share, lowest)
    return replace(verdict, score=score, parts=parts, spans=(*spans, unread))


def _spans_of_beginning(verdict: Verdict, read: int, share: float) -> list[Span]:
    """Returns the spans of a verdict within the first `read` characters, with their credits times
    `share`. A span that reaches into the unread text ends where the unread text begins.
    """
    spans = []
    for span in verdict.spans:
        if span.start < read:
            spans.append(replace(span, end=min(span.end, read), credit=span.credit * share))
    return spans
