"""Reads the rating at the end of the judge's answer (LAVE, section 4.3).

read_rating("The people say red. So rating=1")      # 1
read_rating("The rating is 3."), read_rating("3")   # 3, 3
read_rating("The people say")                       # None
score_of(2)                                         # 0.5
"""

import re

_END = r"[\s*_'\"`.!)\]]*\Z"
_RATING = re.compile(rf"rating[\s*_]*[=:][\s*_'\"`]*([123]){_END}", re.IGNORECASE)
_SAID = re.compile(rf"(\brating(?:\s+is)?\W+([123])){_END}", re.IGNORECASE)
_ALONE = re.compile(rf"(?:\A|\n)[^\w\n]*(([123])){_END}")  # [^\n] keeps many line breaks from taking quadratic time
_NEXT_EXAMPLE = re.compile(r"\n[^\S\n]*(?:Question|Image description):")


def read_rating(output: str, candidate: str = "") -> int | None:
    """Returns the rating at the end of the judge's output, or None if it ends otherwise.

    The rating is `rating=3` as in the demonstrations, "Rating 3", "The rating is 3", or a last line "3". A next example
    that the judge adds by itself is not read. candidate: as the judge saw it (`quote`). A rating without "=" or ":"
    that also occurs in the candidate may be a quotation, so it does not count.
    """
    answer = _NEXT_EXAMPLE.split(output, maxsplit=1)[0]
    signed = _RATING.search(answer)
    if signed:
        return int(signed[1])
    said = _SAID.search(answer) or _ALONE.search(answer)
    return int(said[2]) if said and plain(said[1]) not in plain(candidate) else None


def plain(text: str) -> str:
    """Returns the text's words in lower case, with single spaces between them."""
    return " ".join(re.findall(r"\w+", text.lower()))


def score_of(rating: float) -> float:
    """Returns a rating of 1..3 in [0, 1]: (r - 1) / 2."""
    return (rating - 1) / 2
