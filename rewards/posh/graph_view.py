"""A scene graph in the form that PoSh asks about: names in lower case, distinct attributes, the
wholes of each part, and fixed names for the viewer and the sides of the view.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from spanreward.rewards.language.scene_graph import PART_OF, CharacterSpan, Entity, SceneGraph
from spanreward.rewards.language.words import word_set

CONTAINER_WORDS = word_set(  # case-sensitive, as published
    "have has had having hold holds holding contain contains contained containing wear wears wore "
    "wearing"
)


@dataclass(frozen=True, slots=True)
class AttributeView:
    """An attribute of an entity.

    Attributes:
        text: the attribute in lower case.
        sentence: the number of the first sentence with the attribute.
        spans: one pair (start, end) per token.
    """

    text: str
    sentence: int
    spans: tuple[CharacterSpan, ...]


@dataclass(frozen=True, slots=True)
class RelationView:
    """A relation between two entities. No other relation has the same subject, object and text.

    Attributes:
        number: the relation's place in the graph.
        subject, object: the numbers of the entities.
        text: the relation as it was written, such as "above". Upper case stays.
        sentence: the number of the first sentence with the relation.
        spans: one pair (start, end) per token.
        by_verb: whether a verb states the relation ("holds").
    """

    number: int
    subject: int
    object: int
    text: str
    sentence: int
    spans: tuple[CharacterSpan, ...]
    by_verb: bool


@dataclass(frozen=True, slots=True)
class EntityView:
    """An entity, such as "dog".

    Attributes:
        text: the name at the first mention, in lower case.
        heads: the name at every mention, in lower case.
        spans: one pair (start, end) per token of every mention.
        attributes: distinct attributes.
        relations: all relations with this entity as subject or object.
        parents: the numbers of the wholes that this entity is part of.
        fixed: the identifier of an entity that is never asked about: "the viewer", "our left" or
            "our right". None for all other entities.
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
    """A scene graph, prepared for questions.

    Attributes:
        entities: in the order of the graph.
        relations: in the order of the graph, without relations that repeat an earlier relation.
        namesakes: the numbers of the entities with each text, without entities with a fixed name.
            Empty if the text names nothing.
        subjects: the subjects of each (relation text, object).
        objects: the objects of each (relation text, subject).
    """

    entities: tuple[EntityView, ...]
    relations: tuple[RelationView, ...]
    namesakes: Mapping[str, Sequence[int]]
    subjects: Mapping[tuple[str, int], Set[int]]
    objects: Mapping[tuple[str, int], Set[int]]


def view_graph(graph: SceneGraph) -> GraphView:
    """Returns the graph in the form that PoSh asks about. Entities and relations keep their
    numbers.
    """
    relations = _distinct_relations(graph)
    relations_of = _relations_of_entities(graph, relations)
    wholes_of = _wholes_of_entities(graph, relations)
    entities: list[EntityView] = []
    namesakes: dict[str, list[int]] = defaultdict(list)
    for number, entity in enumerate(graph.entities):
        view = EntityView(
            text=entity.head.strip().lower(),
            heads=tuple(head.strip().lower() for head in entity.heads),
            spans=tuple(sorted(entity.text_spans)),
            attributes=_distinct_attributes(entity),
            relations=tuple(relations_of[number]),
            parents=frozenset(wholes_of[number]),
            fixed=_fixed_identifier(entity),
        )
        entities.append(view)
        if view.fixed is None:
            namesakes[view.text].append(number)
    subjects: dict[tuple[str, int], set[int]] = defaultdict(set)
    objects: dict[tuple[str, int], set[int]] = defaultdict(set)
    for relation in relations:
        subjects[relation.text, relation.object].add(relation.subject)
        objects[relation.text, relation.subject].add(relation.object)
    return GraphView(tuple(entities), relations, namesakes, subjects, objects)


def _relations_of_entities(
    graph: SceneGraph, relations: Sequence[RelationView]
) -> list[list[RelationView]]:
    """Returns for each entity of the graph the relations with this entity as subject or object."""
    relations_of: list[list[RelationView]] = [[] for _ in graph.entities]
    for relation in relations:
        # a set, so that a relation of an entity to itself is added once
        for number in {relation.subject, relation.object}:
            relations_of[number].append(relation)
    return relations_of


def _wholes_of_entities(graph: SceneGraph, relations: Sequence[RelationView]) -> list[set[int]]:
    """Returns for each entity of the graph the wholes that the entity is part of, by their numbers.

    The hat is part of the man in "the hat of the man" and in "the man wears a hat".
    """
    wholes: list[set[int]] = [set() for _ in graph.entities]
    for relation in relations:
        if relation.text == PART_OF:
            wholes[relation.subject].add(relation.object)
        if relation.text in CONTAINER_WORDS:
            wholes[relation.object].add(relation.subject)
    return wholes


def _distinct_relations(graph: SceneGraph) -> tuple[RelationView, ...]:
    """Returns the graph's relations in order, without relations that repeat the subject, object and
    text of an earlier relation.
    """
    distinct: dict[tuple[int, int, str], RelationView] = {}
    for number, relation in enumerate(graph.relations):
        key = (relation.subject, relation.object, relation.relation)
        if key not in distinct:
            distinct[key] = RelationView(
                number=number,
                subject=relation.subject,
                object=relation.object,
                text=relation.relation,
                sentence=min(relation.sentence_idxs, default=0),
                spans=tuple(sorted(relation.text_spans)),
                by_verb=relation.source == "verb",
            )
    return tuple(distinct.values())


def _distinct_attributes(entity: Entity) -> tuple[AttributeView, ...]:
    """Returns the entity's distinct attributes in lower case: "Red" and "red" are one attribute.

    The sentence of an attribute is the sentence of the form that sorts first, here "Red".
    """
    sentences: dict[str, int] = {}
    spans: dict[str, set[CharacterSpan]] = {}
    # the order of the published code: "Red" sorts before "red"
    for raw in sorted(entity.attributes):
        text = raw.strip().lower()
        sentence_numbers = entity.attribute_sentence_idxs.get(raw, ())
        sentences.setdefault(text, min(sentence_numbers, default=0))
        # collect the words of all forms, "Red" and "red"
        raw_spans = entity.attribute_text_spans.get(raw, ())
        spans.setdefault(text, set()).update(raw_spans)
    views = []
    for text, sentence in sentences.items():
        sorted_spans = tuple(sorted(spans[text]))
        views.append(AttributeView(text, sentence, sorted_spans))
    return tuple(views)


def _fixed_identifier(entity: Entity) -> str | None:
    """Returns the published identifier of the viewer or a side of the view, None for other
    entities.

    The order of the tests follows the published code. In a text with "our right" and without "our
    left", its parser marks "our right" as both left and right, and it asks about "our left".
    """
    if entity.is_us:
        return "the viewer"
    if entity.is_left:
        return "our left"
    if entity.is_right:
        return "our right"
    return None
