"""A scene graph as PoSh asks about it: lower-cased names, distinct attributes, parents, fixed names.

view = view_graph(graph)
view.entities[0].attributes[0].text
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from rewards.language.scene_graph import CharacterSpan, Entity, SceneGraph

PART_OF = "part of"
_CONTAINS = "have has had having hold holds holding contain contains contained containing wear wears wore wearing"
CONTAINS = frozenset(_CONTAINS.split())  # case-sensitive, as published
Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class AttributeView:
    """`text` is lower-cased; `sentence` is the first sentence that says it; spans: one pair per token."""

    text: str
    sentence: int
    spans: tuple[CharacterSpan, ...]


@dataclass(frozen=True, slots=True)
class RelationView:
    """A distinct (subject, object, text); `text` keeps its case. `by_verb`: it was said with a verb."""

    subject: int
    object: int
    text: str
    sentence: int
    spans: tuple[CharacterSpan, ...]
    by_verb: bool


@dataclass(frozen=True, slots=True)
class EntityView:
    """`relations` number the view's relations this entity is part of, `parents` the entities it is a part of.

    fixed: the identifier of an entity that is never asked about (the viewer, the viewer's left and right), else None.
    """

    text: str
    heads: tuple[str, ...]
    spans: tuple[CharacterSpan, ...]
    attributes: tuple[AttributeView, ...]
    relations: tuple[int, ...]
    parents: frozenset[int]
    fixed: str | None


@dataclass(frozen=True, slots=True)
class GraphView:
    """`relations` is indexed by the graph's own numbering; None where a relation repeats an earlier one.

    namesakes: the entities of a text, but for those with a fixed name. subjects: of a relation's (text, object);
    objects: of its (text, subject).
    """

    entities: tuple[EntityView, ...]
    relations: tuple[RelationView | None, ...]
    namesakes: Mapping[str, tuple[int, ...]]
    subjects: Mapping[tuple[str, int], frozenset[int]]
    objects: Mapping[tuple[str, int], frozenset[int]]

    @property
    def countable(self) -> bool:
        """True when there is anything to ask about (viewer, left and right are no such things)."""
        return any(entity.fixed is None for entity in self.entities)

    def relation(self, number: int) -> RelationView:
        """The relation with this number. Raises ValueError for the number of a repeat."""
        relation = self.relations[number]
        if relation is None:
            raise ValueError(f"relation {number} repeats an earlier one")
        return relation


def view_graph(graph: SceneGraph) -> GraphView:
    """The graph as PoSh asks about it."""
    seen: set[tuple[int, int, str]] = set()
    relations: list[RelationView | None] = []
    listed: list[list[int]] = [[] for _ in graph.entities]
    parents: list[set[int]] = [set() for _ in graph.entities]
    for number, said in enumerate(graph.relations):
        key = (said.subject, said.object, said.relation)
        if key in seen:
            relations.append(None)
            continue
        seen.add(key)
        relations.append(
            RelationView(
                *key, min(said.sentence_idxs, default=0), tuple(sorted(said.text_spans)), said.source == "verb"
            )
        )
        for entity in {said.subject, said.object}:
            listed[entity].append(number)
        if said.relation == PART_OF:
            parents[said.subject].add(said.object)
        if said.relation in CONTAINS:
            parents[said.object].add(said.subject)
    entities = [
        EntityView(
            text=entity.head.strip().lower(),
            heads=tuple(head.strip().lower() for head in entity.heads),
            spans=tuple(sorted(entity.text_spans)),
            attributes=_attributes(entity),
            relations=tuple(listed[number]),
            parents=frozenset(parents[number]),
            fixed=_fixed(entity),
        )
        for number, entity in enumerate(graph.entities)
    ]
    distinct = [relation for relation in relations if relation is not None]
    return GraphView(
        tuple(entities),
        tuple(relations),
        {
            text: tuple(numbers)
            for text, numbers in grouped((e.text, n) for n, e in enumerate(entities) if e.fixed is None)
        },
        {end: frozenset(numbers) for end, numbers in grouped(((r.text, r.object), r.subject) for r in distinct)},
        {end: frozenset(numbers) for end, numbers in grouped(((r.text, r.subject), r.object) for r in distinct)},
    )


def grouped(pairs: Iterable[tuple[Key, int]]) -> Iterable[tuple[Key, list[int]]]:
    """The numbers by their key, in order."""
    groups: dict[Key, list[int]] = {}
    for key, number in pairs:
        groups.setdefault(key, []).append(number)
    return groups.items()


def _attributes(entity: Entity) -> tuple[AttributeView, ...]:
    """Sorted by raw text, then distinct in lower case; the first raw form gives the sentence, all forms the spans."""
    sentences: dict[str, int] = {}
    spans: dict[str, set[CharacterSpan]] = {}
    for raw in sorted(entity.attributes):
        text = raw.strip().lower()
        sentences.setdefault(text, min(entity.attribute_sentence_idxs.get(raw, ()), default=0))
        spans.setdefault(text, set()).update(entity.attribute_text_spans.get(raw, ()))
    return tuple(AttributeView(text, sentence, tuple(sorted(spans[text]))) for text, sentence in sentences.items())


def _fixed(entity: Entity) -> str | None:
    if entity.is_us:
        return "the viewer"
    if entity.is_left:
        return "our left"
    return "our right" if entity.is_right else None
