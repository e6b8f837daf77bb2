"""Finds the names by which the judge can be asked about an entity, the simplest name first.

    candidates(view, 0, found={}, wording=wording)  # circle, red circle, circle above square, ...

A name must distinguish the entity from others with the same head: by an attribute, another head,
the whole that it is part of, or a relation. `Candidate.phrase` is worded as in PoSh, for a judge to
rewrite; `fluent` by rule.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from spanreward.rewards.files.templates import fill
from spanreward.rewards.judges.probe import Link, Mention
from spanreward.rewards.language.words import word_set
from spanreward.rewards.posh.graph_view import (
    PART_OF,
    AttributeView,
    EntityView,
    GraphView,
    RelationView,
)
from spanreward.rewards.posh.prompts import DirectionPrompts

PRONOUNS = word_set(
    """he him his himself she her hers herself it its itself they them their theirs themselves who
    whom this that these
    those"""
)

CandidateKind = Literal["head", "attribute", "relation"]


@dataclass(frozen=True, slots=True)
class EntityAnswer:
    """An entity after its question: its identifier and its rating (1..5). question: "" if it is
    never asked about.
    """

    identifier: str
    mention: Mention
    rating: float
    present: bool
    question: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """One name of an entity.

    A "head" is used as it is, the other kinds become a noun phrase. Low ranks go first.
    """

    entity: int
    kind: CandidateKind
    phrase: str
    fluent: str
    mention: Mention
    rank: int = 0


@dataclass(frozen=True, slots=True)
class _Frame:
    """A form of name: the head alone, or as part of `parent`. group: the entities that share this
    name.
    """

    group: Sequence[int]
    wording: DirectionPrompts
    parent: EntityAnswer | None = None

    def name(self, head: str) -> str:
        if self.parent is None:
            return fill(self.wording.plain, entity_text=head)
        return fill(
            self.wording.of_parent,
            entity_text=head,
            parent_entity_identifier=self.parent.identifier,
        )

    def mention(self, head: str) -> Mention:
        if self.parent is None:
            return Mention(head)
        return Mention(head, (), (Link(PART_OF, self.parent.mention),))

    def head(self, number: int, head: str, rank: int = 0) -> Candidate:
        """Returns the entity's name by one of its heads."""
        return Candidate(number, "head", self.name(head), self.name(head), self.mention(head), rank)


def candidates(
    view: GraphView,
    number: int,
    answers: Mapping[int, EntityAnswer],
    wording: DirectionPrompts,
) -> list[Candidate]:
    """Returns the names by which the entity `number`, which has no fixed name, can be asked about:
    simplest first, at least one. answers: on the entities that were asked before it.
    """
    ranked: list[Candidate] = []
    frames = _frames(view, number, answers, wording)
    for frame in frames:
        rivals = [view.entities[other] for other in frame.group if other != number]
        by_words = _new(_by_words(view.entities[number], number, frame, rivals), ranked)
        ranked += by_words or _new(_by_relations(view, number, answers, frame), ranked)
    return sorted(ranked, key=lambda candidate: candidate.rank) or [
        frames[0].head(number, view.entities[number].text)
    ]


def _new(candidates: Iterable[Candidate], earlier: Sequence[Candidate]) -> list[Candidate]:
    """Returns the candidates without repeated phrases, and without those of `earlier` ones.

    Bare heads may repeat.
    """
    phrases = {candidate.phrase for candidate in earlier}
    new = []
    for candidate in candidates:
        if candidate.rank == 0 or candidate.phrase not in phrases:
            phrases.add(candidate.phrase)
            new.append(candidate)
    return new


def _frames(
    view: GraphView,
    number: int,
    answers: Mapping[int, EntityAnswer],
    wording: DirectionPrompts,
) -> list[_Frame]:
    """Returns the forms of name with the entities that share them (2.2, step 2)."""
    entity = view.entities[number]
    namesakes = view.namesakes[entity.text]
    parents = sorted(
        parent for parent in entity.parents if parent in answers and answers[parent].present
    )
    frames: list[_Frame] = []
    if not parents or len(namesakes) == 1:
        frames.append(_Frame(namesakes, wording))
    for parent in parents:
        group = tuple(other for other in namesakes if parent in view.entities[other].parents)
        frames.append(_Frame(group, wording, answers[parent]))
    return frames


def _by_words(
    entity: EntityView, number: int, frame: _Frame, rivals: Sequence[EntityView]
) -> Iterator[Candidate]:
    """Yields names by head (rank 0), by an attribute (rank 1) or another head (rank 2) that no
    rival has.
    """
    plain, mention = frame.name(entity.text), frame.mention(entity.text)
    if not rivals:
        yield frame.head(number, entity.text)
    rival_attributes = {attribute.text for rival in rivals for attribute in rival.attributes}
    for attribute in sorted(entity.attributes, key=lambda a: a.sentence):
        if attribute.text not in rival_attributes:
            phrase, fluent = f"{attribute.text} {plain}", _attributed(entity, attribute, plain)
            yield Candidate(
                number,
                "attribute",
                phrase,
                fluent,
                replace(mention, attributes=(attribute.text,)),
                1,
            )
    rival_heads = {head for rival in rivals for head in rival.heads}
    for head in entity.heads:
        if head not in PRONOUNS and head not in rival_heads:
            yield frame.head(number, head, 2)


def _by_relations(
    view: GraphView, number: int, answers: Mapping[int, EntityAnswer], frame: _Frame
) -> Iterator[Candidate]:
    """Yields names by a relation that no rival has, as its subject (rank 3) and as its object (rank
    4).
    """
    text = view.entities[number].text
    rivals = frozenset(frame.group) - {number}
    relations = [
        relation for relation in view.entities[number].relations if relation.text != PART_OF
    ]
    relations.sort(key=lambda relation: relation.sentence)
    for relation in relations:
        if relation.subject == number and rivals.isdisjoint(
            view.subjects[relation.text, relation.object]
        ):
            name, other = _named(view, relation.object, answers)
            if other is not None:
                phrase, fluent = f"{text} {relation.text} {name}", _related(text, relation, name)
                yield Candidate(
                    number,
                    "relation",
                    phrase,
                    fluent,
                    Mention(text, (), (Link(relation.text, other),)),
                    3,
                )
    for relation in relations:
        if relation.object == number and rivals.isdisjoint(
            view.objects[relation.text, relation.subject]
        ):
            name, other = _named(view, relation.subject, answers)
            if other is not None:
                relation_text, base = f"{name} {relation.text} {text}", frame.mention(text)
                phrase = fill(
                    frame.wording.with_relation,
                    formatted_entity=frame.name(text),
                    relation=relation_text,
                )
                mention = replace(
                    base, links=(*base.links, Link(relation.text, other, reverse=True))
                )
                yield Candidate(number, "relation", phrase, phrase, mention, 4)


def _named(
    view: GraphView, number: int, answers: Mapping[int, EntityAnswer]
) -> tuple[str, Mention | None]:
    """Returns the name of the other end of a relation, and None as data if it was asked about and
    is absent.
    """
    if number in answers:
        return answers[number].identifier, answers[number].mention if answers[
            number
        ].present else None
    entity = view.entities[number]
    if not entity.attributes:
        return entity.text, Mention(entity.text)
    attribute = min(entity.attributes, key=lambda a: a.sentence)
    return f"{attribute.text} {entity.text}", Mention(entity.text, (attribute.text,))


def _attributed(entity: EntityView, attribute: AttributeView, name: str) -> str:
    """Returns a noun phrase: "the red circle", or "the bird that flies low" for a verb after the
    head.

    Graphs keep no parts of speech. A verb is recognised by its place and form.
    """
    after = bool(entity.spans and attribute.spans and attribute.spans[0] > entity.spans[0])
    verbal = after and (
        " " in attribute.text
        or (attribute.text.endswith("s") and not attribute.text.endswith("ss"))
    )
    if verbal:
        return f"the {name} that {attribute.text}"
    return f"the {attribute.text} {name}"


def _related(name: str, relation: RelationView, partner: str) -> str:
    """Returns a noun phrase: "the man that holds the book", "the circle above the square"."""
    words = ["the", name]
    if relation.by_verb:
        words.append("that")
    words.append(relation.text)
    if not partner.startswith(("the ", "our ")):
        words.append("the")
    return " ".join((*words, partner))
