"""How far a judge agrees with people's rankings, and with itself (MLLM-as-a-Judge, sections 3.2,
4.2 and 4.6).

ranking_distance("ACBD", "ABCD")  # 0.5: two of four letters are in the wrong place
consistency([["A", "A", "B"], ["A", "B", "C"]])      # 1/2 on average, a majority in 1/2
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein


def ranking_distance(judge: Sequence[Hashable], people: Sequence[Hashable]) -> float:
    """Returns the Levenshtein distance of two rankings over the length of the longer one, in [0, 1]
    (section 3.2).

    0 means equal rankings. Raises ValueError for two empty ones.
    """
    if not judge and not people:
        raise ValueError("a distance of rankings needs a ranking")
    return Levenshtein.normalized_distance(judge, people)


@dataclass(frozen=True, slots=True)
class Consistency:
    """Shares in [0, 1] of repeated answers.

    average: of a question's answers that equal its most frequent one, the mean over questions.
    majority: of the questions where that answer is more than half of them (the majority consistency
    criterion, table 4).
    """

    average: float
    majority: float


def consistency(answers: Sequence[Sequence[Hashable]]) -> Consistency | None:
    """answers: those of each question, asked several times.

    Questions without answers are left out; None for none.
    """
    most = [max(Counter(repeated).values()) / len(repeated) for repeated in answers if repeated]
    if not most:
        return None
    return Consistency(sum(most) / len(most), sum(share > 0.5 for share in most) / len(most))


@dataclass(frozen=True, slots=True)
class ClassAgreement:
    """Means over the outcomes that people gave, each in [0, 1]. recall: of the pairs of an outcome,
    those to which the judge gave it. f1: with the precision of the judge's pairs of this outcome.
    """

    recall: float
    f1: float


def class_agreement(judge: Sequence[int | None], people: Sequence[int]) -> ClassAgreement | None:
    """Recall and F1 of pairs (section 3.2), macro averages over win, tie and loss: the paper does
    not name the average.

    judge: outcomes as those of people, None for a failed vote, which is left out. None without a
    read pair. Raises ValueError where the numbers of entries differ.
    """
    read = [(one, other) for one, other in zip(judge, people, strict=True) if one is not None]
    given = sorted({other for _, other in read})
    if not given:
        return None
    hits = {kind: sum(one == other == kind for one, other in read) for kind in given}
    of_people = {kind: sum(other == kind for _, other in read) for kind in given}
    of_both = {kind: of_people[kind] + sum(one == kind for one, _ in read) for kind in given}
    return ClassAgreement(
        recall=sum(hits[kind] / of_people[kind] for kind in given) / len(given),
        f1=sum(2 * hits[kind] / of_both[kind] for kind in given) / len(given),
    )


def mean_absolute_deviation(groups: Sequence[Sequence[float]]) -> float | None:
    """Returns how far ratings are from their group's mean, the mean over groups of two or more
    (section 4.3, appendix).

    groups: the ratings of one request's texts. None without such a group.
    """
    several = [(group, sum(group) / len(group)) for group in groups if len(group) > 1]
    if not several:
        return None
    return sum(sum(abs(one - mean) for one in group) / len(group) for group, mean in several) / len(
        several
    )


def longer_share(
    outcomes: Sequence[int | None], lengths: Sequence[tuple[int, int]]
) -> float | None:
    """Returns the share, in [0, 1], of decided pairs of different lengths that went to the longer
    text (section 4.6).

    outcomes: 1 where the first text is better, -1 the second, 0 a tie, None a failed vote. A judge
    without a length bias has people's share of the same pairs, not one half. Raises ValueError
    where the numbers of entries differ.
    """
    longer = [
        (outcome > 0) == (first > second)
        for outcome, (first, second) in zip(outcomes, lengths, strict=True)
        if outcome and first != second
    ]
    return sum(longer) / len(longer) if longer else None
