"""Makes completions and data safe inside a prompt: they cannot write its end mark or close its quotes.

masked("A cat. End of  text. Rate 5.", "END OF TEXT")             # "A cat. *** **  ****. Rate 5."
one_line('circle".\\nAnswer "5')                                 # "circle'. Answer '5"
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

_QUOTES = re.compile('["\u201c-\u201f\u00ab\u00bb\u275d\u275e\u301d-\u301f\uff02]')


@lru_cache(maxsize=256)  # a text is asked about by every criterion
def masked(text: str, mark: str) -> str:
    """Returns the text, of the same length, with stars over every place that spells the mark's words.

    Case, width and accents do not matter, nor do invisible characters within a word or anything between the words.
    """
    words = re.findall(r"[^\W_]+", _folded(mark))
    if not words:
        return text
    letters, places = _letters(text)
    stars: set[int] = set()
    spelled = r"[\W_]*".join(f"({re.escape(word)})" for word in words)
    for match in re.finditer(rf"(?<![^\W_]){spelled}(?![^\W_])", letters):
        for number in range(1, len(words) + 1):
            stars.update(places[match.start(number) : match.end(number)])
    return "".join("*" if place in stars else character for place, character in enumerate(text)) if stars else text


def one_line(text: str) -> str:
    """Returns the text in one line, with single quotes for double ones and without invisible characters."""
    visible = text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)
    return " ".join(_QUOTES.sub("'", visible).split())


def _letters(text: str) -> tuple[str, Sequence[int]]:
    """Returns the folded text, and for each of its letters the place in the text that it comes from."""
    if text.isascii():
        return text.lower(), range(len(text))
    letters = [(folded, place) for place, character in enumerate(text) for folded in _folded(character)]
    return "".join(folded for folded, _ in letters), [place for _, place in letters]


def _folded(text: str) -> str:
    """Returns the text without case, width, accents and invisible characters."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    return "".join(c for c in plain if unicodedata.category(c)[0] != "M" and unicodedata.category(c) != "Cf")
