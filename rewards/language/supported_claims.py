"""Reduces a graph to the claims that references may support. A need of a word is a set of words. A
word of the graph is removed if the references have no word of one of its needs (claims.py).

    without_unmet_needs(graph, vocabulary(["There is a red circle in a corner."]))
    # of "They removed a red circle": no circle, because the reference has no "removed"
"""

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import replace

from spanreward.rewards.language.lemmas import lemma_of_word
from spanreward.rewards.language.scene_graph import CharacterSpan, Entity, SceneGraph

_REFERENCE_WORD = re.compile("[^\\W_]+(?:['\u2019][^\\W_]+)*|[\"\u201c\u201d]")


def vocabulary_of(texts: Iterable[str]) -> frozenset[str]:
    """Returns the base forms of all words of these texts, and the quotation marks in the texts."""
    words: set[str] = set()
    for text in texts:
        words.update(map(lemma_of_word, _REFERENCE_WORD.findall(text.lower())))
    return frozenset(words)


def without_unmet_needs(graph: SceneGraph, reference_words: Set[str]) -> SceneGraph:
    """Returns the graph without the words that have an unmet need: a set of words of which no
    reference has one.

    reference_words: the result of `vocabulary_of` for the references.

    In the returned graph, `hanging` has the removed words.
    """
    if not graph.hanging:
        return graph
    # a word is left out if no reference has a word of one of its needs
    left_out = []
    for span, needs in graph.hanging:
        if any(reference_words.isdisjoint(need) for need in needs):
            left_out.append((span, needs))
    spans = {span for span, _ in left_out}

    def stays(text_spans: Sequence[CharacterSpan]) -> bool:
        """Whether at least one of these words is not removed. True without words."""
        return not text_spans or not spans.issuperset(text_spans)

    # entities with the attributes that stay
    places: dict[int, int] = {}  # from the old number of an entity that stays to its new number
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
    # a relation stays if both of its entities stay; the numbers of entities may change
    relations = []
    for relation in graph.relations:
        subject = places.get(relation.subject)
        target = places.get(relation.object)
        if subject is not None and target is not None and stays(relation.text_spans):
            relations.append(replace(relation, subject=subject, object=target))
    return replace(graph, entities=entities, relations=relations, hanging=left_out)
