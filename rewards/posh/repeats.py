"""Finds entities that a completion mentions more often than the reference has them (default mode only).

PoSh asks of each entity whether the reference has it. "A star" passes however often it is said, so a policy trained
with PoSh soon mentions it three times, in three places. Here each entity of the reference supports only one of the
completion's.
"""

from collections import defaultdict
from collections.abc import Sequence

from spanreward.rewards.judges.probe import Link
from spanreward.rewards.language.lemmas import is_plural, lemmas
from spanreward.rewards.language.scene_graph import SceneGraph
from spanreward.rewards.posh.graph_view import GraphView
from spanreward.rewards.posh.interview import Interview, tie_of


def surplus(interviews: Sequence[Interview]) -> frozenset[int]:
    """Returns the numbers of the completion's surplus entities. Of entities with one name, the worst rated are surplus.

    interviews: the completion with each of its references. The reference that has most entities of a name decides, and
    a plural ("stars") supports any number. The judge may accept a synonym that no reference has; then only entities
    that say nothing new beside an earlier one are surplus.
    """
    view = interviews[0].source
    supported = [_named_in(interview.target_graph) for interview in interviews]
    groups: dict[frozenset[str], list[int]] = defaultdict(list)
    for number, entity in enumerate(view.entities):
        if entity.fixed is None:
            groups[lemmas(entity.text)].append(number)
    result: set[int] = set()
    for name, numbers in groups.items():
        if len(numbers) < 2:
            continue
        most = max(counts.get(name, 0.0) for counts in supported)
        if most:
            worth = {n: max(_said_right(interview, n) for interview in interviews) for n in numbers}
            best_first = sorted(numbers, key=worth.__getitem__, reverse=True)  # keeps the order of equals
            result.update(best_first[int(min(most, len(numbers))) :])
        else:
            said = [statements(view, number) for number in numbers]
            result.update(n for i, n in enumerate(numbers) if any(said[i] <= earlier for earlier in said[:i]))
    return frozenset(result)


def _named_in(graph: SceneGraph) -> dict[frozenset[str], float]:
    """Returns how many entities of each name a graph has, infinity for a plural."""
    counts: dict[frozenset[str], float] = defaultdict(float)
    for entity in graph.entities:
        for name in {lemmas(head) for head in (entity.head, *entity.heads)}:
            plural = any(is_plural(head) for head in (entity.head, *entity.heads))
            counts[name] += float("inf") if plural else 1
    return dict(counts)


def _said_right(interview: Interview, number: int) -> float:
    """Returns the sum of (rating - 1) over an entity, its attributes and relations, which favours detailed mentions."""
    entity = interview.source.entities[number]
    keys = [("attribute", number, place) for place in range(len(entity.attributes))]
    answers = [interview.details.get(key) for key in (*keys, *(("relation", r.number) for r in entity.relations))]
    return interview.entities[number].rating - 1 + sum(answer.rating - 1 for answer in answers if answer is not None)


def statements(view: GraphView, number: int) -> frozenset[str | Link]:
    """Returns an entity's attributes, and its relations with the other entity's name and attributes."""
    entity = view.entities[number]
    said = {attribute.text for attribute in entity.attributes}
    return frozenset(said | {tie_of(view, relation, number) for relation in entity.relations})
