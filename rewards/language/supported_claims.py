"""What a text claims of what other texts have: all but the words whose frame no such text has
(claims.py).

backed(graph, vocabulary(["There is a red circle in a corner."]))
# of "They removed a red circle": no circle
"""

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import replace

from spanreward.rewards.language.lemmas import lemma
from spanreward.rewards.language.scene_graph import CharacterSpan, SceneGraph

_WORD = re.compile("[^\\W_]+(?:['\u2019][^\\W_]+)*|[\"\u201c\u201d]")


def vocabulary(texts: Iterable[str]) -> frozenset[str]:
    """Returns the base forms of the words of these texts, and their quotation marks."""
    return frozenset(lemma(word) for text in texts for word in _WORD.findall(text.lower()))


def backed(graph: SceneGraph, known: Set[str]) -> SceneGraph:
    """Returns the graph without the words that have an unknown need.

    Its `hanging` keeps what it left out.
    """
    left_out = [
        (span, needs)
        for span, needs in graph.hanging
        if any(known.isdisjoint(need) for need in needs)
    ]
    if left_out == graph.hanging == []:
        return graph
    spans = {span for span, _ in left_out}

    def stays(said: Sequence[CharacterSpan]) -> bool:
        return not said or not spans.issuperset(said)

    kept = [number for number, entity in enumerate(graph.entities) if stays(entity.text_spans)]
    places = {number: place for place, number in enumerate(kept)}
    entities = [
        replace(
            one,
            attributes=[
                words for words in one.attributes if stays(one.attribute_text_spans.get(words, ()))
            ],
        )
        for one in (graph.entities[number] for number in kept)
    ]
    relations = [
        replace(one, subject=places[one.subject], object=places[one.object])
        for one in graph.relations
        if one.subject in places and one.object in places and stays(one.text_spans)
    ]
    return replace(graph, entities=entities, relations=relations, hanging=left_out)
