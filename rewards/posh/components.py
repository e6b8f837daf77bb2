"""The components of one side, each with its rating: what PoSh averages, and what becomes spans (posh_spec 4 and 5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rewards.language.scene_graph import CharacterSpan
from rewards.posh.questions import Answer, Interview

Kind = Literal["entity", "attribute", "relation"]

NEVER_ASKED = 1.0
SURPLUS = Answer(NEVER_ASKED, asked=-1)  # asked, in that its words are to blame for what they say


@dataclass(frozen=True, slots=True)
class Component:
    """An entity, attribute or relation that counts, with its rating (1..5).

    asked is False when an entity of it is absent: then the rating is 1. spans: one pair per token, on the text that
    was parsed. identifier: its name for people, e.g. "red circle".
    """

    kind: Kind
    identifier: str
    rating: float
    asked: bool
    spans: tuple[CharacterSpan, ...]


def components(interview: Interview, surplus: frozenset[int] = frozenset()) -> list[Component]:
    """The counted components of the interview's source, in the order of the published mean.

    Special entities, their attributes and relations between two of them do not count. `surplus` entities, their
    attributes and relations are rated as absent, whatever the judge said.
    """
    view, found = interview.source, interview.entities
    result: list[Component] = []
    counted: set[int] = set()
    for number, entity in enumerate(view.entities):
        if entity.fixed is not None:
            continue
        name = found[number].identifier
        rating = NEVER_ASKED if number in surplus else found[number].rating
        result.append(Component("entity", name, rating, True, entity.spans))
        for place, attribute in enumerate(entity.attributes):
            answer = SURPLUS if number in surplus else interview.attributes.get((number, place))
            result.append(_detail("attribute", f"{attribute.text} {entity.text}", answer, attribute.spans))
        for relation_number in entity.relations:
            if relation_number not in counted:
                counted.add(relation_number)
                relation = view.relation(relation_number)
                first, second = found[relation.subject].identifier, found[relation.object].identifier
                left_over = not surplus.isdisjoint((relation.subject, relation.object))
                answer = SURPLUS if left_over else interview.relations.get(relation_number)
                result.append(_detail("relation", f"{first} {relation.text} {second}", answer, relation.spans))
    return result


def _detail(kind: Kind, identifier: str, answer: Answer | None, spans: tuple[CharacterSpan, ...]) -> Component:
    rating = NEVER_ASKED if answer is None else answer.rating
    return Component(kind, identifier, rating, answer is not None, spans)


def best_of(sides: Sequence[Sequence[Component]]) -> list[Component]:
    """Per component the best rated over several references; at equal ratings one that was asked, then the first."""
    return [max(versions, key=lambda c: (c.rating, c.asked)) for versions in zip(*sides, strict=True)]
