"""PoSh's formulas as pure functions of ratings, and the penalties for filler and for unread text.

A rating is the judge's mean answer to one question, from 1 to 5. Precision, recall and all other
parts of a verdict are means of rating / 5. The score of a Span is (rating - 1) / 4. Sources: PoSh,
section 3; docs/credit.md for the credit.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from spanreward.rewards.base.verdict import Sample, Span, Status, Verdict
from spanreward.rewards.language.scene_graph import CharacterSpan, SceneGraph
from spanreward.rewards.text.filler import find_filler, penalise_filler, text_beside_completion
from spanreward.rewards.text.length import judged_length

RATING_LEVELS = 5
COMPONENT_KINDS = ("entity", "attribute", "relation", "denial")
ScoreName = Literal["precision", "recall", "f1"]
SCORE_NAMES = ("precision", "recall", "f1")


def direction_score(ratings: Sequence[float]) -> float:
    """Returns precision or recall: the mean of rating / 5, in [0.2, 1].

    ratings: of all components in one direction. Without ratings the result is 1.0, as in the
    published code.
    """
    if not ratings:
        return 1.0
    return sum(ratings) / len(ratings) / RATING_LEVELS


def f1(precision: float, recall: float) -> float:
    """Returns the harmonic mean of precision and recall, or 0 if both values are 0."""
    total = precision + recall
    if not total:
        return 0.0
    return 2 * precision * recall / total


def coarse_scores(precision: float, recall: float) -> dict[str, float]:
    """Returns {"precision": ..., "recall": ..., "f1": ...}, with the names of SCORE_NAMES."""
    return {"precision": precision, "recall": recall, "f1": f1(precision, recall)}


def span_score(rating: float) -> float:
    """Maps a rating from 1 to 5 to a span's score from 0 (wrong) to 1 (right): 3 gives 0.5."""
    share = (rating - 1) / (RATING_LEVELS - 1)
    return min(max(share, 0.0), 1.0)


def credit_of_component(
    rating: float,
    precision: float,
    recall: float,
    completion_components: int,
    reference_components: int,
    score: str = "f1",
) -> float:
    """Returns the credit of one component of the completion: the derivative of the score with
    respect to how often the completion states the component.

    Args:
        rating: the component's rating, 1 to 5.
        precision, recall: P and R of the whole completion.
        completion_components: the number n of the completion's components.
        reference_components: the number m of the reference's components.
        score: the score whose derivative is wanted, one of SCORE_NAMES.

    Derivation, with s = rating / 5:

    - Suppose the completion has a further component of weight x and the same rating. Precision, a
      mean over n components, becomes (n P + x s) / (n + x). Its derivative at x = 0 is (s - P) / n.
    - An unstated component has rating 1 in recall, and a stated one s. So recall, a mean over m
      components, has the derivative (s - 1/5) / m.
    - The chain rule over F1 = 2 P R / (P + R) gives
          credit = 2 R^2 / (P + R)^2 * (s - P) / n + 2 P^2 / (P + R)^2 * (s - 1/5) / m

    For score "precision" the credit is (s - P) / n. For score "recall" the credit is 0.
    """
    # the derivatives of precision and recall with respect to x
    of_precision = (rating / RATING_LEVELS - precision) / completion_components
    if score == "precision":
        return of_precision
    if score != "f1":
        return 0.0
    of_recall = 0.0
    if reference_components:
        of_recall = (rating - 1) / RATING_LEVELS / reference_components
    # the derivatives of F1 with respect to precision and recall
    total = (precision + recall) ** 2
    by_precision = 2 * recall**2 / total
    by_recall = 2 * precision**2 / total
    return by_precision * of_precision + by_recall * of_recall


def penalise_scores(verdict: Verdict, sample: Sample, graph: SceneGraph) -> Verdict:
    """Returns the verdict with precision, recall and F1 reduced by the share of filler. The means
    by kind, such as "precision_entity", stay the same.

    Words that name a component count as filler only if the completion repeats these words.

    Args:
        sample: the sample of the verdict.
        graph: the scene graph of the completion.
    """
    filler = find_filler(
        sample.completion,
        text_beside_completion(sample),
        stated=stated_ranges(graph),
        misplaced=graph.misplaced,
    )
    lowest = dict.fromkeys(SCORE_NAMES, 0.0)
    return penalise_filler(verdict, len(sample.completion), filler, lowest)


def stated_ranges(graph: SceneGraph) -> set[CharacterSpan]:
    """Returns the characters [start, end) of all words that name a component of the graph.

    Words that the text denies count too: "a man with no hat" says something about a hat.
    """
    places = set(graph.unasserted)  # words that the text denies, doubts or asks about
    for entity in graph.entities:
        places.update(entity.text_spans)
        for spans in entity.attribute_text_spans.values():
            places.update(spans)
    for relation in graph.relations:
        places.update(relation.text_spans)
    return places


def penalise_unread(verdict: Verdict, sample: Sample, score: str) -> Verdict:
    """Returns the verdict on the whole completion, given the verdict on the judged part.

    The judged part is the beginning of the completion, up to a length limit
    (rewards/text/length.py). Precision is multiplied by the share of the completion's characters in
    the judged part. The characters after the judged part become one span of score 0. The credit of
    this span is the new score minus the old score.

    A judge with a short context may read even less than the judged part, but no further penalty is
    added here. Components in an unread end of the completion already lower recall. An unread end of
    a reference is not the completion's fault.

    Args:
        sample: the sample with the whole completion.
        score: the name of the main score, one of SCORE_NAMES.
    """
    read = judged_length(sample.completion)
    total = len(sample.completion)
    if total <= read:
        return verdict
    # a failed or empty verdict has no precision to lower
    if verdict.status is not Status.OK or verdict.score is None:
        return verdict
    precision = verdict.parts["precision"] * read / total
    parts = {**verdict.parts, **coarse_scores(precision, verdict.parts["recall"])}
    unread = _unread_span(verdict, read, total, credit=parts[score] - verdict.score)
    note = f"only the first {read:,} of {total:,} characters of the completion are judged"
    if verdict.note:
        note = f"{note}; {verdict.note}"
    spans = (*verdict.spans, unread)
    return replace(verdict, score=parts[score], parts=parts, spans=spans, note=note)


def _unread_span(verdict: Verdict, read: int, total: int, credit: float) -> Span:
    """Returns the span of a completion's characters [read, total), which were not judged."""
    # The span gets a new component number. Otherwise other words would share the span's credit.
    components = [span.component for span in verdict.spans]
    return Span(
        start=read,
        end=total,
        score=0.0,
        credit=credit,
        kind="unread",
        note=f"not judged: past {read} characters",
        component=max(components, default=-1) + 1,
    )
