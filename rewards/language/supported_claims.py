"""Reduces a graph to the claims that references may support. A need of a word is a set of words. A
word of the graph is removed if the references have no word of one of its needs (claims.py).

    without_unmet_needs(graph, vocabulary_of(["There is a red circle in a corner."]))
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
    """Returns the graph without the words that have an unmet need.

    A need is a set of words. The references meet the need if they have at least one of its words.
    The text "They removed a red circle" does not claim that a circle is there. So the word "circle"
    has the need {"remov"}, the base form: only a reference with "removed" supports this circle.

    `graph.hanging` has the words with needs, each with all of its needs. In the returned graph,
    `hanging` has only the removed words.

    reference_words: the result of `vocabulary_of` for the references.
    """
    if not graph.hanging:
        return graph
    removed = []
    for span, needs in graph.hanging:
        if any(reference_words.isdisjoint(need) for need in needs):
            removed.append((span, needs))
    return _without_spans(replace(graph, hanging=removed), {span for span, _ in removed})


def _without_spans(graph: SceneGraph, removed: Set[CharacterSpan]) -> SceneGraph:
    """Returns the graph without the entities, attributes and relations all of whose words are
    removed. A relation also needs both of its entities: without the word "box", the graph of "a
    circle on a box" has no relation.

    removed: the spans of the removed words.
    """
    # each remaining entity gets a new number, which the relations refer to
    new_numbers: dict[int, int] = {}  # by the old number
    entities: list[Entity] = []
    for number, entity in enumerate(graph.entities):
        if _is_removed(entity.text_spans, removed):
            continue
        attributes = []
        for attribute in entity.attributes:
            if not _is_removed(entity.attribute_text_spans.get(attribute, ()), removed):
                attributes.append(attribute)
        new_numbers[number] = len(entities)
        entities.append(replace(entity, attributes=attributes))
    relations = []
    for relation in graph.relations:
        subject = new_numbers.get(relation.subject)
        target = new_numbers.get(relation.object)
        if subject is None or target is None or _is_removed(relation.text_spans, removed):
            continue
        relations.append(replace(relation, subject=subject, object=target))
    return replace(graph, entities=entities, relations=relations)


def _is_removed(spans: Sequence[CharacterSpan], removed: Set[CharacterSpan]) -> bool:
    """Whether all words of an entity, attribute or relation are removed. One without words is never
    removed.

    spans: its words.
    """
    return bool(spans) and all(span in removed for span in spans)
