"""Finds padding: useless markup without text in between, such as "<br><br><br><br>". Markup is not
judged. Without a penalty for padding, a policy could write markup without end.

    text = "A red circle." + "<br>" * 60
    find_padding(text, read_text(text).unread).share        # 0.9

A "place" of markup is a row of marks that only white space divides. An honest text has few marks in
one place: a closing tag, a line break, a bullet. Padding is one of these:

- the same mark more than SAME_MARKS times in one place,
- a tag that is closed at once ("<b></b>"), more than EMPTY_TAGS times in a text,
- one sign more than IN_A_ROW times in a row inside a line,
- marks past MOST_MARKUP_CHARACTERS in one place.

Reasoning, turns of other speakers and text after the end are no markup, so they cost nothing.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from spanreward.rewards.text.filler import Filler
from spanreward.rewards.text.pieces import AFTER_END, ANSWER, OTHERS, OUTSIDE, REASONING

PADDING_NOTE = "markup around nothing"  # the note of the verdict's spans
# kinds of unread characters that are no markup
NO_MARKUP = frozenset((AFTER_END, ANSWER, OTHERS, OUTSIDE, REASONING))
SAME_MARKS = 3  # allowed repeats of a mark in one place: "</div></div></div>"
EMPTY_TAGS = 3  # allowed empty tags ("<b></b>") of a text
IN_A_ROW = 8  # allowed repeats in a row of a sign, or of up to four signs such as "[]()"
MOST_MARKUP_CHARACTERS = 240  # allowed characters of markup in one place
# One mark: a line of signs (a divider, or the line below the head of a table), a tag, an entity, or
# a run of other signs.
_REPEATED_MARK = re.compile(
    r"(?P<line>^[ \t]*+[|:=*_~+\u2500-\u257f-][ \t|:=*_~+\u2500-\u257f-]{2,80}+(?=\n|\Z))"
    r"|<[^<>]*>|&\#?\w{1,31};|[^\s<>&]+|[<>&]",
    re.MULTILINE,
)
_TAG_NAME = re.compile(r"</?[^\s<>/]*")
_REPEATED_SIGN = re.compile(rf"([^\w\s]{{1,4}}?)\1{{{IN_A_ROW},}}+")


def find_padding(text: str, unread: Sequence[tuple[int, int, str]]) -> Filler:
    """Returns the padding of a text, in time linear in the text's length.

    text: the completion as written. unread: the (start, end, kind) of the characters that are not
    read (`Reading.unread`).
    """
    finder = _PaddingFinder(text)
    pieces: list[tuple[int, int, str]] = []
    for start, end in _places_of_markup(text, unread):
        pieces += finder.padding_of_place(start, end)
    joined = _joined_pieces(text, pieces)
    characters = sum(end - start for start, end, _ in joined)
    return Filler(characters / max(len(text), 1), tuple(joined))


class _PaddingFinder:
    """Finds the padding of a text, place by place.

    Attributes:
        empty_tags: the number of empty tags ("<b></b>") of the text so far.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.empty_tags = 0

    def padding_of_place(self, start: int, end: int) -> Iterator[tuple[int, int, str]]:
        """Yields the padding among the characters [start, end), which are one place of markup. Of
        "<br><br><br><br>" the fourth tag is padding.
        """
        # marks are counted by name: the tags <b> and </b> have the names "<b" and "</b"
        counts: Counter[str] = Counter()  # how often each name occurs in this place
        excess_names: set[str] = set()  # names whose further marks in this place are padding
        length = 0  # characters of the marks so far
        opened = ""  # the name of the last mark if it is an opening tag, else ""
        for mark in _REPEATED_MARK.finditer(self.text, start, end):
            name = _name_of(mark[0])
            counts[name] += 1
            length += len(mark[0])
            is_closed_at_once = opened and name == opened.replace("<", "</", 1)
            if is_closed_at_once:
                self.empty_tags += 1
                # from the fourth empty tag of the text on
                if self.empty_tags > EMPTY_TAGS:
                    excess_names.add(name)
            is_opening = name.startswith("<") and not name.startswith("</")
            opened = name if is_opening else ""
            is_too_frequent = counts[name] > SAME_MARKS or name in excess_names
            if is_too_frequent or length > MOST_MARKUP_CHARACTERS:
                yield mark.start(), mark.end(), PADDING_NOTE
            else:
                yield from _long_runs(mark)


def _long_runs(mark: re.Match[str]) -> Iterator[tuple[int, int, str]]:
    """Yields the padding within one mark: the signs after the first IN_A_ROW of a run. A line of
    signs, such as a divider, has none.

    mark: a match of `_REPEATED_MARK`.
    """
    text = mark.string
    following = text[mark.end() : mark.end() + 1]
    if mark["line"] is not None and following in ("", "\n"):
        return
    for run in _REPEATED_SIGN.finditer(text, mark.start(), mark.end()):
        free_end = run.start() + IN_A_ROW * len(run[1])
        yield free_end, run.end(), PADDING_NOTE


def _places_of_markup(
    text: str, unread: Sequence[tuple[int, int, str]]
) -> Iterator[tuple[int, int]]:
    """Yields the start and end of each place with markup. Pieces of markup with only white space
    between them, such as "<br> <br>", are in one place.

    unread: the (start, end, kind) of the characters that are not read, in order. Some kinds, such
    as reasoning, are no markup.
    """
    at = reached = -1  # start and end of the current place, -1 before the first place
    for start, end, kind in unread:
        if kind in NO_MARKUP:
            continue
        is_first = at < 0
        if not is_first and not text[reached:start].strip():
            reached = end  # only white space lies between: the place goes on
            continue
        if not is_first:
            yield at, reached
        at = start
        reached = end
    if at >= 0:
        yield at, reached


def _name_of(mark: str) -> str:
    """Returns the name by which marks are compared: `'<b class="x">'` gives `"<b"`.

    The name of a mark that is no tag is the mark in lower case.
    """
    if mark.startswith("<") and len(mark) > 1:
        return _TAG_NAME.match(mark)[0].casefold()  # type: ignore[index]  # it matches "<"
    return mark.casefold()


def _joined_pieces(text: str, pieces: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Returns the pieces, in which pieces with only white space between are joined to one: the two
    pieces of "<br> <br>" become one.
    """
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
