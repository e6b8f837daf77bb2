"""What a completion loses for filler and for unread text (PoSh's default mode).

verdict = penalise(verdict, sample, graph)            # precision, recall and F1 shrink by the share of filler
verdict = penalise_unread(verdict, sample, "f1")      # precision shrinks by the share past judged_length

A judge may read less than the judged part (rewards/text/length.py). Recall then misses the cut words of the completion,
which count as left out. Precision misses the cut words of a reference, which is not the completion's fault.
"""

from dataclasses import replace

from spanreward.rewards.base.verdict import Sample, Span, Status, Verdict
from spanreward.rewards.language.scene_graph import CharacterSpan, SceneGraph
from spanreward.rewards.posh.scores import SCORES, coarse_scores
from spanreward.rewards.text.filler import beside, find_filler, penalise_filler
from spanreward.rewards.text.length import judged_length


def penalise(verdict: Verdict, sample: Sample, graph: SceneGraph) -> Verdict:
    """Returns the verdict less its filler. Words of the completion's `graph` are filler only where they repeat."""
    found = find_filler(sample.completion, beside(sample), stated=stated(graph), misplaced=graph.misplaced)
    return penalise_filler(verdict, sample.completion, found, penalised_parts)


def stated(graph: SceneGraph) -> set[CharacterSpan]:
    """Returns the places of a graph's components, asserted or not: "a man with no hat" says something."""
    places = {*graph.unasserted, *(span for entity in graph.entities for span in entity.text_spans)}
    places |= {span for entity in graph.entities for of_one in entity.attribute_text_spans.values() for span in of_one}
    return places | {span for relation in graph.relations for span in relation.text_spans}


def penalised_parts(parts: dict[str, float], kept: float) -> dict[str, float]:
    """Returns the parts with precision, recall and F1 times `kept`. The means by kind stay the same."""
    return {part: value * kept if part in SCORES else value for part, value in parts.items()}


def penalise_unread(verdict: Verdict, sample: Sample, score: str) -> Verdict:
    """Returns the verdict on the whole completion, from the verdict on its judged part.

    Precision is multiplied by the share of the characters that were judged. The others become one span of score 0, and
    its credit is what they cost.
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
    return replace(verdict, score=parts[score], parts=parts, spans=(*verdict.spans, unread), note=note)
