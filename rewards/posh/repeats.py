"""Things a completion counts more often than its reference does (default mode only).

PoSh asks of every entity whether the reference has it, so "a star" passes however often it is said, and a policy that
is paid by PoSh soon says it three times, in three places. Here each thing of the reference supports one of the
completion's.

    surplus(interview)      # numbers of the completion's entities that nothing is left for
"""

from collections import defaultdict

from rewards.language.lemmas import is_plural, lemmas
from rewards.language.scene_graph import SceneGraph
from rewards.posh.graph_view import EntityView, GraphView
from rewards.posh.questions import Interview


def surplus(interview: Interview) -> frozenset[int]:
    """Of the entities with one name, those beyond the reference's number of that name, worst rated first.

    A plural in the reference ("stars") leaves any number. Where the reference has no entity of that name (the judge may
    have recognised another word for it) only those that say nothing new beside an earlier one are surplus.
    """
    view, room = interview.source, named_in(interview.target_graph)
    groups: dict[frozenset[str], list[int]] = defaultdict(list)
    for number, entity in enumerate(view.entities):
        if entity.fixed is None:
            groups[lemmas(entity.text)].append(number)
    result: set[int] = set()
    for name, numbers in groups.items():
        if len(numbers) < 2:
            continue
        if name in room:
            best_first = sorted(numbers, key=lambda number: -mean_rating(interview, number))  # stable: first of equals
            result.update(best_first[int(min(room[name], len(numbers))) :])
        else:
            result.update(
                number
                for place, number in enumerate(numbers)
                if any(statements(view, number) <= statements(view, earlier) for earlier in numbers[:place])
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


def mean_rating(interview: Interview, number: int) -> float:
    """Mean rating of an entity with its attributes and relations; 1 for what was not asked."""
    entity = interview.source.entities[number]
    ratings = [interview.entities[number].rating]
    for place in range(len(entity.attributes)):
        answer = interview.attributes.get((number, place))
        ratings.append(answer.rating if answer else 1.0)
    for relation in entity.relations:
        answer = interview.relations.get(relation)
        ratings.append(answer.rating if answer else 1.0)
    return sum(ratings) / len(ratings)


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
