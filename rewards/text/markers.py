"""Which signs at the starts of lines are markup, and which stars mark words.

A sign before a line is a bullet where it says nothing: "- A kite" is an item, and so is each of
"- 5" and "- 7", but "- 5" alone is a number below zero and "> 5" one above five. A tick, a cross or
an arrow tells items apart, unless all of them have the same or it stands before a sentence. A
number counts items where the lines count on. Stars mark words in pairs: "A*" and "2**3" keep
theirs.
"""

import re
import unicodedata
from collections import Counter

# a bullet or a picture, no quotation mark
SIGN = r"[^\w\s\x00-\x7f\u201c\u201d\u201e\u00ab\u300c\u2018\u2019]{1,3}"
MARKER = (
    rf"(?:>|(?:[-*+]|{SIGN})(?=[^\S\n])|\(?\d{{1,2}}[.)](?=[^\S\n])|[\u2460-\u2473]"
    r"|\[[ x]\](?=\s)|\|)(?=[^\S\n]*\S)"
)
_MARKED_LINE = re.compile(rf"^[^\S\n]*({MARKER})", re.MULTILINE | re.IGNORECASE)
_LIST_NUMBER = re.compile(r"\(?(\d{1,2})[.)]")
_CONTENT = re.compile(r"[^\S\n]*[^\w\s$\u20ac\u00a3]?[\d$\u20ac\u00a3]")
_WHOLE_SENTENCE = re.compile(r"\S+(?:[^\S\n]++\S++){3,}+(?<=[.!?])[^\S\n]*$", re.MULTILINE)
_TELLS = re.compile(r"CHECK|CROSS|BALLOT|ARROW|THUMB|PLUS|MINUS")
_STARS = re.compile(r"(?P<blank>\n[^\S\n]*\n)|\*+")


class Markers:
    """The signs before the lines of a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.counts: Counter[str] = Counter()
        self.telling: set[str] = set()
        self.counted: dict[int, bool] = {}  # numbers before lines, and whether they count items
        last, last_start = 0, -1  # the number before a line above, and its place
        for line in _MARKED_LINE.finditer(text):
            marker = line[1]
            self.counts[marker] += 1
            listed = _LIST_NUMBER.fullmatch(marker)
            if listed is None:
                if _tells(marker):
                    self.telling.add(marker)
                continue
            number = int(listed[1])
            # Markdown counts "1. 1. 1." too
            counts_on = last_start >= 0 and number in (last, last + 1)
            if counts_on:
                self.counted[last_start] = True
            # "1. A kite", and not "1. 5 m"
            begins_list = number == 1 and not _CONTENT.match(text, line.end())
            last, last_start = number, line.start(1)
            self.counted[last_start] = counts_on or begins_list

    def is_markup(self, marker: str, start: int) -> bool:
        """Returns whether the marker at this place says nothing."""
        if start in self.counted:
            return self.counted[start]
        is_repeated = self.counts[marker] > 1
        if marker == "|":
            return is_repeated
        if _tells(marker):
            # with others it tells items apart
            if len(self.telling) != 1:
                return False
            return is_repeated or _WHOLE_SENTENCE.match(self.text, start) is not None
        # "- 5" alone is a number below zero
        return is_repeated or not _CONTENT.match(self.text, start + len(marker))


def _tells(marker: str) -> bool:
    """Returns whether the sign says something of its item, as a tick does."""
    if marker.isascii():
        return marker.startswith("[")  # "[x]"
    first = marker[0]
    if unicodedata.category(first) == "Sm":
        return True  # a sign of mathematics: "\u2192" is one to Unicode
    name = unicodedata.name(first, "")
    return _TELLS.search(name) is not None


def lone_stars(text: str) -> set[int]:
    """Returns the starts of the runs of stars that mark nothing: one star without its partner, and
    stars beside a number within a word.
    """
    lone: set[int] = set()
    # the starts of runs that wait for their partner, by the number of stars
    opened: dict[int, list[int]] = {1: [], 2: [], 3: []}
    for run in _STARS.finditer(text):
        # no pair goes over a blank line
        if run["blank"]:
            opened = {1: [], 2: [], 3: []}
            continue
        start, end = run.span()
        before = text[start - 1 : start]
        after = text[end : end + 1]
        size = min(end - start, 3)
        is_within_word = before.isalnum() and after.isalnum()
        if is_within_word and (before.isdigit() or after.isdigit()):
            lone.add(start)  # "2**3"
        elif before and not before.isspace() and opened[size]:
            lone.discard(opened[size].pop())
        else:
            if after and not after.isspace():
                opened[size].append(start)
            # lone until its partner comes
            if size == 1 or (size == 2 and is_within_word):
                lone.add(start)
    return lone
