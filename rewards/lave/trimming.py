"""Cuts off the marks around an answer: white space, markup, quotes, tags and final punctuation.

    trimmed_range("**-5**.", 0, 7)        # (2, 4): "-5"

Signs with a meaning stay: a minus before a number, "*" and "+" of a name, and signs that are the
whole answer.
"""

import re
import unicodedata
from dataclasses import dataclass

NESTED_MARKS = 6  # most layers of marks around an answer
_UNICODE_PUNCTUATION = (  # punctuation outside of ASCII, with quotation marks and emoji
    "\u00a1\u00ab\u00bb\u00bf\u2016-\u2027\u2039-\u2043\u2045-\u2051\u2053-\u205e\u3000-\u3003\u3008-\u3011"
    "\u3014-\u301f\u3030\uff01\uff02\uff07-\uff09\uff0c\uff0e\uff1a\uff1b\uff1f\ufe0f\U0001f000-\U0001faff"
)
_ALL_SIGNS = (  # all marks and emoji except the minus
    "\u00a1\u00ab\u00bb\u00bf\u2010-\u205e\u2190-\u2211\u2213-\u2bff\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\ufe0f"
    "\U0001f000-\U0001faff"
)
_DASH_RANGE = "\u2010-\u2015"
_BULLET_RANGE = "\u25a0-\u27bf\u2b00-\u2bff"
_STARRED_NAME = re.compile(r"(?<!\w)\w{1,2}\*\W*\Z")  # a name that ends in a star: "Sgr A*"
# signs of punctuation and markup, which alone are no answer
_NO_SIGNS = frozenset("`~|^\"'.,;:!*_(){}[]\u2026")
_WRAPPED_TEXT = re.compile(
    r"(?:\\(?:text|math|mbox)[a-z]*\s*\{([^{}]*)\}|\"((?:[^\"\\]|\\.)*)\"|'((?:[^']|(?<=\w)'(?=\w))*)'"
    r"|\(([^()]*)\)|\[([^\[\]]*)\]|\{([^{}]*)\}|\$([^$]*)\$)\Z",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Edges:
    """The patterns for the marks that are cut off around an answer.

    Args:
        lead: matches the marks before the answer.
        tail: matches the marks after the answer, in the reversed text.
        keeps_signs: whether an answer of signs alone stays, and the star of a name.
    """

    lead: re.Pattern[str]
    tail: re.Pattern[str]
    keeps_signs: bool


DEFAULT_EDGES = Edges(
    re.compile(
        rf"(?:\s+|```\w*\n|[*_`:|{_UNICODE_PUNCTUATION}]+|~+(?!\d)|[{_DASH_RANGE}]+(?![\d.])|[{_BULLET_RANGE}]\ufe0f?(?=\s)"
        r"|(?i:assistant|model|bot):|(?:[#\u2022-]|>(?!\s*[.\d]))+\s|\\[(\[]|<[^<>\s]{1,40}>)*"
    ),
    re.compile(
        rf"(?:\s+|[*_`~.,;:!|{_UNICODE_PUNCTUATION}]+|[{_DASH_RANGE}]+(?!\w)|[)\]]\\|>[^<>\s]{{1,40}}<)*"
    ),
    keeps_signs=True,
)
PUBLISHED_EDGES = Edges(
    re.compile(
        rf"(?:\s+|```\w*\n|[*_`~:|{_ALL_SIGNS}]+|(?i:assistant|model|bot):|[#>\u2022\u2013-]+\s|\\[(\[]"
        r"|<[^<>\s]{1,40}>)*"
    ),
    re.compile(rf"(?:\s+|[*_`~.,;:!|{_ALL_SIGNS}]+|[)\]]\\|>[^<>\s]{{1,40}}<)*"),
    keeps_signs=False,
)


def trimmed_range(text: str, start: int, end: int, edges: Edges = DEFAULT_EDGES) -> tuple[int, int]:
    """Returns the range [start, end) without the marks around the answer: (2, 4), which is "-5",
    for all of "**-5**." start == end if nothing is left.

    start, end: the range in the text to trim.
    """
    untrimmed = text[start:end]
    untrimmed_start = start
    # In "Sgr A*" the star belongs to the name. A letter in its place keeps the star from being cut
    # as emphasis, and does not change the offsets.
    searched = text
    if edges.keeps_signs and untrimmed.count("*") == 1 and _STARRED_NAME.search(untrimmed):
        searched = text.replace("*", "x")
    for _ in range(NESTED_MARKS):
        lead = edges.lead.match(searched[start:end])
        if lead:
            start += lead.end()
        # the pattern of the tail is written for reversed text, in which the tail comes first
        reversed_text = searched[start:end][::-1]
        tail = edges.tail.match(reversed_text)
        if tail:
            end -= tail.end()
        # The inner text of "(red)" and of "\text{red}" may have more marks around it. It is the one
        # group of the pattern that matched.
        wrapped = _WRAPPED_TEXT.match(searched, start, end)
        if not wrapped:
            break
        number_of_group = wrapped.lastindex or 0
        start, end = wrapped.span(number_of_group)
    # if nothing is left, "+" or an emoji may be the whole answer
    if start == end and edges.keeps_signs and _is_answer_of_signs(untrimmed):
        start = untrimmed_start + len(untrimmed) - len(untrimmed.lstrip())
        end = untrimmed_start + len(untrimmed.rstrip())
    return start, end


def _is_answer_of_signs(text: str) -> bool:
    """Whether a text has no letters and digits, but a sign that may be an answer: "+", but not "."
    and "**", which are only punctuation and markup (_NO_SIGNS).
    """
    has_sign = False
    for character in text:
        if character.isalnum():
            return False
        category = unicodedata.category(character)
        is_sign = category[0] in "PS"  # Unicode's categories of punctuation and of symbols
        if is_sign and character not in _NO_SIGNS:
            has_sign = True
    return has_sign
