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
    return sum(ratings) / len(ratings) / LEVELS if ratings else 1.0


def f1(precision: float, recall: float) -> float:
    """Returns the harmonic mean, 0 if both are 0."""
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0


def coarse_scores(precision: float, recall: float) -> dict[str, float]:
    """Returns the SCORES by name."""
    return {"precision": precision, "recall": recall, "f1": f1(precision, recall)}


def span_score(rating: float) -> float:
    """Returns a rating of 1..5 as 0 (wrong) .. 1 (right)."""
    return min(max((rating - 1) / (LEVELS - 1), 0.0), 1.0)


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
    share = (rating / LEVELS - precision) / said_components
    if score != "f1":
        return share if score == "precision" else 0.0
    total = (precision + recall) ** 2
    recalled = (rating - 1) / LEVELS / wanted_components if wanted_components else 0.0
    return 2 * recall**2 / total * share + 2 * precision**2 / total * recalled


def penalise(verdict: Verdict, sample: Sample, graph: SceneGraph) -> Verdict:
    """Returns the verdict less its filler: precision, recall and F1 shrink, and the means by kind
    stay the same.

    Words of the completion's `graph` are filler only where they repeat.
    """
    filler = find_filler(
        sample.completion, beside(sample), stated=stated(graph), misplaced=graph.misplaced
    )
    return penalise_filler(verdict, len(sample.completion), filler, dict.fromkeys(SCORES, 0.0))


def stated(graph: SceneGraph) -> set[CharacterSpan]:
    """Returns the places of a graph's components, asserted or not: "a man with no hat" says
    something.
    """
    places = {*graph.unasserted, *(span for entity in graph.entities for span in entity.text_spans)}
    places |= {
        span
        for entity in graph.entities
        for of_one in entity.attribute_text_spans.values()
        for span in of_one
    }
    return places | {span for relation in graph.relations for span in relation.text_spans}


def penalise_unread(verdict: Verdict, sample: Sample, score: str) -> Verdict:
    """Returns the verdict on the whole completion, from the verdict on its judged part.

    Precision is multiplied by the share of the characters that were judged. The others become one
    span of score 0, and its credit is what they cost. A judge may read less than the judged part
    (rewards/text/length.py). Recall then misses the cut words of the completion, which count as
    left out. Precision misses the cut words of a reference, which is not the completion's fault.
    """
    read, total = judged_length(sample.completion), len(sample.completion)
    if total <= read or verdict.status is not Status.OK or verdict.score is None:
        return verdict
    precision = verdict.parts["precision"] * read / total
    parts = {**verdict.parts, **coarse_scores(precision, verdict.parts["recall"])}
    component = max((span.component for span in verdict.spans), default=-1) + 1
    note = f"not judged: past {read} characters"
    unread = Span(read, total, 0.0, parts[score] - verdict.score, "unread", note, component)
    note = f"only the first {read:,} of {total:,} characters of the completion are judged"
    note = f"{note}; {verdict.note}" if verdict.note else note
    return replace(
        verdict, score=parts[score], parts=parts, spans=(*verdict.spans, unread), note=note
    )
