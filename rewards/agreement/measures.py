"""What a table measures of a record: a list of items, and a statistic over the items of many records.

    measure = Measure("overall: tau-c", ratings("overall", mean=False), statistic_of(kendall_tau_c))
    measure.statistic([item for record, verdicts in judged for item in measure.items(record, verdicts)])

A metric is measured by the part of its verdict that a criterion is about, and where it has none by its score: PoSh's
precision stands beside people's mistakes, BLEU has one score for everything.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rewards.agreement.answers import RIGHT_ABOVE, cohen_kappa
from rewards.agreement.correlation_test import quality_of_votes
from rewards.agreement.pair_statistics import best_against_others, predicted_signs
from rewards.agreement.records import CharacterSpans, Record
from rewards.agreement.span_statistics import best_macro_f1, word_flags, word_scores
from rewards.agreement.statistics import auroc, pair_accuracy
from rewards.comparison.ratings import Pair, elo
from rewards.verdict import Span, Verdict

# The parts of a verdict that are about a criterion, the first that it has; without any, its score.
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

Items = Callable[[Record, Sequence[Verdict]], list[Any]]
Statistic = Callable[[Sequence[Any]], float]
OfTwo = Callable[[Sequence[float], Sequence[float]], float]


@dataclass(frozen=True, slots=True)
class Measure:
    """items: of one record and the verdicts on its texts, [] where people did not judge this. statistic: over items."""

    name: str
    items: Items
    statistic: Statistic


def value_of(verdict: Verdict, criterion: str) -> float:
    """What the metric says by this criterion. Raises ValueError for a verdict without a score."""
    if verdict.score is None:
        raise ValueError(f"a verdict of status {verdict.status} has no score")
    return next((verdict.parts[part] for part in PARTS[criterion] if part in verdict.parts), verdict.score)


def statistic_of(of: OfTwo) -> Statistic:
    """A statistic of the metric's numbers and people's, over items that are pairs of these."""
    return lambda items: of([ours for ours, _ in items], [people for _, people in items])


def ratings(criterion: str, mean: bool) -> Items:
    """(the metric's number, people's): one item for the mean of people's ratings, or one for each."""

    def items(record: Record, verdicts: Sequence[Verdict]) -> list[tuple[float, float]]:
        given = record.ratings.get(criterion, ())
        if mean and given:
            given = (sum(given) / len(given),)
        return [(value_of(verdicts[0], criterion), rating) for rating in given]

    return items


def answer_quality(record: Record, verdicts: Sequence[Verdict]) -> list[tuple[float, float]]:
    """(the metric's score, 1, .5 or 0): people's as it stands, or made of five votes (LAVE, section 5.2)."""
    given = record.ratings.get("quality", ())
    if not given:
        return []
    try:
        quality = given[0] if len(given) == 1 else quality_of_votes(given)
    except ValueError as error:
        raise ValueError(f"{record.where}: {error}.") from None
    return [(value_of(verdicts[0], "quality"), quality)]


def pairs(criterion: str) -> Items:
    """(the metric's difference between two texts, people's)."""

    def items(record: Record, verdicts: Sequence[Verdict]) -> list[tuple[float, float]]:
        if criterion not in record.preferences:
            return []
        first, second = (value_of(verdict, criterion) for verdict in verdicts)
        return [(first - second, record.preferences[criterion])]

    return items


def pair_choice(items: Sequence[tuple[float, float]]) -> float:
    """The share of pairs whose better text scores higher, equal scores half; people's ties are left out."""
    decided = [(ours if people > 0 else -ours, 0.0) for ours, people in items if people]
    return pair_accuracy([ours for ours, _ in decided], [zero for _, zero in decided]).accuracy


def accuracy_of_best() -> Measure:
    """The share of pairs, one of them the best of its record to a person, in which it scores higher, equal scores half.

    HarmonicEval, sections 3.2, 4.1 and D.3, table 2.
    """

    def items(record: Record, verdicts: Sequence[Verdict]) -> list[tuple[float, float]]:
        scores = [value_of(verdict, "overall") for verdict in verdicts]
        return [pair for vote in record.best for pair in best_against_others(scores, vote)]

    return Measure("pair accuracy", items, statistic_of(lambda best, others: pair_accuracy(best, others).accuracy))


def alarms() -> tuple[Measure, Measure]:
    """PoSh, table 2: how well the words with low span scores are those that people marked, at the best threshold."""

    def mistakes(record: Record, verdicts: Sequence[Verdict]) -> list[tuple[float, bool]]:
        verdict = verdicts[0]
        return marked(record.samples[0].completion, record.mistakes, verdict.spans) if points(verdict) else []

    def omissions(record: Record, verdicts: Sequence[Verdict]) -> list[tuple[float, bool]]:
        verdict = verdicts[0]
        if not points(verdict) or verdict.reference or not record.samples[0].references:  # people marked the first one
            return []
        return marked(record.samples[0].references[0], record.omissions, verdict.missed)

    statistic = statistic_of(lambda scores, flags: best_macro_f1(scores, [bool(flag) for flag in flags]))
    return Measure("mistakes: macro F1", mistakes, statistic), Measure("omissions: macro F1", omissions, statistic)


def points(verdict: Verdict) -> bool:
    """Whether the verdict says which words it is about."""
    return bool(verdict.spans or verdict.missed)


def marked(text: str, people: CharacterSpans | None, spans: Sequence[Span]) -> list[tuple[float, bool]]:
    """(the metric's score, people's flag) per word; [] where the file does not say what people marked."""
    if people is None:
        return []
    scores = word_scores(text, [(span.start, span.end, span.score) for span in spans])
    return list(zip(scores, word_flags(text, people), strict=True))


def model_ranking(name: str, of: OfTwo) -> Measure:
    """The correlation between models' Elo ratings from the metric's choices and from people's.

    PoSh, section 5 (CapArena): "between ELO rankings derived from metric predictions and gold judgments". The metric's
    ties are tuned to people's share of ties, as for its accuracy; ratings are updated in the records' order.
    """

    def items(record: Record, verdicts: Sequence[Verdict]) -> list[tuple[float, float, str, str]]:
        if len(record.systems) != 2 or record.systems[0] == record.systems[1]:
            return []
        return [(*pair, *record.systems) for pair in pairs("overall")(record, verdicts)]

    def statistic(found: Sequence[tuple[float, float, str, str]]) -> float:
        gold = [(people > 0) - (people < 0) for _, people, _, _ in found]
        ours = predicted_signs([difference for difference, *_ in found], gold.count(0) / len(gold))
        ratings = [
            elo([Pair(one, other, int(sign)) for sign, (_, _, one, other) in zip(signs, found, strict=True)])
            for signs in (ours, gold)
        ]
        return of([ratings[0][model] for model in ratings[1]], list(ratings[1].values()))

    return Measure(f"models: {name}", items, statistic)


def area(criterion: str) -> Measure:
    """The chance that a text which people call right by this criterion scores above one that they do not."""
    statistic = statistic_of(lambda scores, people: auroc(scores, [rating > RIGHT_ABOVE for rating in people]))
    return Measure(f"{criterion}: AUROC", ratings(criterion, mean=True), statistic)


def agreement_at_half() -> Measure:
    """The share of answers that both people and the metric, above one half, call right, or both call wrong."""

    def agreement(scores: Sequence[float], people: Sequence[float]) -> float:
        return sum((s > RIGHT_ABOVE) == (p > RIGHT_ABOVE) for s, p in zip(scores, people, strict=True)) / len(scores)

    return Measure("agreement", ratings("quality", mean=True), statistic_of(agreement))


def kappa_at_half() -> Measure:
    """Cohen's kappa of the same."""

    def kappa(scores: Sequence[float], people: Sequence[float]) -> float:
        return cohen_kappa([s > RIGHT_ABOVE for s in scores], [p > RIGHT_ABOVE for p in people])

    return Measure("Cohen's kappa", ratings("quality", mean=True), statistic_of(kappa))
