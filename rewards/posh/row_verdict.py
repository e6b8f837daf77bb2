"""The verdict on one completion, from the judge's answers about its components.

    verdict = verdict_from_answers(sample, answers, score="f1", mode="default")
    verdict.score, verdict.parts["precision"], verdict.spans, verdict.missed

Precision is the mean rating of the completion's components, and recall that of a reference's
components, each divided by 5 (PoSh, section 3).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from spanreward.rewards.base.checks import Mode
from spanreward.rewards.base.verdict import Sample, Span, Verdict
from spanreward.rewards.posh.components import (
    RatedComponent,
    best_of,
    decided_denials,
    rated_components,
    spans_of,
    surplus_entities,
)
from spanreward.rewards.posh.row_answers import Pair, RowAnswers, note_on_cuts
from spanreward.rewards.posh.scores import (
    COMPONENT_KINDS,
    ScoreName,
    coarse_scores,
    credit_of_component,
    direction_score,
    f1,
)


@dataclass(frozen=True, slots=True)
class _RatedReference:
    """A reference after its components were looked up in the completion.

    Attributes:
        index: the reference's index in the sample.
        components: the reference's components with their ratings.
        recall: the mean rating / 5 of the components.
    """

    index: int
    components: Sequence[RatedComponent]
    recall: float


def verdict_from_answers(
    sample: Sample, answers: RowAnswers, score: ScoreName, mode: Mode
) -> Verdict:
    """Returns the verdict on a completion: its scores, its words with their credit, and the words
    of the reference that the completion leaves out.

    If the sample has several references, recall and the left out words are those of the reference
    with the best F1.

    Args:
        sample: the completion and its references.
        answers: the judge's answers, all without a failure.
        score: the name of the verdict's main score.
        mode: "default" or "published".
    """
    components = _components_of_completion(answers, mode)
    counted = [component for component in components if component.counts]
    precision = _mean_score(counted)
    reference = _best_reference(answers.pairs, precision)
    parts = coarse_scores(precision, reference.recall)
    parts |= _means_by_kind("precision", counted)
    parts |= _means_by_kind("recall", reference.components)
    credits = _credits_of(components, precision, reference, score)
    return Verdict(
        score=parts[score],
        parts=parts,
        spans=spans_of(components, credits, sample.completion),
        missed=_missed_spans(reference, sample),
        reference=reference.index,
        note=note_on_cuts(sample, answers.pairs),
    )


def _components_of_completion(answers: RowAnswers, mode: Mode) -> list[RatedComponent]:
    """Returns the completion's components, each with its best rating over all references and the
    picture, and the denials that are known to be right or wrong.

    In default mode, entities that the completion mentions too often get the rating 1.
    """
    default = mode == "default"
    # The surplus entities of the references and those of the picture are found separately. If the
    # references have one star and the picture two, a completion's second star is surplus only in
    # the references, and keeps its rating by the picture.
    groups = [answers.precision]
    if answers.picture is not None:
        groups.append([answers.picture])
    versions: list[list[RatedComponent]] = []  # all components, once for each sheet
    for sheets in groups:
        surplus: frozenset[int] = frozenset()
        if default and sheets:
            surplus = surplus_entities(sheets)
        for sheet in sheets:
            versions.append(rated_components(sheet, surplus, with_objects=default))
    denials = decided_denials(answers.precision, answers.picture)
    return best_of(versions) + denials


def _best_reference(pairs: Sequence[Pair], precision: float) -> _RatedReference:
    """Returns the reference with the best F1. Of equally good references, the first is returned.

    pairs: the answers for each reference. precision: the same for all references.
    """
    references: list[_RatedReference] = []
    for pair in pairs:
        components = rated_components(pair.recall)
        recall = _mean_score(components)
        references.append(_RatedReference(pair.reference, components, recall))
    return max(references, key=lambda reference: f1(precision, reference.recall))


def _credits_of(
    components: Sequence[RatedComponent],
    precision: float,
    reference: _RatedReference,
    score: ScoreName,
) -> list[float]:
    """Returns the credit of each of the completion's components (`credit_of_component`).

    A right component, such as "red" for a red circle, raises the score and has a positive credit. A
    wrong component lowers the score and has a negative credit. A component without a question, or
    without a weight in precision, has the credit 0.

    Args:
        components: the completion's components.
        precision: the precision of the completion.
        reference: the reference with the best F1.
        score: the name of the verdict's main score. The credits are derivatives of this score.
    """
    counted = [component for component in components if component.counts]
    credits: list[float] = []
    for component in components:
        credit = 0.0
        if component.asked and component.counts:
            credit = credit_of_component(
                component.rating,
                precision,
                reference.recall,
                completion_components=len(counted),
                reference_components=len(reference.components),
                score=score,
            )
        credits.append(credit)
    return credits


def _missed_spans(reference: _RatedReference, sample: Sample) -> tuple[Span, ...]:
    """Returns the words of a reference that the completion leaves out or states only in part.

    For the completion "A red circle." and the reference "A blue circle." this is "blue". The credit
    is 0, because left out words have no tokens in the completion.
    """
    credits = [0.0] * len(reference.components)
    spans = spans_of(reference.components, credits, sample.references[reference.index])
    return tuple(span for span in spans if span.score < 1.0)


def _mean_score(components: Sequence[RatedComponent]) -> float:
    """Returns precision or recall: the mean rating / 5 of the components."""
    return direction_score([component.rating for component in components])


def _means_by_kind(direction: str, components: Sequence[RatedComponent]) -> dict[str, float]:
    """Returns the mean rating / 5 of each kind with components: {"precision_entity": 0.8}.

    direction: "precision" or "recall".
    """
    means = {}
    for kind in COMPONENT_KINDS:
        of_kind = [component for component in components if component.kind == kind]
        if of_kind:
            means[f"{direction}_{kind}"] = _mean_score(of_kind)
    return means
