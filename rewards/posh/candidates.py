"""The names under which an entity may be asked about, simplest first.

    candidates(view, 0, found={}, wording=wording, first_pass=True)     # circle, red circle, circle above square, ...

A name must tell the entity from the others of the same head: by attributes, another head, the whole it is a part of
or a relation. `Candidate.phrase` is the published form, to be rewritten by a judge; `fluent` the same by rule.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rewards.judges.probe import Link, Mention
from rewards.posh.graph_view import PART_OF, AttributeView, EntityView, GraphView, RelationView
from rewards.posh.prompts import DirectionPrompts
from rewards.templates import fill

_PRONOUNS = """he him his himself she her hers herself it its itself they them their theirs themselves
who whom this that these those"""
PRONOUNS = frozenset(_PRONOUNS.split())

CandidateKind = Literal["head", "attribute", "relation"]


@dataclass(frozen=True, slots=True)
class Found:
    """An entity that was asked about: under which identifier, and how it was rated (1..5).

    asked: the number of the rating prompt, -1 for a fixed answer.
    """

    identifier: str
    mention: Mention
    rating: float
    present: bool
    asked: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """One name of the entity. A "head" is asked as it is; the others are made into a noun phrase first."""

    entity: int
    kind: CandidateKind
    phrase: str
    fluent: str
    mention: Mention


@dataclass(frozen=True, slots=True)
class _Frame:
    """A way to name by a head: plain, or as part of `parent`. `group` are the entities the name may be mistaken for."""

    group: tuple[int, ...]
    wording: DirectionPrompts
    parent: Found | None = None

    def name(self, head: str) -> str:
        if self.parent is None:
            return fill(self.wording.plain, entity_text=head)
        return fill(self.wording.of_parent, entity_text=head, parent_entity_identifier=self.parent.identifier)

    def mention(self, head: str) -> Mention:
        return Mention(head, (), () if self.parent is None else (Link(PART_OF, self.parent.mention),))


def candidates(
    view: GraphView, number: int, found: Mapping[int, Found], wording: DirectionPrompts, first_pass: bool
) -> list[Candidate]:
    """The ordered candidates of the entity `number`, which must not be a special one; never empty."""
    ranked: list[tuple[int, Candidate]] = []
    names: set[str] = set()
    frames = _frames(view, number, found, wording, first_pass)
    for frame in frames:
        rivals = [view.entities[other] for other in frame.group if other != number]
        fresh: list[tuple[int, Candidate]] = []
        for key, candidate in _by_words(view.entities[number], number, frame, rivals):
            if key == 0 or candidate.phrase not in names:
                names.add(candidate.phrase)
                fresh.append((key, candidate))
        if not fresh:
            for key, candidate in _by_relations(view, number, found, frame):
                if candidate.phrase not in names:
                    names.add(candidate.phrase)
                    fresh.append((key, candidate))
        ranked += fresh
    if not ranked:
        text = view.entities[number].text
        name = frames[0].name(text)
        return [Candidate(number, "head", name, name, frames[0].mention(text))]
    return [candidate for _, candidate in sorted(ranked, key=lambda entry: entry[0])]


def _frames(
    view: GraphView, number: int, found: Mapping[int, Found], wording: DirectionPrompts, first_pass: bool
) -> list[_Frame]:
    """The formatters with their collision groups (2.2, step 2)."""
    entity = view.entities[number]
    namesakes = view.namesakes[entity.text]
    parents = [] if first_pass else sorted(p for p in entity.parents if p in found and found[p].present)
    frames = [_Frame(namesakes, wording)] if not parents or len(namesakes) == 1 else []
    for parent in parents:
        group = tuple(other for other in namesakes if parent in view.entities[other].parents)
        frames.append(_Frame(group, wording, found[parent]))
    return frames


def _by_words(
    entity: EntityView, number: int, frame: _Frame, rivals: Sequence[EntityView]
) -> list[tuple[int, Candidate]]:
    """Names by head (key 0), by an attribute no rival has (key 1), by another head no rival has (key 2)."""
    plain, mention = frame.name(entity.text), frame.mention(entity.text)
    result: list[tuple[int, Candidate]] = []
    if not rivals:
        result.append((0, Candidate(number, "head", plain, plain, mention)))
    taken = {attribute.text for rival in rivals for attribute in rival.attributes}
    for attribute in sorted(entity.attributes, key=lambda a: a.sentence):
        if attribute.text not in taken:
            phrase, fluent = f"{attribute.text} {plain}", attributed(entity, attribute, plain)
            named = replace(mention, attributes=(attribute.text,))
            result.append((1, Candidate(number, "attribute", phrase, fluent, named)))
    rival_heads = {head for rival in rivals for head in rival.heads}
    for head in entity.heads:
        if head not in PRONOUNS and head not in rival_heads:
            name = frame.name(head)
            result.append((2, Candidate(number, "head", name, name, frame.mention(head))))
    return result


def _by_relations(
    view: GraphView, number: int, found: Mapping[int, Found], frame: _Frame
) -> list[tuple[int, Candidate]]:
    """Names by a relation no rival has: as its subject (key 3), then as its object (key 4)."""
    entity = view.entities[number]
    relations = sorted((view.relation(r) for r in entity.relations), key=lambda r: r.sentence)
    rivals = frozenset(frame.group) - {number}
    result: list[tuple[int, Candidate]] = []
    for relation in relations:
        if relation.subject != number or not _distinguishes(
            relation, view.subjects[relation.text, relation.object], rivals
        ):
            continue
        partner = _partner(view, relation.object, found)
        if partner is not None:
            name, other = partner
            phrase = f"{entity.text} {relation.text} {name}"
            mention = Mention(entity.text, (), (Link(relation.text, other),))
            result.append((3, Candidate(number, "relation", phrase, related(entity.text, relation, name), mention)))
    for relation in relations:
        if relation.object != number or not _distinguishes(
            relation, view.objects[relation.text, relation.subject], rivals
        ):
            continue
        partner = _partner(view, relation.subject, found)
        if partner is not None:
            name, other = partner
            said = f"{name} {relation.text} {entity.text}"
            phrase = fill(frame.wording.with_relation, formatted_entity=frame.name(entity.text), relation=said)
            base = frame.mention(entity.text)
            mention = replace(base, links=(*base.links, Link(relation.text, other, reverse=True)))
            result.append((4, Candidate(number, "relation", phrase, phrase, mention)))
    return result


def _distinguishes(relation: RelationView, alike: frozenset[int], rivals: frozenset[int]) -> bool:
    """False for part-of, and when a rival stands in the same place of the same relation to the same partner.

    alike: the entities that do.
    """
    return relation.text != PART_OF and rivals.isdisjoint(alike)


def _partner(view: GraphView, number: int, found: Mapping[int, Found]) -> tuple[str, Mention] | None:
    """How to name the other end of a relation; None when it was looked for and is absent."""
    if number in found:
        return (found[number].identifier, found[number].mention) if found[number].present else None
    entity = view.entities[number]
    if not entity.attributes:
        return entity.text, Mention(entity.text)
    attribute = min(entity.attributes, key=lambda a: a.sentence)
    return f"{attribute.text} {entity.text}", Mention(entity.text, (attribute.text,))


def attributed(entity: EntityView, attribute: AttributeView, name: str) -> str:
    """A noun phrase by rule: "the red circle", and "the bird that flies low" for what was said after the head by verb.

    Graphs do not keep parts of speech, so a verb is told by its place and its form.
    """
    after = bool(entity.spans and attribute.spans and attribute.spans[0] > entity.spans[0])
    verbal = after and (" " in attribute.text or (attribute.text.endswith("s") and not attribute.text.endswith("ss")))
    return f"the {name} that {attribute.text}" if verbal else f"the {attribute.text} {name}"


def related(name: str, relation: RelationView, partner: str) -> str:
    """A noun phrase by rule: "the man that holds the book", "the circle above the square"."""
    article = "" if partner.startswith(("the ", "our ")) else "the "
    return f"the {name} {'that ' if relation.by_verb else ''}{relation.text} {article}{partner}"
