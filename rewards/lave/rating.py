"""The rating at the end of what the judge wrote, and what it is worth (LAVE, section 4.3).

read_rating("The people say red. So rating=1")      # 1
read_rating("The rating is 3."), read_rating("3")   # 3, 3
read_rating("The people say")                       # None: cut, or no rating
score_of(2)                                         # 0.5
"""

import re

_END = r"[\s*_'\"`.!)\]]*\Z"
_RATING = re.compile(rf"rating[\s*_]*[=:][\s*_'\"`]*([123]){_END}", re.IGNORECASE)
_SAID = re.compile(rf"(\brating(?:\s+is)?\W+([123])){_END}", re.IGNORECASE)
_ALONE = re.compile(rf"(?:\A|\n)[^\w\n]*(([123])){_END}")  # within one line, else each of many line breaks looks on
_NEXT_EXAMPLE = re.compile(r"\n[^\S\n]*(?:Question|Image description):")


def read_rating(output: str, candidate: str = "") -> int | None:
    """The rating that ends the judge's output; None where it does not end in one, whatever stands before.

    It is written `rating=3` as in the demonstrations, or "Rating 3", "The rating is 3", or as a last line "3"; of
    several the last counts. What a judge adds by going on to a next example of its own is not read.

    candidate: as the judge was shown it (`quote`). A rating without a sign that stands in it may be a quotation, and is
    none.
    """
    own = _NEXT_EXAMPLE.split(output, maxsplit=1)[0]
    signed = _RATING.search(own)
    if signed:
        return int(signed[1])
    said = _SAID.search(own) or _ALONE.search(own)
    return int(said[2]) if said and plain(said[1]) not in plain(candidate) else None


def plain(text: str) -> str:
    """Its letters and digits in lower case, with single spaces between."""
    return " ".join(re.findall(r"\w+", text.lower()))


def score_of(rating: float) -> float:
    """(r - 1) / 2: a rating on 1..3 in [0, 1]."""
    return (rating - 1) / 2
