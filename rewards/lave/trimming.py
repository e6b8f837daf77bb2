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
# punctuation and markup, which alone are no answer
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
    whole = text[start:end]
    whole_start = start
    # "Sgr A*": a letter in place of the star keeps it from being cut as emphasis
    if edges.keeps_signs and whole.count("*") == 1 and _STARRED_NAME.search(whole):
        text = text.replace("*", "x")
    for _ in range(NESTED_MARKS):
        without_lead = edges.lead.sub("", text[start:end], count=1)
        start = end - len(without_lead)
        # the pattern of the tail matches reversed text, so it can begin at the text's end
        reversed_text = text[start:end][::-1]
        without_tail = edges.tail.sub("", reversed_text, count=1)
        end = start + len(without_tail)
        # "(red)" and "\text{red}": the inner text may have more marks around it
        wrapped = _WRAPPED_TEXT.match(text, start, end)
        if not wrapped:
            break
        start, end = wrapped.span(wrapped.lastindex or 0)
    # "+" or an emoji may be the whole answer
    if start == end and edges.keeps_signs and _is_signs(whole):
        start = whole_start + len(whole) - len(whole.lstrip())
        end = whole_start + len(whole.rstrip())
    return start, end


def _is_signs(text: str) -> bool:
    """Whether a text has signs that are more than punctuation, and no letters and digits: "+"."""
    signs = False
    for character in text:
        if character.isalnum():
            return False
        category = unicodedata.category(character)
        is_mark = category[0] in "PS"  # punctuation or a symbol
        if is_mark and character not in _NO_SIGNS:
            signs = True
    return signs
