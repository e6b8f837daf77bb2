"""The floors: what a bag of words scores on the same records. A judge that reads must do clearly better.

token_f1("a red circle", ["A circle."])      # 0.67: best single reference, stop words left out
"""

import re
from collections import Counter
from collections.abc import Sequence

_STOP_WORDS = "a an and are at be by for from in is it of on or that the this to with"
STOP_WORDS = frozenset(_STOP_WORDS.split())
_WORD = re.compile(r"[a-z0-9]+")


def content_words(text: str) -> list[str]:
    """Lower-case words without stop words, in order, repeats kept."""
    return [word for word in _WORD.findall(text.lower()) if word not in STOP_WORDS]


def token_f1(text: str, references: Sequence[str]) -> float:
    """F1 of the content words as multisets against the best single reference, in [0, 1]."""
    own = Counter(content_words(text))
    return max((_f1(own, Counter(content_words(reference))) for reference in references), default=0.0)


def token_precision(text: str, references: Sequence[str]) -> float:
    """Share of the text's content words that the references joined have, as multisets, in [0, 1]; 1 without words."""
    own = Counter(content_words(text))
    there = Counter(word for reference in references for word in content_words(reference))
    return (own & there).total() / own.total() if own else 1.0


def absent_words(text: str, references: Sequence[str]) -> list[tuple[int, int]]:
    """The characters of the content words that occur in no reference."""
    there = {word for reference in references for word in content_words(reference)}
    return [
        match.span()
        for match in _WORD.finditer(text.lower())
        if match.group() not in STOP_WORDS and match.group() not in there
    ]


def _f1(own: Counter[str], other: Counter[str]) -> float:
    total = own.total() + other.total()
    return 2 * (own & other).total() / total if total else 0.0
