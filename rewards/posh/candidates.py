"""Finds the names by which the judge can be asked about an entity, the simplest name first.

    candidates(view, 0, found={}, wording=wording, first_pass=True)     # circle, red circle, circle above square, ...

A name must distinguish the entity from others with the same head: by an attribute, another head, the whole that it is
part of, or a relation. `Candidate.phrase` is worded as in PoSh, for a judge to rewrite; `fluent` by rule.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from spanreward.rewards.files.templates import fill
from spanreward.rewards.judges.probe import Link, Mention
from spanreward.rewards.posh.graph_view import PART_OF, AttributeView, EntityView, GraphView, RelationView
from spanreward.rewards.posh.prompts import DirectionPrompts

_PRONOUNS = """he him his himself she her hers herself it its itself they them their theirs themselves
who whom this that these those"""
PRONOUNS = frozenset(_PRONOUNS.split())

CandidateKind = Literal["head", "attribute", "relation"]


@dataclass(frozen=True, slots=True)
class Found:
    """An entity after its question: its identifier and its rating (1..5).

    asked: the number of the question, -1 for an entity that is never asked about.
    """

    identifier: str
    mention: Mention
    rating: float
    present: bool
    asked: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """One name of an entity. A "head" is used as it is, the other kinds become a noun phrase. Low ranks go first."""

    entity: int
    kind: CandidateKind
    phrase: str
    fluent: str
    mention: Mention
    rank: int = 0


@dataclass(frozen=True, slots=True)
class _Frame:
    """A form of name: the head alone, or as part of `parent`. group: the entities that share this name."""

    group: Sequence[int]
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
    """Returns the ordered candidates of an entity without a fixed name. There is always at least one."""
    ranked: list[Candidate] = []
    frames = _frames(view, number, found, wording, first_pass)
    for frame in frames:
        rivals = [view.entities[other] for other in frame.group if other != number]
        by_words = _new(_by_words(view.entities[number], number, frame, rivals), ranked)
        ranked += by_words or _new(_by_relations(view, number, found, frame), ranked)
    if not ranked:
        text = view.entities[number].text
        name = frames[0].name(text)
        return [Candidate(number, "head", name, name, frames[0].mention(text))]
    return sorted(ranked, key=lambda candidate: candidate.rank)


def _new(candidates: Iterable[Candidate], known: Sequence[Candidate]) -> list[Candidate]:
    """Returns the candidates without repeated phrases, and without those of `known` ones. Bare heads may repeat."""
    phrases = {candidate.phrase for candidate in known}
    new = []
    for candidate in candidates:
        if candidate.rank == 0 or candidate.phrase not in phrases:
            phrases.add(candidate.phrase)
            new.append(candidate)
    return new


def _frames(
    view: GraphView, number: int, found: Mapping[int, Found], wording: DirectionPrompts, first_pass: bool
) -> list[_Frame]:
    """Returns the forms of name with the entities that share them (2.2, step 2)."""
    entity = view.entities[number]
    namesakes = view.namesakes[entity.text]
    parents = [] if first_pass else sorted(p for p in entity.parents if p in found and found[p].present)
    frames = [_Frame(namesakes, wording)] if not parents or len(namesakes) == 1 else []
    for parent in parents:
        group = tuple(other for other in namesakes if parent in view.entities[other].parents)
        frames.append(_Frame(group, wording, found[parent]))
    return frames


def _by_words(entity: EntityView, number: int, frame: _Frame, rivals: Sequence[EntityView]) -> Iterator[Candidate]:
    """Yields names by head (rank 0), by an attribute (rank 1) or another head (rank 2) that no rival has."""
    plain, mention = frame.name(entity.text), frame.mention(entity.text)
    if not rivals:
        yield Candidate(number, "head", plain, plain, mention)
    taken = {attribute.text for rival in rivals for attribute in rival.attributes}
    for attribute in sorted(entity.attributes, key=lambda a: a.sentence):
        if attribute.text not in taken:
            phrase, fluent = f"{attribute.text} {plain}", _attributed(entity, attribute, plain)
            yield Candidate(number, "attribute", phrase, fluent, replace(mention, attributes=(attribute.text,)), 1)
    rival_heads = {head for rival in rivals for head in rival.heads}
    for head in entity.heads:
        if head not in PRONOUNS and head not in rival_heads:
            yield Candidate(number, "head", frame.name(head), frame.name(head), frame.mention(head), 2)


def _by_relations(view: GraphView, number: int, found: Mapping[int, Found], frame: _Frame) -> Iterator[Candidate]:
    """Yields names by a relation that no rival has, as its subject (rank 3) and as its object (rank 4)."""
    entity = view.entities[number]
    relations = sorted((view.relation(r) for r in entity.relations), key=lambda r: r.sentence)
    rivals = frozenset(frame.group) - {number}
    for relation in relations:
        if relation.subject != number or relation.text == PART_OF:
            continue
        partner = _partner(view, relation.object, found)
        if partner and rivals.isdisjoint(view.subjects[relation.text, relation.object]):
            name, other = partner
            phrase = f"{entity.text} {relation.text} {name}"
            mention = Mention(entity.text, (), (Link(relation.text, other),))
            yield Candidate(number, "relation", phrase, _related(entity.text, relation, name), mention, 3)
    for relation in relations:
        if relation.object != number or relation.text == PART_OF:
            continue
        partner = _partner(view, relation.subject, found)
        if partner and rivals.isdisjoint(view.objects[relation.text, relation.subject]):
            name, other = partner
            said = f"{name} {relation.text} {entity.text}"
            phrase = fill(frame.wording.with_relation, formatted_entity=frame.name(entity.text), relation=said)
            base = frame.mention(entity.text)
            mention = replace(base, links=(*base.links, Link(relation.text, other, reverse=True)))
            yield Candidate(number, "relation", phrase, phrase, mention, 4)


def _partner(view: GraphView, number: int, found: Mapping[int, Found]) -> tuple[str, Mention] | None:
    """Returns the name of the other end of a relation, or None if it was asked about and is absent."""
    if number in found:
        return (found[number].identifier, found[number].mention) if found[number].present else None
    entity = view.entities[number]
    if not entity.attributes:
        return entity.text, Mention(entity.text)
    attribute = min(entity.attributes, key=lambda a: a.sentence)
    return f"{attribute.text} {entity.text}", Mention(entity.text, (attribute.text,))


def _attributed(entity: EntityView, attribute: AttributeView, name: str) -> str:
    """Returns a noun phrase: "the red circle", or "the bird that flies low" for a verb after the head.

    Graphs keep no parts of speech. A verb is recognised by its place and form.
    """
    after = bool(entity.spans and attribute.spans and attribute.spans[0] > entity.spans[0])
    verbal = after and (" " in attribute.text or (attribute.text.endswith("s") and not attribute.text.endswith("ss")))
    return f"the {name} that {attribute.text}" if verbal else f"the {attribute.text} {name}"


def _related(name: str, relation: RelationView, partner: str) -> str:
    """Returns a noun phrase: "the man that holds the book", "the circle above the square"."""
    article = "" if partner.startswith(("the ", "our ")) else "the "
    return f"the {name} {'that ' if relation.by_verb else ''}{relation.text} {article}{partner}"
