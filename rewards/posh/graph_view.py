"""A scene graph in the form that PoSh asks about: lower-case names, distinct attributes, parents,
fixed names.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from spanreward.rewards.language.scene_graph import PART_OF, CharacterSpan, Entity, SceneGraph
from spanreward.rewards.language.words import word_set

CONTAINS = word_set(  # case-sensitive, as published
    "have has had having hold holds holding contain contains contained containing wear wears wore "
    "wearing"
)


@dataclass(frozen=True, slots=True)
class AttributeView:
    """text: in lower case. sentence: the first sentence with it. spans: one pair per token."""

    text: str
    sentence: int
    spans: tuple[CharacterSpan, ...]


@dataclass(frozen=True, slots=True)
class RelationView:
    """A distinct (subject, object, text). number: its place in the graph. text keeps its case."""

    number: int
    subject: int
    object: int
    text: str
    sentence: int
    spans: tuple[CharacterSpan, ...]
    by_verb: bool


@dataclass(frozen=True, slots=True)
class EntityView:
    """parents: the entities that it is part of.

    fixed: the identifier of an entity that is never asked about (the viewer, the viewer's left and
    right), else None.
    """

    text: str
    heads: tuple[str, ...]
    spans: tuple[CharacterSpan, ...]
    attributes: tuple[AttributeView, ...]
    relations: tuple[RelationView, ...]
    parents: frozenset[int]
    fixed: str | None


@dataclass(frozen=True, slots=True)
class GraphView:
    """relations: in the graph's order, without those that repeat an earlier one.

    namesakes: entities by text, without those with a fixed name; empty if the text names nothing.
    subjects: by a relation's (text, object). objects: by a relation's (text, subject).
    """

    entities: tuple[EntityView, ...]
    relations: tuple[RelationView, ...]
    namesakes: Mapping[str, Sequence[int]]
    subjects: Mapping[tuple[str, int], Set[int]]
    objects: Mapping[tuple[str, int], Set[int]]


def view_graph(graph: SceneGraph) -> GraphView:
    """Returns the view of a graph. Entities and relations keep their numbers."""
    # a relation that repeats an earlier one is none of its own
    distinct: dict[tuple[int, int, str], RelationView] = {}
    for number, written in enumerate(graph.relations):
        key = (written.subject, written.object, written.relation)
        if key in distinct:
            continue
        distinct[key] = RelationView(
            number=number,
            subject=written.subject,
            object=written.object,
            text=written.relation,
            sentence=min(written.sentence_idxs, default=0),
            spans=tuple(sorted(written.text_spans)),
            by_verb=written.source == "verb",
        )
    # who is related to whom
    relations_of: list[list[RelationView]] = [[] for _ in graph.entities]
    parents: list[set[int]] = [set() for _ in graph.entities]
    subjects: dict[tuple[str, int], set[int]] = defaultdict(set)
    objects: dict[tuple[str, int], set[int]] = defaultdict(set)
    for relation in distinct.values():
        subjects[relation.text, relation.object].add(relation.subject)
        objects[relation.text, relation.subject].add(relation.object)
        # a set: a relation of an entity to itself is there once
        for number in {relation.subject, relation.object}:
            relations_of[number].append(relation)
        # "the hat of the man", and "the man wears a hat"
        if relation.text == PART_OF:
            parents[relation.subject].add(relation.object)
        if relation.text in CONTAINS:
            parents[relation.object].add(relation.subject)
    # the entities, and by their name those that could be taken for each other
    entities: list[EntityView] = []
    namesakes: dict[str, list[int]] = defaultdict(list)
    for number, entity in enumerate(graph.entities):
        view = EntityView(
            text=entity.head.strip().lower(),
            heads=tuple(head.strip().lower() for head in entity.heads),
            spans=tuple(sorted(entity.text_spans)),
            attributes=_attributes(entity),
            relations=tuple(relations_of[number]),
            parents=frozenset(parents[number]),
            fixed=_fixed(entity),
        )
        entities.append(view)
        if view.fixed is None:
            namesakes[view.text].append(number)
    relations = tuple(distinct.values())
    return GraphView(tuple(entities), relations, namesakes, subjects, objects)


def _attributes(entity: Entity) -> tuple[AttributeView, ...]:
    """Returns the attributes, distinct in lower case.

    The first form as written, by order, gives the sentence.
    """
    sentences: dict[str, int] = {}
    spans: dict[str, set[CharacterSpan]] = {}
    # sorted as published: of "Red" and "red" the upper-case one is first
    for raw in sorted(entity.attributes):
        text = raw.strip().lower()
        sentence_numbers = entity.attribute_sentence_idxs.get(raw, ())
        sentences.setdefault(text, min(sentence_numbers, default=0))
        # the words of all forms, "Red" and "red"
        raw_spans = entity.attribute_text_spans.get(raw, ())
        spans.setdefault(text, set()).update(raw_spans)
    views = []
    for text, sentence in sentences.items():
        sorted_spans = tuple(sorted(spans[text]))
        views.append(AttributeView(text, sentence, sorted_spans))
    return tuple(views)


def _fixed(entity: Entity) -> str | None:
    """Returns the published identifier of an entity that has a fixed one, else None.

    "Our left" comes first: where a text has no "our left", its "our right" is marked as both.
    """
    if entity.is_us:
        return "the viewer"
    if entity.is_left:
        return "our left"
    if entity.is_right:
        return "our right"
    return None
