"""Whom a judge favours, and which mistakes it lets pass (MLLM-as-a-Judge, section 4.6), both beside
people's judgment.

by_author(pairs, votes)
# {"gpt4": ...}: a judge that favours its own texts gives them more than people do
by_error(pairs, votes)  # {"hallucination": ...}: how often the text with that mistake was preferred
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from experiments.agreement.judging_sets import Preferred, Rated
from spanreward.rewards.comparison.resampling import Interval, ratio_interval
from spanreward.rewards.judges.judge import Failure, Rating
from spanreward.rewards.pairwise.votes import PairVotes


@dataclass(frozen=True, slots=True)
class Favour:
    """An author's mean, by the judge and by people: of shares of pairs won, ties half, or of
    ratings from 1 to 5. more: the difference, with a 95 % interval over requests.
    """

    author: str
    n: int
    judge: float
    people: float
    more: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class LetPass:
    """Of `n` pairs whose worse text has a mistake of this kind: how many the judge got right, left
    undecided, and in how many it preferred the text with the mistake, as a share with its 95 %
    interval over requests.
    """

    error: str
    n: int
    right: int
    undecided: int
    preferred: float
    interval: Interval | None


def by_author(pairs: Sequence[Preferred], votes: Sequence[PairVotes]) -> list[Favour]:
    """Over the pairs of two different authors that the judge read.

    An author without a name is nobody.
    """
    won: list[tuple[str, str, float, float]] = []
    for pair, both in zip(pairs, votes, strict=True):
        one, other = pair.authors
        if both.outcome is not None and one != other:
            won.append((one, pair.id, (1 + both.outcome) / 2, (1 + pair.people) / 2))
            won.append((other, pair.id, (1 - both.outcome) / 2, (1 - pair.people) / 2))
    return favours(won)


def by_author_of_scores(
    texts: Sequence[Rated], ratings: Sequence[Rating | Failure]
) -> list[Favour]:
    return favours(
        (text.authors[0], text.id, rating.mean, text.people)
        for text, rating in zip(texts, ratings, strict=True)
        if isinstance(rating, Rating)
    )


def favours(judged: Iterable[tuple[str, str, float, float]]) -> list[Favour]:
    """judged: author, request, and what judge and people gave."""
    of_authors: dict[str, list[tuple[str, float, float]]] = {}
    for author, request, judge, people in judged:
        if author:
            of_authors.setdefault(author, []).append((request, judge, people))
    found = []
    for author, entries in sorted(of_authors.items()):
        judge_mean = sum(judge for _, judge, _ in entries) / len(entries)
        people_mean = sum(people for *_, people in entries) / len(entries)
        interval = over_requests([(request, judge - people) for request, judge, people in entries])
        found.append(
            Favour(
                author, len(entries), judge_mean, people_mean, judge_mean - people_mean, interval
            )
        )
    return found


def by_error(pairs: Sequence[Preferred], votes: Sequence[PairVotes]) -> list[LetPass]:
    """Over the labelled pairs that the judge read; a pair with several labels counts for each."""
    outcomes: dict[str, list[tuple[str, int]]] = {}
    for pair, both in zip(pairs, votes, strict=True):
        if both.outcome is not None and pair.people:
            for error in pair.errors:
                outcomes.setdefault(error, []).append((pair.id, both.outcome * pair.people))
    return [
        LetPass(
            error,
            len(entries),
            sum(outcome > 0 for _, outcome in entries),
            sum(outcome == 0 for _, outcome in entries),
            sum(outcome < 0 for _, outcome in entries) / len(entries),
            over_requests([(request, float(outcome < 0)) for request, outcome in entries]),
        )
        for error, entries in sorted(outcomes.items(), key=lambda entry: -len(entry[1]))
    ]


def over_requests(values: Sequence[tuple[str, float]]) -> Interval | None:
    """The interval of a mean whose values belong to requests, which are drawn whole."""
    sums: dict[str, tuple[float, int]] = {}
    for request, value in values:
        total, count = sums.get(request, (0.0, 0))
        sums[request] = (total + value, count + 1)
    return ratio_interval(
        [total for total, _ in sums.values()], [count for _, count in sums.values()]
    )
