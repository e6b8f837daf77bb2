"""The rating at the end of what the judge wrote, and what it is worth (LAVE, section 4.3).

read_rating("The people say red. So rating=1")      # 1
read_rating("The people say")                       # None: cut, or no rating
score_of(2)                                         # 0.5
"""

import re

_RATING = re.compile(r"rating[\s*_]*[=:][\s*_'\"`]*([123])[\s*_'\"`.!)\]]*\Z", re.IGNORECASE)
_NEXT_EXAMPLE = re.compile(r"\n\s*(?:Question|Image description):")


def read_rating(output: str) -> int | None:
    """The rating that ends the judge's output; None where it does not end in one, whatever stands before.

    Of several the last counts. What a judge adds by going on to a next example of its own is not read.
    """
    own = _NEXT_EXAMPLE.split(output, maxsplit=1)[0]
    found = _RATING.search(own)
    return int(found[1]) if found else None


def score_of(rating: float) -> float:
    """(r - 1) / 2: a rating on 1..3 in [0, 1]."""
    return (rating - 1) / 2
