"""Turns scores of texts (higher is better) into answers: a preference, a ranking, a level. For
judges without a model.

prefer(0.7, 0.4, ("A", "B", "C"))         # all on A
in_words(order([0.2, 0.9, 0.5]))          # "2, 3, 1"
rating_of(level(0.75), RATING_SCALE)      # all on "4"
"""

from collections.abc import Sequence

from spanreward.rewards.judges.judge import Rating

EQUAL = 1e-9


def prefer(first: float, second: float, scale: Sequence[str]) -> Rating:
    """Puts all probability on one entry of the scale: the first or second for the better text, the
    third for a tie.
    """
    place = 2 if abs(first - second) < EQUAL else 0 if first > second else 1
    return Rating({entry: float(number == place) for number, entry in enumerate(scale)})


def order(values: Sequence[float]) -> list[int]:
    """Indices of the values, the best first. Equal values keep their order."""
    return sorted(range(len(values)), key=lambda place: -values[place])


def in_words(places: Sequence[int]) -> str:
    """The answer to a RankingProbe: the texts' numbers, from 1."""
    return ", ".join(str(place + 1) for place in places)


def level(value: float) -> float:
    """Maps a value in [0, 1] to the scale from 1 to 5."""
    return 1 + 4 * min(max(value, 0.0), 1.0)
