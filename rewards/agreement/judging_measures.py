"""How far a judge agrees with people, and with itself (MLLM-as-a-Judge, sections 3.2, 4.2 and 4.6): pure functions.

    pair_accuracies([1, 0, -1], [1, 1, -1])              # 2 of 3 with ties, 2 of 2 without
    ranking_distance("ACBD", "ABCD")                     # 0.5: two of four letters are in the wrong place
    consistency([["A", "A", "B"], ["A", "B", "C"]])      # 1/2 on average, a majority in 1/2

Outcomes are 1 where the first text is better, -1 the second, 0 a tie; a judge's None is a vote that failed, and is left
out.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PairAccuracies:
    """Counts of pairs. With ties: those that both read, of which `same` have the outcome of people. Without: those that
    neither side calls a tie, of which `right` are decided as people did. None where there are none.
    """

    same: int
    read: int
    right: int
    decided: int

    @property
    def with_ties(self) -> float | None:
        return self.same / self.read if self.read else None

    @property
    def without_ties(self) -> float | None:
        return self.right / self.decided if self.decided else None


def pair_accuracies(judge: Sequence[int | None], people: Sequence[int]) -> PairAccuracies:
    """Section 3.2 and table 2. Raises ValueError where the lengths differ."""
    read = [(one, other) for one, other in zip(judge, people, strict=True) if one is not None]
    decided = [(one, other) for one, other in read if one and other]
    same = sum(one == other for one, other in read)
    return PairAccuracies(same, len(read), sum(one == other for one, other in decided), len(decided))


def ranking_distance(judge: Sequence[Hashable], people: Sequence[Hashable]) -> float:
    """The Levenshtein distance of two rankings by the length of the longer one, in [0, 1]: 0 is the same (section 3.2).

    Raises ValueError for two empty ones.
    """
    if not judge and not people:
        raise ValueError("a distance of rankings needs a ranking")
    row = list(range(len(people) + 1))
    for number, one in enumerate(judge, start=1):
        above, row[0] = row[0], number
        for place, other in enumerate(people, start=1):
            above, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, above + (one != other))
    return row[-1] / max(len(judge), len(people))


@dataclass(frozen=True, slots=True)
class Consistency:
    """Shares in [0, 1]: of a question's answers that are its most frequent one, on average; and of the questions whose
    most frequent answer is more than half of them (the majority consistency criterion, table 4).
    """

    average: float
    majority: float


def consistency(answers: Sequence[Sequence[Hashable]]) -> Consistency | None:
    """answers: of each question, asked several times. A question without answers is left out; None where all are."""
    most = [max(Counter(repeated).values()) / len(repeated) for repeated in answers if repeated]
    if not most:
        return None
    return Consistency(sum(most) / len(most), sum(share > 0.5 for share in most) / len(most))


def longer_share(outcomes: Sequence[int | None], lengths: Sequence[tuple[int, int]]) -> float | None:
    """The share, in [0, 1], of the decided pairs of different lengths that went to the longer text (section 4.6).

    A judge without a length bias has people's share of the same pairs, not one half. Raises ValueError where the
    numbers of entries differ.
    """
    longer = [
        (outcome > 0) == (first > second)
        for outcome, (first, second) in zip(outcomes, lengths, strict=True)
        if outcome and first != second
    ]
    return sum(longer) / len(longer) if longer else None
