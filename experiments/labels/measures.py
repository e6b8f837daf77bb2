"""What a table measures: a list of items per record, and a statistic over the items of many
records.

    measure = Measure("overall: tau-c", ratings("overall", mean=False), statistic_of(kendall_tau_c))
    measure.statistic([item for record, verdicts in judged for item in measure.items(record, verdicts)])

A criterion is compared with the part of the metric's verdict that is about it, else with the
verdict's score: people's mistakes with PoSh's precision, and any criterion with the only score of a
metric without parts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.labels.elo import median_elo
from experiments.labels.judgments import Judgment
from experiments.labels.pair_statistics import best_against_others, predicted_signs
from experiments.labels.span_statistics import (
    best_macro_f1,
    token_flags,
    token_places,
    token_scores,
)
from experiments.labels.statistics import pair_accuracy
from spanreward.rewards.base.verdict import Span, Verdict
from spanreward.rewards.comparison.ratings import Pair
from spanreward.training.data.marks import CharacterSpans

# By criterion, the parts of a verdict that are about it: the first that the verdict has counts,
# else its score.
PARTS = {
    "overall": ("overall", "f1"),
    "mistakes": ("precision", "correctness"),
    "omissions": ("recall", "completeness"),
    "correctness": ("correctness", "precision"),
    "completeness": ("completeness", "recall"),
    "clarity": ("clarity",),
    "fluency": ("fluency",),
    "conciseness": ("conciseness",),
    "quality": (),
}
CERTAIN, DOUBTFUL = 4, 2  # people of five who call an answer right: quality 1, quality .5

Items = Callable[[Judgment, Sequence[Verdict]], list[Any]]
Statistic = Callable[[Sequence[Any]], float]
OfTwo = Callable[[Sequence[float], Sequence[float]], float]


@dataclass(frozen=True, slots=True)
class Measure:
    """items: of one record and its texts' verdicts, [] where people did not judge this. statistic:
    over items. whole: whether it is of all records only, and has no interval, because it resamples
    by itself.
    """

    name: str
    items: Items
    statistic: Statistic
    whole: bool = False


def value_of(verdict: Verdict, criterion: str) -> float:
    """Returns the metric's value for this criterion.

    Raises ValueError for a verdict without a score.
    """
    if verdict.score is None:
        raise ValueError(f"a verdict of status {verdict.status} has no score")
    return next(
        (verdict.parts[part] for part in PARTS[criterion] if part in verdict.parts), verdict.score
    )


def statistic_of(of: OfTwo) -> Statistic:
    """Returns a statistic over items that are pairs of the metric's number and people's."""
    return lambda items: of([ours for ours, _ in items], [people for _, people in items])


def ratings(criterion: str, mean: bool) -> Items:
    """Items (the metric's number, people's): one for the mean of people's ratings, or one for
    each.
    """

    def items(record: Judgment, verdicts: Sequence[Verdict]) -> list[tuple[float, float]]:
        given = record.ratings.get(criterion, ())
        if mean and given:
            given = (sum(given) / len(given),)
        return [(value_of(verdicts[0], criterion), rating) for rating in given]

    return items


def quality_of_votes(votes: Sequence[float]) -> float:
    """Returns 1 where at least four of five people call an answer right, .5 for two or three, else
    0 (LAVE, 5.2). Raises ValueError for another number of votes, and for votes that are not 0 or 1.
    """
    if len(votes) != 5 or any(vote not in (0, 1) for vote in votes):
        raise ValueError(f"an answer's quality is made of five votes of 0 or 1, got {list(votes)}")
    return 1.0 if sum(votes) >= CERTAIN else 0.5 if sum(votes) >= DOUBTFUL else 0.0


def answer_quality(record: Judgment, verdicts: Sequence[Verdict]) -> list[tuple[float, float]]:
    """Items (the metric's score, people's quality): as it stands, or made of five votes (LAVE,
    section 5.2).
    """
    given = record.ratings.get("quality", ())
    if not given:
        return []
    try:
        quality = given[0] if len(given) == 1 else quality_of_votes(given)
    except ValueError as error:
        raise ValueError(f"{record.where}: {error}.") from None
    return [(value_of(verdicts[0], "quality"), quality)]


def pairs(criterion: str) -> Items:
    """Items (the metric's difference between two texts, people's)."""

    def items(record: Judgment, verdicts: Sequence[Verdict]) -> list[tuple[float, float]]:
        if criterion not in record.preferences:
            return []
        first, second = (value_of(verdict, criterion) for verdict in verdicts)
        return [(first - second, record.preferences[criterion])]

    return items


def pair_choice(items: Sequence[tuple[float, float]]) -> float:
    """Returns the share of pairs whose better text scores higher, equal scores half; people's ties
    are left out.
    """
    decided = [(ours if people > 0 else -ours, 0.0) for ours, people in items if people]
    return pair_accuracy([ours for ours, _ in decided], [zero for _, zero in decided])


def accuracy_of_best() -> Measure:
    """The share of pairs of a person's best text and another in which the best scores higher, equal
    scores half. HarmonicEval, sections 3.2, 4.1 and D.3, table 2.
    """

    def items(record: Judgment, verdicts: Sequence[Verdict]) -> list[tuple[float, float]]:
        scores = [value_of(verdict, "overall") for verdict in verdicts]
        return [pair for vote in record.best for pair in best_against_others(scores, vote)]

    return Measure("pair accuracy", items, statistic_of(pair_accuracy))


def alarms() -> tuple[Measure, Measure]:
    """Macro F1 of low-scoring tokens against people's marks, best threshold: mistakes, omissions
    (PoSh, table 2).
    """

    def mistakes(record: Judgment, verdicts: Sequence[Verdict]) -> list[tuple[float, bool]]:
        return (
            marked(record.samples[0].completion, record.mistakes, verdicts[0].spans)
            if points(verdicts[0])
            else []
        )

    def omissions(record: Judgment, verdicts: Sequence[Verdict]) -> list[tuple[float, bool]]:
        verdict = verdicts[0]
        # people marked the first one
        if not points(verdict) or verdict.reference or not record.samples[0].references:
            return []
        return marked(record.samples[0].references[0], record.omissions, verdict.missed)

    statistic = statistic_of(
        lambda scores, flags: best_macro_f1(scores, [bool(flag) for flag in flags])
    )
    return Measure("mistakes: macro F1", mistakes, statistic), Measure(
        "omissions: macro F1", omissions, statistic
    )


def points(verdict: Verdict) -> bool:
    """Whether the metric says which words are wrong or missing."""
    return bool(verdict.spans or verdict.missed)


def marked(
    text: str, people: CharacterSpans | None, spans: Sequence[Span]
) -> list[tuple[float, bool]]:
    """Returns (the metric's score, people's flag) per token; [] where the file does not say what
    people marked.
    """
    if people is None:
        return []
    places = token_places(text)
    scores = token_scores(places, [(span.start, span.end, span.score) for span in spans])
    return list(zip(scores, token_flags(places, people), strict=True))


def model_ranking(name: str, of: OfTwo) -> Measure:
    """The correlation between models' Elo ratings from the metric's choices and from people's.
    PoSh, section 5 (CapArena): "between ELO rankings derived from metric predictions and gold
    judgments". The metric's ties have the threshold of its accuracy. Both sides are resampled
    alike.
    """

    def items(record: Judgment, verdicts: Sequence[Verdict]) -> list[tuple[float, float, str, str]]:
        if len(record.systems) != 2 or record.systems[0] == record.systems[1]:
            return []
        return [(*pair, *record.systems) for pair in pairs("overall")(record, verdicts)]

    def statistic(found: Sequence[tuple[float, float, str, str]]) -> float:
        gold = [(people > 0) - (people < 0) for _, people, _, _ in found]
        ours = predicted_signs([difference for difference, *_ in found], gold.count(0))
        ratings = [
            median_elo(
                [
                    Pair(one, other, int(sign))
                    for sign, (_, _, one, other) in zip(signs, found, strict=True)
                ]
            )
            for signs in (ours, gold)
        ]
        return of([ratings[0][model] for model in ratings[1]], list(ratings[1].values()))

    return Measure(f"models: {name}", items, statistic, whole=True)
