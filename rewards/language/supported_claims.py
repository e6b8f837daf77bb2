"""What a text claims of what other texts have: all but the words whose frame no such text has
(claims.py).

backed(graph, vocabulary(["There is a red circle in a corner."]))
# of "They removed a red circle": no circle
"""

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import replace

from spanreward.rewards.language.lemmas import lemma
from spanreward.rewards.language.scene_graph import CharacterSpan, Entity, SceneGraph

_REFERENCE_WORD = re.compile("[^\\W_]+(?:['\u2019][^\\W_]+)*|[\"\u201c\u201d]")


def vocabulary(texts: Iterable[str]) -> frozenset[str]:
    """Returns the base forms of the words of these texts, and their quotation marks."""
    words: set[str] = set()
    for text in texts:
        words.update(map(lemma, _REFERENCE_WORD.findall(text.lower())))
    return frozenset(words)


def backed(graph: SceneGraph, reference_words: Set[str]) -> SceneGraph:
    """Returns the graph without the words that have an unknown need.

    reference_words: the words that a reference has. The graph's `hanging` keeps what it left out.
    """
    if not graph.hanging:
        return graph
    # a word is left out if one of its needs has no word that a reference has
    left_out = []
    for span, needs in graph.hanging:
        if any(reference_words.isdisjoint(need) for need in needs):
            left_out.append((span, needs))
    spans = {span for span, _ in left_out}

    def stays(text_spans: Sequence[CharacterSpan]) -> bool:
        """True where one of these words is not left out, and where there are none."""
        return not text_spans or not spans.issuperset(text_spans)

    # entities with the attributes that stay
    places: dict[int, int] = {}  # of the entities that stay, by their number before
    entities: list[Entity] = []
    for number, entity in enumerate(graph.entities):
        if not stays(entity.text_spans):
            continue
        attributes = []
        for attribute in entity.attributes:
            if stays(entity.attribute_text_spans.get(attribute, ())):
                attributes.append(attribute)
        places[number] = len(entities)
        entities.append(replace(entity, attributes=attributes))
    # a relation needs both of its entities, which may have another number now
    relations = []
    for relation in graph.relations:
        subject = places.get(relation.subject)
        target = places.get(relation.object)
        if subject is not None and target is not None and stays(relation.text_spans):
            relations.append(replace(relation, subject=subject, object=target))
    return replace(graph, entities=entities, relations=relations, hanging=left_out)
