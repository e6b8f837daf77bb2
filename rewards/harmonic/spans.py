"""What each sentence is worth, from ratings: pure functions. The spans of one text, in order; one component each.

    sentence_spans(places, whole, ratings, adds)      # every sentence rated in its place between the others
    ablation_spans(places, whole, others)             # every sentence left out, what is left rated anew

Credit is meant as score - score without the sentence, in the unit of the score, 0 to 1. "ablation"
measures it. "sentences" estimates it with the text's own weights w, for fewer questions about no other text: of m, the
sentence's rating, M, the text's, and n sentences,

    w (m - mean of m) / (n - 1) / 4         for criteria in which a text is as good as its sentences are on average
    w (M - 1) (m - 1) / sum(m - 1) / 4      for criteria to which sentences add up (completeness)

the former is what the average loses with the sentence, the latter the sentence's share of what the text has achieved. A
text of one sentence is nothing without it, and nothing scores 0: its credit is the whole score, either way.
"""

from collections.abc import Mapping, Sequence, Set
from itertools import pairwise

from rewards.harmonic.scores import Aggregate, overall, unit
from rewards.verdict import Span

Place = tuple[int, int]
MOST_SENTENCES = 32


def at_most(places: Sequence[Place], most: int = MOST_SENTENCES) -> list[Place]:
    """Sentences, or that many runs of neighbouring ones: what an endless text costs has an end."""
    if len(places) <= most:
        return list(places)
    cuts = [number * len(places) // most for number in range(most + 1)]
    return [(places[first][0], places[last - 1][1]) for first, last in pairwise(cuts)]


def without(text: str, places: Sequence[Place], number: int) -> str:
    """The text without one of its sentences and the white space after it."""
    if number + 1 < len(places):
        return text[: places[number][0]] + text[places[number + 1][0] :]
    return text[: places[number][0]].rstrip()


def sentence_spans(
    places: Sequence[Place], whole: Aggregate, ratings: Sequence[Mapping[str, float]], adds: Set[str]
) -> tuple[Span, ...]:
    """ratings: per sentence the mean rating, 1 to 5, in each criterion; adds: the criteria that sentences add up to.

    A span's score is that of the sentence for itself: it leaves those criteria out, unless there are no others. Its
    kind is the criterion that its credit comes from most.
    """
    if len(places) <= 1:
        return tuple(_only(place, whole) for place in places)
    moves = sentence_credit(whole, ratings, adds)
    own = {c: w for c, w in whole.weights.items() if c not in adds} or whole.weights
    total = sum(own.values())
    spans = []
    for number, (place, means, moved) in enumerate(zip(places, ratings, moves, strict=True)):
        level = overall({c: means[c] for c in own}, {c: w / total for c, w in own.items()}) if total else 1.0
        spans.append(_span(place, unit(level), sum(moved.values()), moved, _rated(means), number))
    return tuple(spans)


def sentence_credit(whole: Aggregate, ratings: Sequence[Mapping[str, float]], adds: Set[str]) -> list[dict[str, float]]:
    """What each sentence moves the score by, through each criterion; see the module's docstring."""
    count = len(ratings)
    moves: list[dict[str, float]] = [{} for _ in ratings]
    for criterion, weight in whole.weights.items():
        own = [means[criterion] for means in ratings]
        achieved, average = sum(m - 1 for m in own), sum(own) / count
        for moved, m in zip(moves, own, strict=True):
            if criterion in adds:
                share = (whole.means[criterion] - 1) * (m - 1) / achieved if achieved else 0.0
            else:
                share = (m - average) / (count - 1)
            moved[criterion] = weight * share / 4
    return moves


def ablation_spans(places: Sequence[Place], whole: Aggregate, others: Sequence[Aggregate]) -> tuple[Span, ...]:
    """others: per sentence the aggregate of the text without it; of a text of one sentence none are needed.

    A span's score is (1 + credit) / 2: above a half where the text is better with the sentence. Its kind is the
    criterion that the sentence moved most, by the text's own weights.
    """
    if len(places) <= 1:
        return tuple(_only(place, whole) for place in places)
    spans = []
    for number, (place, other) in enumerate(zip(places, others, strict=True)):
        credit = unit(whole.overall) - unit(other.overall)  # the weights of both texts are their own
        moved = {c: w * (whole.means[c] - other.means[c]) / 4 for c, w in whole.weights.items()}
        spans.append(_span(place, (1 + credit) / 2, credit, moved, f"without it {_rated(other.means)}", number))
    return tuple(spans)


def charged_parts(parts: Mapping[str, float], kept: float) -> dict[str, float]:
    """The ratings among the parts, 1 to 5, with as much of their distance from 1 as is kept."""
    rated = {"overall", *(part.removeprefix("weight_") for part in parts if part.startswith("weight_"))}
    return {part: 1 + (value - 1) * kept if part in rated else value for part, value in parts.items()}


def _only(place: Place, whole: Aggregate) -> Span:
    """The one sentence of a text: the text's own ratings, all of its score."""
    score = unit(whole.overall)
    moved = {c: w * unit(whole.means[c]) for c, w in whole.weights.items()}
    return _span(place, score, score, moved, _rated(whole.means), 0)


def _span(place: Place, score: float, credit: float, moved: Mapping[str, float], note: str, number: int) -> Span:
    """moved: by criterion, of which the one furthest from 0 is the span's kind (of equals the first)."""
    kind = max(moved, key=lambda criterion: abs(moved[criterion]))
    return Span(*place, min(max(score, 0.0), 1.0), credit, kind, note, number)


def _rated(means: Mapping[str, float]) -> str:
    return ", ".join(f"{criterion} {rating:.1f}" for criterion, rating in means.items()) + " of 5"
