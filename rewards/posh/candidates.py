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

CandidateKind = Literal["head", "attribute", "relation"]  # what distinguishes the entity


@dataclass(frozen=True, slots=True)
class EntityAnswer:
    """An entity after its question: its identifier and its rating (1..5).

    identifier: the name that later questions call it by. mention: the same as data. present:
    whether the rating reaches the threshold. question: "" if it is never asked about.
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

    phrase: "circle above square". fluent: "the circle above the square". mention: the same as data.
    rank: 0 for the head alone, 1 for an attribute, 2 for another head, 3 and 4 for a relation.
    """

    entity: int
    kind: CandidateKind
    phrase: str
    fluent: str
    mention: Mention
    rank: int = 0


@dataclass(frozen=True, slots=True)
class _Frame:
    """A form of name: the head alone ("corner"), or as part of `parent` ("corner of the table").
    group: the entities that share this name.
    """

    group: Sequence[int]
    wording: DirectionPrompts
    parent: EntityAnswer | None = None

    def name(self, head: str) -> str:
        """Returns the name in words, as the wording forms it."""
        if self.parent is None:
            return fill(self.wording.plain, entity_text=head)
        return fill(
            self.wording.of_parent,
            entity_text=head,
            parent_entity_identifier=self.parent.identifier,
        )

    def mention(self, head: str) -> Mention:
        """Returns the same name as data."""
        if self.parent is None:
            return Mention(head)
        link = Link(PART_OF, self.parent.mention)
        return Mention(head, links=(link,))

    def head(self, number: int, head: str, rank: int = 0) -> Candidate:
        """Returns the entity's name by one of its heads."""
        name = self.name(head)
        return Candidate(
            number,
            "head",
            phrase=name,
            fluent=name,
            mention=self.mention(head),
            rank=rank,
        )


def candidates(
    view: GraphView,
    number: int,
    answers: Mapping[int, EntityAnswer],
    wording: DirectionPrompts,
) -> list[Candidate]:
    """Returns the names by which the entity `number`, which has no fixed name, can be asked about:
    simplest first, at least one. answers: on the entities that were asked before it.
    """
    entity = view.entities[number]
    ranked: list[Candidate] = []
    frames = _frames(view, number, answers, wording)
    # the steps of 2.2, each form of name in turn
    for frame in frames:
        rivals = [view.entities[other] for other in frame.group if other != number]
        new = _new(_by_words(entity, number, frame, rivals), ranked)
        # relations only where no words distinguish it
        if not new:
            new = _new(_by_relations(view, number, answers, frame), ranked)
        ranked += new
    # nothing distinguishes it: its head must do
    if not ranked:
        return [frames[0].head(number, entity.text)]
    return sorted(ranked, key=lambda candidate: candidate.rank)


def _new(candidates: Iterable[Candidate], earlier: Sequence[Candidate]) -> list[Candidate]:
    """Returns the candidates without repeated phrases, and without those of `earlier` ones.

    Bare heads may repeat.
    """
    phrases = {candidate.phrase for candidate in earlier}
    new = []
    for candidate in candidates:
        # as published, a bare head is asked about once for each form of name
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
    # of the wholes only those that the target has can name a part
    parents = []
    for parent in sorted(entity.parents):
        if parent in answers and answers[parent].present:
            parents.append(parent)
    frames: list[_Frame] = []
    # the head alone would not tell it from others of its name
    if not parents or len(namesakes) == 1:
        frames.append(_Frame(namesakes, wording))
    for parent in parents:
        group = [other for other in namesakes if parent in view.entities[other].parents]
        frames.append(_Frame(group, wording, answers[parent]))
    return frames


def _by_words(
    entity: EntityView, number: int, frame: _Frame, rivals: Sequence[EntityView]
) -> Iterator[Candidate]:
    """Yields names by head (rank 0), by an attribute (rank 1) or another head (rank 2) that no
    rival has.
    """
    plain = frame.name(entity.text)
    mention = frame.mention(entity.text)
    if not rivals:
        yield frame.head(number, entity.text)
    # what another entity of the name has too distinguishes nothing
    rival_attributes: set[str] = set()
    rival_heads: set[str] = set()
    for rival in rivals:
        rival_attributes.update(attribute.text for attribute in rival.attributes)
        rival_heads.update(rival.heads)
    for attribute in sorted(entity.attributes, key=lambda attribute: attribute.sentence):
        if attribute.text not in rival_attributes:
            yield Candidate(
                number,
                "attribute",
                phrase=f"{attribute.text} {plain}",
                fluent=_attributed(entity, attribute, plain),
                mention=replace(mention, attributes=(attribute.text,)),
                rank=1,
            )
    # "dog" of an entity that is first called "animal"
    for head in entity.heads:
        if head not in PRONOUNS and head not in rival_heads:
            yield frame.head(number, head, rank=2)


def _by_relations(
    view: GraphView,
    number: int,
    answers: Mapping[int, EntityAnswer],
    frame: _Frame,
) -> Iterator[Candidate]:
    """Yields names by a relation that no rival has, as its subject (rank 3) and as its object (rank
    4).
    """
    entity = view.entities[number]
    text = entity.text
    rivals = frozenset(frame.group) - {number}
    # the wholes that it is part of are in the frame
    relations = [relation for relation in entity.relations if relation.text != PART_OF]
    relations.sort(key=lambda relation: relation.sentence)
    for relation in relations:
        if relation.subject != number:
            continue
        # "circle above square" does not distinguish two circles above the square
        subjects = view.subjects[relation.text, relation.object]
        if not rivals.isdisjoint(subjects):
            continue
        name, other = _named(view, relation.object, answers)
        if other is not None:
            link = Link(relation.text, other)
            yield Candidate(
                number,
                "relation",
                phrase=f"{text} {relation.text} {name}",
                fluent=_related(text, relation, name),
                mention=Mention(text, links=(link,)),
                rank=3,
            )
    # the same from the other end
    for relation in relations:
        if relation.object != number:
            continue
        objects = view.objects[relation.text, relation.subject]
        if not rivals.isdisjoint(objects):
            continue
        name, other = _named(view, relation.subject, answers)
        if other is not None:
            # 'square as in "circle above square"'
            phrase = fill(
                frame.wording.with_relation,
                formatted_entity=frame.name(text),
                relation=f"{name} {relation.text} {text}",
            )
            mention = frame.mention(text)
            link = Link(relation.text, other, reverse=True)
            yield Candidate(
                number,
                "relation",
                phrase=phrase,
                fluent=phrase,
                mention=replace(mention, links=(*mention.links, link)),
                rank=4,
            )


def _named(
    view: GraphView, number: int, answers: Mapping[int, EntityAnswer]
) -> tuple[str, Mention | None]:
    """Returns the name of the other end of a relation, and None as data if it was asked about and
    is absent.
    """
    if number in answers:
        answer = answers[number]
        return answer.identifier, answer.mention if answer.present else None
    # it will be asked about later: its text, with the attribute that comes first
    entity = view.entities[number]
    if not entity.attributes:
        return entity.text, Mention(entity.text)
    attribute = min(entity.attributes, key=lambda attribute: attribute.sentence)
    name = f"{attribute.text} {entity.text}"
    return name, Mention(entity.text, (attribute.text,))


def _attributed(entity: EntityView, attribute: AttributeView, name: str) -> str:
    """Returns a noun phrase: "the red circle", or "the bird that flies low" for a verb after the
    head.

    Graphs keep no parts of speech. A verb is recognised by its place and form.
    """
    text = attribute.text
    stands_after = False
    if entity.spans and attribute.spans:
        stands_after = attribute.spans[0] > entity.spans[0]
    # "flies" and "flies low", and not "grass"
    ends_like_verb = text.endswith("s") and not text.endswith("ss")
    has_verb_form = ends_like_verb or " " in text
    if stands_after and has_verb_form:
        return f"the {name} that {text}"
    return f"the {text} {name}"


def _related(name: str, relation: RelationView, partner: str) -> str:
    """Returns a noun phrase: "the man that holds the book", "the circle above the square"."""
    words = ["the", name]
    if relation.by_verb:
        words.append("that")  # "the man that holds"
    words.append(relation.text)
    # names that the rules worded have their article
    if not partner.startswith(("the ", "our ")):
        words.append("the")
    words.append(partner)
    return " ".join(words)
