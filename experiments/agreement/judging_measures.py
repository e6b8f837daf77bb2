"""How far a judge agrees with people's rankings, and with itself (MLLM-as-a-Judge, sections 3.2, 4.2 and 4.6).

ranking_distance("ACBD", "ABCD")                     # 0.5: two of four letters are in the wrong place
consistency([["A", "A", "B"], ["A", "B", "C"]])      # 1/2 on average, a majority in 1/2
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein


def ranking_distance(judge: Sequence[Hashable], people: Sequence[Hashable]) -> float:
    """Returns the Levenshtein distance of two rankings over the length of the longer one, in [0, 1] (section 3.2).

    0 means equal rankings. Raises ValueError for two empty ones.
    """
    if not judge and not people:
        raise ValueError("a distance of rankings needs a ranking")
    return Levenshtein.normalized_distance(judge, people)


@dataclass(frozen=True, slots=True)
class Consistency:
    """Shares in [0, 1] of repeated answers.

    average: of a question's answers that equal its most frequent one, the mean over questions. majority: of the
    questions where that answer is more than half of them (the majority consistency criterion, table 4).
    """

    average: float
    majority: float


def consistency(answers: Sequence[Sequence[Hashable]]) -> Consistency | None:
    """answers: those of each question, asked several times. Questions without answers are left out; None for none."""
    most = [max(Counter(repeated).values()) / len(repeated) for repeated in answers if repeated]
    if not most:
        return None
    return Consistency(sum(most) / len(most), sum(share > 0.5 for share in most) / len(most))


def longer_share(outcomes: Sequence[int | None], lengths: Sequence[tuple[int, int]]) -> float | None:
    """Returns the share, in [0, 1], of decided pairs of different lengths that went to the longer text (section 4.6).

    outcomes: 1 where the first text is better, -1 the second, 0 a tie, None a failed vote. A judge without a length
    bias has people's share of the same pairs, not one half. Raises ValueError where the numbers of entries differ.
    """
    longer = [
        (outcome > 0) == (first > second)
        for outcome, (first, second) in zip(outcomes, lengths, strict=True)
        if outcome and first != second
    ]
    return sum(longer) / len(longer) if longer else None
