"""What filler costs a completion under PoSh's default mode: precision, recall and their F-scores shrink alike.

    verdict = charge(verdict, sample, graph)
    verdict.parts["filler"], verdict.score         # 0.61, 0.39 of what it was

An F-score of two numbers that shrink by one factor shrinks by that factor, so score and parts go on agreeing.
"""

from rewards.filler import beside, charge_filler, find_filler
from rewards.language.scene_graph import CharacterSpan, SceneGraph
from rewards.posh.scores import F_SCORE
from rewards.verdict import Sample, Verdict


def charge(verdict: Verdict, sample: Sample, graph: SceneGraph) -> Verdict:
    """graph: the completion's. What stands in it is asked about and no filler, unless it is said over and over."""
    found = find_filler(sample.completion, beside(sample), stated=stated(graph), misplaced=graph.misplaced)
    return charge_filler(verdict, sample.completion, found, charged)


def stated(graph: SceneGraph) -> set[CharacterSpan]:
    """The words of the text that a graph's entities, attributes and relations are made of, or would be made of if they
    were asserted: "a man with no hat" says something.
    """
    places = {*graph.unasserted, *(span for entity in graph.entities for span in entity.text_spans)}
    places |= {span for entity in graph.entities for of_one in entity.attribute_text_spans.values() for span in of_one}
    return places | {span for relation in graph.relations for span in relation.text_spans}


def charged(parts: dict[str, float], kept: float) -> dict[str, float]:
    """The whole text's scores shrink; the mean ratings of its entities, attributes and relations stay what they are."""
    whole = {part for part in parts if part in ("precision", "recall") or F_SCORE.fullmatch(part)}
    return {part: value * kept if part in whole else value for part, value in parts.items()}
