"""Decides which signs at the starts of lines are markup, and which stars mark words.

- A sign at the start of a line is markup if the sign is a bullet. In "- A kite" the dash is a
  bullet. In the two lines "- 5" and "- 7" the dashes are bullets, too. But "- 5" alone is a number
  below zero, and "> 5" alone is a number above five.
- Ticks, crosses and arrows are content if the lines of a text have different signs. If all lines
  have the same sign, or if a whole sentence follows, the sign is markup.
- A number is markup if the numbers of the lines count on: "1.", "2.", "3.".
- Stars are markup in pairs: "*red*". The stars of "A*" and "2**3" are content.
"""

import re
import unicodedata
from collections import Counter

# one to three signs outside ASCII, such as a bullet or an emoji, but no quotation marks
MARKER_SIGN = r"[^\w\s\x00-\x7f\u201c\u201d\u201e\u00ab\u300c\u2018\u2019]{1,3}"
LINE_MARKER = (
    rf"(?:>|(?:[-*+]|{MARKER_SIGN})(?=[^\S\n])|\(?\d{{1,2}}[.)](?=[^\S\n])|[\u2460-\u2473]"
    r"|\[[ x]\](?=\s)|\|)(?=[^\S\n]*\S)"
)
_MARKED_LINE = re.compile(rf"^[^\S\n]*({LINE_MARKER})", re.MULTILINE | re.IGNORECASE)
_LIST_NUMBER = re.compile(r"\(?(\d{1,2})[.)]")
_NUMBER_CONTENT = re.compile(r"[^\S\n]*[^\w\s$\u20ac\u00a3]?[\d$\u20ac\u00a3]")
_WHOLE_SENTENCE = re.compile(r"\S+(?:[^\S\n]++\S++){3,}+(?<=[.!?])[^\S\n]*$", re.MULTILINE)
_TELLS = re.compile(r"CHECK|CROSS|BALLOT|ARROW|THUMB|PLUS|MINUS")
_STARS_OR_BLANK = re.compile(r"(?P<blank>\n[^\S\n]*\n)|\*+")


class Markers:
    """The markers of a text: signs and numbers at the starts of its lines, such as "-" and "1."."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.counts: Counter[str] = Counter()  # how many lines have each marker
        self.content_signs: set[str] = set()  # the different ticks, crosses and arrows
        # for the offset of each number: whether the number counts the items of a list
        self.counts_items: dict[int, bool] = {}
        self._last_number: tuple[int, int] | None = None  # the last number and its offset
        for line in _MARKED_LINE.finditer(text):
            marker = line[1]
            self.counts[marker] += 1
            listed = _LIST_NUMBER.fullmatch(marker)
            if listed is not None:
                self._add_number(int(listed[1]), line)
            elif _may_be_content(marker):
                self.content_signs.add(marker)

    def _add_number(self, number: int, line: re.Match[str]) -> None:
        """Notes whether a number at the start of a line counts the items of a list. In "1. A kite"
        and "2. A dog" on the next line both numbers do.

        line: a match of `_MARKED_LINE`.
        """
        counts_on = False
        if self._last_number is not None:
            last, last_start = self._last_number
            # Markdown also numbers the items of a list "1. 1. 1."
            counts_on = number in (last, last + 1)
            if counts_on:
                self.counts_items[last_start] = True
        # "1. A kite" begins a list, "1. 5 m" does not
        begins_list = number == 1 and not _NUMBER_CONTENT.match(self.text, line.end())
        self.counts_items[line.start(1)] = counts_on or begins_list
        self._last_number = (number, line.start(1))

    def is_markup(self, marker: str, start: int) -> bool:
        """Returns whether the marker at the offset `start` is markup, not content.

        marker: a sign or number at the start of a line, such as "-" or "1.".
        """
        # a number is markup if it counts the items of a list
        if start in self.counts_items:
            return self.counts_items[start]
        is_repeated = self.counts[marker] > 1
        # a table has several lines that start with "|"
        if marker == "|":
            return is_repeated
        if _may_be_content(marker):
            # different ticks and crosses are content
            if len(self.content_signs) != 1:
                return False
            return is_repeated or _WHOLE_SENTENCE.match(self.text, start) is not None
        # "- 5" alone is a number below zero
        return is_repeated or not _NUMBER_CONTENT.match(self.text, start + len(marker))


def _may_be_content(marker: str) -> bool:
    """Returns whether the marker may be content about its item: True for a tick, a cross and an
    arrow, False for a bullet ("\u2022").
    """
    if marker.isascii():
        return marker.startswith("[")  # "[x]"
    first = marker[0]
    if unicodedata.category(first) == "Sm":
        return True  # Unicode's category of mathematical signs, which includes the arrow "\u2192"
    name = unicodedata.name(first, "")
    return _TELLS.search(name) is not None


def lone_stars(text: str) -> set[int]:
    """Returns the offsets of the runs of stars that are content, not markup: 1 for "A* and **b**".

    A run of stars is content in three cases: stars beside a digit within a word ("2**3"), a single
    star without a partner ("A*"), and two stars within a word without a partner ("x**y").
    """
    lone: set[int] = set()
    # the offsets of the runs that have no partner yet, by the number of stars
    opened: dict[int, list[int]] = {1: [], 2: [], 3: []}
    for run in _STARS_OR_BLANK.finditer(text):
        # a blank line ends all open pairs
        if run["blank"]:
            opened = {1: [], 2: [], 3: []}
            continue
        start, end = run.span()
        before = text[start - 1 : start]
        after = text[end : end + 1]
        size = min(end - start, 3)
        is_within_word = before.isalnum() and after.isalnum()
        is_operator = is_within_word and (before.isdigit() or after.isdigit())  # "2**3"
        may_close = bool(before) and not before.isspace()
        may_open = bool(after) and not after.isspace()
        if is_operator:
            lone.add(start)
            continue
        if may_close and opened[size]:
            lone.discard(opened[size].pop())  # this run closes a pair, and both runs are markup
            continue
        if may_open:
            opened[size].append(start)
        # the run counts as content until its partner is found
        if size == 1 or (size == 2 and is_within_word):
            lone.add(start)
    return lone
