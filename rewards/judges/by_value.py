"""Answers of a judge that knows every text by one number, the higher the better: who is better, in which order, how
good. For judges without a model.

    prefer(0.7, 0.4, ("A", "B", "C"))         # all on A
    in_words(order([0.2, 0.9, 0.5]))          # "2, 3, 1"
    level(0.75)                               # 4.0
"""

from collections.abc import Sequence

from rewards.judges.judge import Rating

EQUAL = 1e-9


def prefer(first: float, second: float, scale: Sequence[str]) -> Rating:
    """All on the scale's first entry, its second, or where both are equal its third: A, B or C, a tie."""
    place = 2 if abs(first - second) < EQUAL else 0 if first > second else 1
    return Rating({entry: float(number == place) for number, entry in enumerate(scale)})


def order(values: Sequence[float]) -> list[int]:
    """Places, the best first; of equals the one shown first."""
    return sorted(range(len(values)), key=lambda place: -values[place])


def in_words(places: Sequence[int]) -> str:
    """A ranking as a RankingProbe is answered: numbers from 1."""
    return ", ".join(str(place + 1) for place in places)


def level(value: float) -> float:
    """A value in [0, 1] as one from 1 to 5."""
    return 1 + 4 * min(max(value, 0.0), 1.0)
