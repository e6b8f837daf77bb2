"""Finds padding: markup that no text stands between. Markup costs nothing, so a policy could
write it without end.

    text = "A red circle." + "<br>" * 60
    find_padding(text, read_text(text).unread).share        # 0.9

A text needs few marks in one place: a closing tag, a line break, a bullet. The same mark again in
the same place adds nothing, as do a tag that is closed at once ("<b></b>") and a long run of one
sign inside a line. Reasoning, other turns and what stands after the end are no markup, and cost
nothing.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from spanreward.rewards.text.filler import Filler
from spanreward.rewards.text.pieces import AFTER_END, ANSWER, OTHERS, OUTSIDE, REASONING

PADDING = "markup around nothing"  # the note of the spans
# kinds of what is not read
NO_MARKUP = frozenset((AFTER_END, ANSWER, OTHERS, OUTSIDE, REASONING))
SAME_MARKS = 3  # times that a mark may stand in one place: "</div></div></div>"
EMPTY_TAGS = 3  # that a text may have
IN_A_ROW = 8  # times that a sign, or a few signs such as "[]()", may stand in a row
MOST_MARKUP_CHARACTERS = 240  # characters of markup in one place
# A line that divides a text, or the head of a table from its rows, is one mark.
_MARK = re.compile(
    r"(?P<line>^[ \t]*+[|:=*_~+\u2500-\u257f-][ \t|:=*_~+\u2500-\u257f-]{2,80}+(?=\n|\Z))"
    r"|<[^<>]*>|&\#?\w{1,31};|[^\s<>&]+|[<>&]",
    re.MULTILINE,
)
_TAG_NAME = re.compile(r"</?[^\s<>/]*")
_RUN = re.compile(rf"([^\w\s]{{1,4}}?)\1{{{IN_A_ROW},}}+")


def find_padding(text: str, unread: Sequence[tuple[int, int, str]]) -> Filler:
    """Returns the padding of a text as it was written, as a share of its characters.

    unread: what of it is not read (`Reading.unread`). Time is linear in the text's length.
    """
    pieces: list[tuple[int, int, str]] = []
    empty_tags = 0
    for start, end in _places_of_markup(text, unread):
        counts: Counter[str] = Counter()  # of each mark in this place
        length = 0  # of the marks up to here
        opened = ""  # the mark before, if it opens a tag
        for mark in _MARK.finditer(text, start, end):
            name = _name_of(mark[0])
            counts[name] += 1
            length += len(mark[0])
            # "<b></b>": from the fourth on it counts as too many of one mark
            if opened and name == f"</{opened[1:]}":
                empty_tags += 1
                if empty_tags > EMPTY_TAGS:
                    counts[name] += SAME_MARKS
            is_opening = name.startswith("<") and not name.startswith("</")
            opened = name if is_opening else ""
            following = text[mark.end() : mark.end() + 1]
            is_line = mark["line"] is not None and following in ("", "\n")
            if counts[name] > SAME_MARKS or length > MOST_MARKUP_CHARACTERS:
                pieces.append((mark.start(), mark.end(), PADDING))
            elif not is_line:
                for run in _RUN.finditer(text, mark.start(), mark.end()):
                    few = run.start() + IN_A_ROW * len(run[1])
                    pieces.append((few, run.end(), PADDING))
    joined = _joined_pieces(text, pieces)
    characters = sum(end - start for start, end, _ in joined)
    return Filler(characters / max(len(text), 1), tuple(joined))


def _places_of_markup(
    text: str, unread: Sequence[tuple[int, int, str]]
) -> Iterator[tuple[int, int]]:
    """Yields the characters [start, end) of markup that nothing but white space divides."""
    at = reached = -1  # the place that is not finished, -1 where there is none
    for start, end, kind in unread:
        if kind in NO_MARKUP:
            continue
        if at >= 0 and not text[reached:start].strip():
            reached = end
            continue
        if at >= 0:
            yield at, reached
        at = start
        reached = end
    if at >= 0:
        yield at, reached


def _name_of(mark: str) -> str:
    """Returns what makes a mark the same as another: a tag's name, or the mark itself."""
    if mark.startswith("<") and len(mark) > 1:
        return _TAG_NAME.match(mark)[0].casefold()  # type: ignore[index]  # it matches "<"
    return mark.casefold()


def _joined_pieces(text: str, pieces: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Returns the pieces, with those joined that only white space divides."""
    joined: list[tuple[int, int, str]] = []
    for start, end, reason in pieces:
        if not joined:
            joined.append((start, end, reason))
            continue
        last_start, last_end, _ = joined[-1]
        between = text[last_end:start]
        if between.strip():
            joined.append((start, end, reason))
        else:
            joined[-1] = (last_start, end, reason)
    return joined
