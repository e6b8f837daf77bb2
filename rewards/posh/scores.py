"""PoSh's formulas, as pure functions of ratings (PoSh, section 3; credit: docs/credit.md), and what
filler costs.

Ratings are expectations on 1..5. Precision, recall and all parts are rating / 5; a Span's score is
(rating - 1) / 4.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from spanreward.rewards.base.verdict import Sample, Span, Status, Verdict
from spanreward.rewards.language.scene_graph import CharacterSpan, SceneGraph
from spanreward.rewards.text.filler import beside, find_filler, penalise_filler
from spanreward.rewards.text.length import judged_length

LEVELS = 5
KINDS = ("entity", "attribute", "relation", "denial")
Score = Literal["precision", "recall", "f1"]
SCORES = ("precision", "recall", "f1")


def direction_score(ratings: Sequence[float]) -> float:
    """Returns precision or recall: the mean rating / 5, in [0.2, 1].

    Without ratings it is 1.0 as published.
    """
    if not ratings:
        return 1.0
    return sum(ratings) / len(ratings) / LEVELS


def f1(precision: float, recall: float) -> float:
    """Returns the harmonic mean, 0 if both are 0."""
    total = precision + recall
    if not total:
        return 0.0
    return 2 * precision * recall / total


def coarse_scores(precision: float, recall: float) -> dict[str, float]:
    """Returns the SCORES by name."""
    return {"precision": precision, "recall": recall, "f1": f1(precision, recall)}


def span_score(rating: float) -> float:
    """Returns a rating of 1..5 as 0 (wrong) .. 1 (right)."""
    share = (rating - 1) / (LEVELS - 1)
    return min(max(share, 0.0), 1.0)


def credit(
    rating: float,
    precision: float,
    recall: float,
    said_components: int,
    wanted_components: int,
    score: str = "f1",
) -> float:
    """Returns what one component of the completion adds to the score: the score's derivative, in
    the score's unit.

    said_components: the number n of the completion's components. wanted_components: the number m
    of the reference's.

    Suppose a fraction x of the component is said once more. With s = rating / 5, precision becomes
    (n P + x s) / (n + x). Its derivative at x = 0 is (s - P) / n. Recall gains (s - 1/5) / m,
    because what is not said is rated 1. The chain rule over F1 = 2 P R / (P + R) gives
        credit = 2 R^2 / (P + R)^2 * (s - P) / n + 2 P^2 / (P + R)^2 * (s - 1/5) / m
    For score "precision" the credit is (s - P) / n, and for "recall" it is 0.
    """
    # what it adds to precision, and to recall
    of_precision = (rating / LEVELS - precision) / said_components
    if score == "precision":
        return of_precision
    if score != "f1":
        return 0.0
    of_recall = 0.0
    if wanted_components:
        of_recall = (rating - 1) / LEVELS / wanted_components
    # the derivatives of F1 by precision and by recall
    total = (precision + recall) ** 2
    by_precision = 2 * recall**2 / total
    by_recall = 2 * precision**2 / total
    return by_precision * of_precision + by_recall * of_recall


def penalise(verdict: Verdict, sample: Sample, graph: SceneGraph) -> Verdict:
    """Returns the verdict less its filler: precision, recall and F1 shrink, and the means by kind
    stay the same.

    Words of the completion's `graph` are filler only where they repeat.
    """
    filler = find_filler(
        sample.completion,
        beside(sample),
        stated=stated(graph),
        misplaced=graph.misplaced,
    )
    lowest = dict.fromkeys(SCORES, 0.0)
    return penalise_filler(verdict, len(sample.completion), filler, lowest)


def stated(graph: SceneGraph) -> set[CharacterSpan]:
    """Returns the places of a graph's components, asserted or not: "a man with no hat" says
    something.
    """
    places = set(graph.unasserted)  # what is denied is said too
    for entity in graph.entities:
        places.update(entity.text_spans)
        for spans in entity.attribute_text_spans.values():
            places.update(spans)
    for relation in graph.relations:
        places.update(relation.text_spans)
    return places


def penalise_unread(verdict: Verdict, sample: Sample, score: str) -> Verdict:
    """Returns the verdict on the whole completion, from the verdict on its judged part.

    Precision is multiplied by the share of the characters that were judged. The others become one
    span of score 0, and its credit is what they cost. A judge may read less than the judged part
    (rewards/text/length.py). Recall then misses the cut words of the completion, which count as
    left out. Precision misses the cut words of a reference, which is not the completion's fault.
    """
    read = judged_length(sample.completion)
    total = len(sample.completion)
    if total <= read:
        return verdict
    if verdict.status is not Status.OK or verdict.score is None:
        return verdict
    recall = verdict.parts["recall"]
    precision = verdict.parts["precision"] * read / total
    parts = {**verdict.parts, **coarse_scores(precision, recall)}
    # a component of its own, so that its credit is shared with no other words
    components = [span.component for span in verdict.spans]
    unread = Span(
        start=read,
        end=total,
        score=0.0,
        credit=parts[score] - verdict.score,
        kind="unread",
        note=f"not judged: past {read} characters",
        component=max(components, default=-1) + 1,
    )
    note = f"only the first {read:,} of {total:,} characters of the completion are judged"
    if verdict.note:
        note = f"{note}; {verdict.note}"
    spans = (*verdict.spans, unread)
    return replace(verdict, score=parts[score], parts=parts, spans=spans, note=note)
