"""The components of one side, each with its rating: what PoSh averages, and what becomes spans (PoSh, section 3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rewards.language.scene_graph import CharacterSpan
from rewards.posh.interview import ComponentRating, Interview

Kind = Literal["entity", "attribute", "relation"]

NEVER_ASKED = 1.0
SURPLUS = ComponentRating(NEVER_ASKED, asked=-1)  # asked, in that its words are to blame for what they say


@dataclass(frozen=True, slots=True)
class RatedComponent:
    """An entity, attribute or relation that counts, with its rating (1..5).

    asked is False when an entity of it is absent: then the rating is 1. spans: one pair per token, on the text that
    was parsed. identifier: its name for people, e.g. "red circle". question: what was asked, or why nothing was.
    """

    kind: Kind
    identifier: str
    question: str
    rating: float
    asked: bool
    spans: tuple[CharacterSpan, ...]


def components(
    interview: Interview, surplus: frozenset[int] = frozenset(), reaching: bool = False
) -> list[RatedComponent]:
    """The counted components of the interview's source, in the order of the published mean.

    Special entities, their attributes and relations between two of them do not count. `surplus` entities, their
    attributes and relations are rated as absent, whatever the judge said. reaching: the words of a relation go on to
    its object, "in the center", where that is said through it alone and is given no attributes: it decides whether the
    relation holds, and "in" does not.
    """
    view, found = interview.source, interview.entities
    result: list[RatedComponent] = []
    counted: set[int] = set()
    for number, entity in enumerate(view.entities):
        if entity.fixed is not None:
            continue
        own = found[number]
        answer = SURPLUS if number in surplus else ComponentRating(own.rating, own.asked)
        result.append(_component(interview, "entity", own.identifier, answer, entity.spans))
        for place, attribute in enumerate(entity.attributes):
            said = SURPLUS if number in surplus else interview.attributes.get((number, place))
            identifier = f"{attribute.text} {entity.text}"
            result.append(_component(interview, "attribute", identifier, said, attribute.spans))
        for relation_number in entity.relations:
            if relation_number not in counted:
                counted.add(relation_number)
                relation = view.relation(relation_number)
                first, second = found[relation.subject].identifier, found[relation.object].identifier
                left_over = not surplus.isdisjoint((relation.subject, relation.object))
                tied = SURPLUS if left_over else interview.relations.get(relation_number)
                identifier = f"{first} {relation.text} {second}"
                spans = relation.spans
                reached = view.entities[relation.object]
                if reaching and interview.tie(relation.object) is relation and not reached.attributes:
                    spans = to_object(spans, reached.spans)
                result.append(_component(interview, "relation", identifier, tied, spans))
    return result


def _component(
    interview: Interview, kind: Kind, identifier: str, answer: ComponentRating | None, spans: tuple[CharacterSpan, ...]
) -> RatedComponent:
    if answer is None:
        return RatedComponent(
            kind, identifier, "Not asked, as what it is said of is absent.", NEVER_ASKED, False, spans
        )
    if answer is SURPLUS:
        return RatedComponent(kind, identifier, "Said more often than the other text has it.", NEVER_ASKED, True, spans)
    return RatedComponent(kind, identifier, interview.questions[answer.asked], answer.rating, True, spans)


def best_of(sides: Sequence[Sequence[RatedComponent]]) -> list[RatedComponent]:
    """Per component the best rated over several references; at equal ratings one that was asked, then the first."""
    return [max(versions, key=lambda c: (c.rating, c.asked)) for versions in zip(*sides, strict=True)]


def to_object(words: tuple[CharacterSpan, ...], object_words: tuple[CharacterSpan, ...]) -> tuple[CharacterSpan, ...]:
    """A relation's words, the last of them drawn out to the end of the object's first one behind it, if it has one."""
    if not words:
        return words
    *before, (start, last) = words
    ends = [end for begin, end in object_words if begin >= last]
    return (*before, (start, min(ends, default=last)))
