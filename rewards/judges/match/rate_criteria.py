"""How MatchJudge answers for criteria, with words alone. Not a published metric.

    MatchJudge().rate([Question(messages, probe=Criterion("correctness", "A red circle.", context="A red disc."))])

Correctness looks up in the context what the text says, completeness in the text what the context says: entities, their
attributes, the relations between them, rated 1 to 5 by TextIndex. A text that speaks of more things of one name than
the context has is wrong about those, so that saying a right thing again is no way to be more correct.

The distribution over the scale is theirs, and that of one statement more of which nothing is known: the more is said,
the surer the rating. What words cannot tell (clarity, fluency, conciseness, criteria of your own) is nothing but that
statement: all ratings are alike, mean 3 with the large standard deviation of someone who does not know.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from rewards.judges.judge import Failure, Rating
from rewards.judges.match.text_index import PLACES, WRONG, TextIndex
from rewards.judges.probe import CriterionProbe, Link, Mention, PresenceProbe
from rewards.language.lemmas import lemmas
from rewards.language.rules import Mode
from rewards.language.scene_graph import CharacterSpan, SceneGraph
from rewards.verdict import Status

LOOKED_UP = ("correctness", "completeness")
SEES_NOTHING = "the match judge sees no pictures: give the rows a context, and the reward evidence='context'"


def texts_of(probe: CriterionProbe) -> tuple[str, str] | None:
    """(The text whose statements are checked, the text that they are checked against); None for a criterion that cannot
    be told from words.
    """
    if probe.name not in LOOKED_UP or not probe.context:
        return None
    if probe.name == "correctness":
        return probe.text, probe.context
    return probe.context, probe.sentence or probe.text


class Parse(Protocol):
    """Texts to their indexes."""

    def __call__(self, texts: Sequence[str], mode: Mode = "default") -> Mapping[str, TextIndex]: ...


def rate_criteria(
    probes: Sequence[CriterionProbe],
    scale: Sequence[str],
    parse: Parse,
    levels: Callable[[Sequence[PresenceProbe], Sequence[TextIndex]], Sequence[float]],
) -> list[Rating | Failure]:
    """One answer per probe. levels: the ratings, 1 to 5, of presence questions."""
    pairs = [texts_of(probe) for probe in probes]
    indexes = parse([text for pair in pairs if pair is not None for text in pair])
    contexts = [pair[1] for probe, pair in zip(probes, pairs, strict=True) if pair and probe.name == "correctness"]
    supporting = {**indexes, **parse([text for text in contexts if indexes[text].graph.unasserted], "reference")}
    asked: list[list[PresenceProbe]] = []
    there: list[TextIndex] = []
    too_many: list[int] = []
    for probe, pair in zip(probes, pairs, strict=True):
        said: list[PresenceProbe] = []
        every = 0
        if pair is not None:
            graph, target, place = indexes[pair[0]].graph, indexes[pair[1]], place_of(probe)
            if probe.name == "correctness":  # of "a red or blue circle" in the context both are right
                target = supporting[pair[1]]
                every = len(statements(graph, place))
                said = statements(graph, place, surplus(graph, target))
            else:  # several people's descriptions say many things more than once
                said = list(dict.fromkeys(statements(graph)))
                every = len(said)
            there += [target] * len(said)
        asked.append(said)
        too_many.append(every - len(said))
    found = iter(levels([presence for said in asked for presence in said], there))
    return [
        Failure(Status.UNPARSED, SEES_NOTHING)
        if pair is None and probe.name in LOOKED_UP
        else spread([*(next(found) for _ in said), *[WRONG] * more], scale)
        for probe, pair, said, more in zip(probes, pairs, asked, too_many, strict=True)
    ]


def surplus(said: SceneGraph, there: TextIndex) -> frozenset[int]:
    """The entities of a text beyond as many as there are of that name; a plural there is any number of them."""
    counts: Counter[frozenset[str]] = Counter()
    beyond = set()
    for number, entity in enumerate(said.entities):
        name = lemmas(entity.head)
        counts[name] += 1
        namesakes = there.named.get(name, [])
        several = any(there.plural[namesake] for namesake in namesakes)
        if namesakes and not several and not name <= PLACES and counts[name] > len(namesakes):
            beyond.add(number)
    return frozenset(beyond)


def place_of(probe: CriterionProbe) -> CharacterSpan | None:
    """The characters of the text whose statements are looked up; None for all of it, and for completeness."""
    if probe.name != "correctness" or not probe.sentence:
        return None
    start = probe.text.find(probe.sentence)
    return start, start + len(probe.sentence)


def spread(levels: Sequence[float], scale: Sequence[str]) -> Rating:
    """The distribution of these ratings, 1 to 5, and of an unknown one, over the scale."""
    total = len(levels) + 1
    shares = {
        entry: (sum(max(0.0, 1 - abs(float(entry) - level)) for level in levels) + 1 / len(scale)) / total
        for entry in scale
    }
    return Rating(shares)


def statements(
    graph: SceneGraph, place: CharacterSpan | None = None, without: frozenset[int] = frozenset()
) -> list[PresenceProbe]:
    """What a text says, or its characters [start, end), as presence questions, nothing of the entities in `without`."""

    def within(spans: Sequence[CharacterSpan]) -> bool:
        return place is None or any(place[0] <= start < place[1] for start, _ in spans)

    mentions = mentions_of(graph)
    viewer = {n for n, entity in enumerate(graph.entities) if entity.is_us or entity.is_left or entity.is_right}
    left_out = viewer | without
    found: list[PresenceProbe] = []
    for number, entity in enumerate(graph.entities):
        if number in left_out:
            continue
        if within(entity.text_spans):
            found.append(PresenceProbe("", "entity", mentions[number]))
        for attribute in entity.attributes:
            if within(entity.attribute_text_spans[attribute]):
                others = tuple(words for words in mentions[number].details if words != attribute)
                mention = replace(mentions[number], details=others)
                found.append(PresenceProbe("", "attribute", mention, attribute))
    for relation in graph.relations:
        if within(relation.text_spans) and left_out.isdisjoint((relation.subject, relation.object)):
            subject, other = (replace(mentions[n], ties=()) for n in (relation.subject, relation.object))
            found.append(PresenceProbe("", "relation", subject, relation.relation, other))
    return found


def mentions_of(graph: SceneGraph) -> list[Mention]:
    """Per entity its name; its attributes and relations tell which of several is meant."""
    ties: list[list[Link]] = [[] for _ in graph.entities]
    for relation in graph.relations:
        subject, other = (Mention(graph.entities[end].head) for end in (relation.subject, relation.object))
        if relation.subject != relation.object:
            ties[relation.subject].append(Link(relation.relation, other))
        ties[relation.object].append(Link(relation.relation, subject, reverse=True))
    return [
        Mention(entity.head, details=tuple(entity.attributes), ties=tuple(own))
        for entity, own in zip(graph.entities, ties, strict=True)
    ]
