"""Things a completion counts more often than its reference does (default mode only).

PoSh asks of every entity whether the reference has it, so "a star" passes however often it is said, and a policy that
is paid by PoSh soon says it three times, in three places. Here each thing of the reference supports one of the
completion's.

    surplus(interviews)     # numbers of the completion's entities that nothing is left for
"""

from collections import defaultdict
from collections.abc import Sequence

from rewards.language.lemmas import is_plural, lemmas
from rewards.language.scene_graph import SceneGraph
from rewards.posh.graph_view import EntityView, GraphView
from rewards.posh.interview import Interview


def surplus(interviews: Sequence[Interview]) -> frozenset[int]:
    """The entities that the completion names more often than the references do, by their numbers. Of those with one
    name, the ones that are least right count as surplus.

    interviews: the same completion with each of its references; the number is the largest that any of them has. A
    plural ("stars") leaves any number. Where no reference has the name (the judge may have recognised another word for
    it) only those that say nothing new beside an earlier one are surplus.
    """
    view = interviews[0].source
    rooms = [named_in(interview.target_graph) for interview in interviews]
    groups: dict[frozenset[str], list[int]] = defaultdict(list)
    for number, entity in enumerate(view.entities):
        if entity.fixed is None:
            groups[lemmas(entity.text)].append(number)
    result: set[int] = set()
    for name, numbers in groups.items():
        if len(numbers) < 2:
            continue
        room = max(room.get(name, 0.0) for room in rooms)
        if room:
            worth = {n: max(said_right(interview, n) for interview in interviews) for n in numbers}
            best_first = sorted(numbers, key=worth.__getitem__, reverse=True)  # stable: first of equals
            result.update(best_first[int(min(room, len(numbers))) :])
        else:
            said = [statements(view, number) for number in numbers]
            result.update(
                number
                for place, number in enumerate(numbers)
                if any(said[place] <= earlier for earlier in said[:place])
            )
    return frozenset(result)


def named_in(graph: SceneGraph) -> dict[frozenset[str], float]:
    """How many entities of each name a graph has: infinitely many for a plural."""
    counts: dict[frozenset[str], float] = defaultdict(float)
    for entity in graph.entities:
        for name in {lemmas(head) for head in (entity.head, *entity.heads)}:
            plural = any(is_plural(head) for head in (entity.head, *entity.heads))
            counts[name] += float("inf") if plural else 1
    return dict(counts)


def said_right(interview: Interview, number: int) -> float:
    """How much of what is said of an entity is right: sum of (rating - 1) over it, its attributes and relations.

    A sum, so that of two mentions the fuller one is kept and not the barer.
    """
    entity = interview.source.entities[number]
    answers = [interview.attributes.get((number, place)) for place in range(len(entity.attributes))]
    answers += [interview.relations.get(relation) for relation in entity.relations]
    return interview.entities[number].rating - 1 + sum(answer.rating - 1 for answer in answers if answer is not None)


def statements(view: GraphView, number: int) -> frozenset[tuple[str, ...]]:
    """What is said of an entity: its attributes, and its relations with the other end's name and attributes."""
    entity = view.entities[number]
    said: set[tuple[str, ...]] = {(attribute.text,) for attribute in entity.attributes}
    for relation in (view.relation(r) for r in entity.relations):
        first = relation.subject == number
        other = view.entities[relation.object if first else relation.subject]
        said.add((relation.text, str(first), *described(other)))
    return frozenset(said)


def described(entity: EntityView) -> tuple[str, ...]:
    return (entity.text, *sorted(attribute.text for attribute in entity.attributes))
