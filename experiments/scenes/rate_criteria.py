"""How WordJudge rates criteria, by words alone. Not a published metric.

    WordJudge().rate([Question(messages, probe=CriterionProbe("correctness", "A red circle.",
    context="A red disc."))])

Correctness looks the text's statements up in the context. Completeness looks the context's
statements up in the text. The statements are entities, their attributes and the relations between
them; TextIndex rates each from 1 to 5. If a text names more things of one name than the context
has, the surplus is wrong. So a repeated right statement does not raise correctness.

The distribution over the scale is the mean of the statements' distributions and one uniform
distribution, for a statement of which nothing is known. So more statements give a more certain
rating. Words cannot tell the other criteria (clarity, fluency, conciseness, your own). Their
distribution is uniform, with mean 3 and a large standard deviation.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from spanreward.rewards.base.verdict import Status
from spanreward.rewards.judges.judge import Failure, Rating, rating_of
from spanreward.rewards.judges.match.text_index import PLACE_LEMMAS, WRONG_RATING, TextIndex
from spanreward.rewards.judges.probe import CriterionProbe, Link, Mention, PresenceProbe
from spanreward.rewards.language.lemmas import lemmas_of_phrase
from spanreward.rewards.language.scene_graph import CharacterSpan, SceneGraph
from spanreward.rewards.language.supported_claims import vocabulary_of, without_unmet_needs

LOOKED_UP = ("correctness", "completeness")
SEES_NOTHING = (
    "the word judge sees no pictures: give the rows a context, and the reward evidence='context'"
)


def texts_of(probe: CriterionProbe) -> tuple[str, str] | None:
    """Returns the text whose statements are looked up and the text to look them up in, None where
    words cannot tell.
    """
    if probe.name not in LOOKED_UP or not probe.context:
        return None
    if probe.name == "correctness":
        return probe.text, probe.context
    return probe.context, probe.sentence or probe.text


def rate_criteria(
    probes: Sequence[CriterionProbe],
    scale: Sequence[str],
    parse: Callable[[Sequence[str]], Mapping[str, TextIndex]],
    supporting: Callable[[Sequence[str]], Mapping[str, TextIndex]],
    levels: Callable[[Sequence[PresenceProbe], Sequence[TextIndex]], Sequence[float]],
) -> list[Rating | Failure]:
    """Returns one answer per probe.

    parse: returns an index per text; supporting: one with every alternative that the text leaves
    open. levels: the ratings, 1 to 5, of presence questions.
    """
    pairs = [texts_of(probe) for probe in probes]
    indexes = parse([text for pair in pairs if pair is not None for text in pair])
    contexts = [
        pair[1]
        for probe, pair in zip(probes, pairs, strict=True)
        if pair and probe.name == "correctness"
    ]
    stated = {
        **indexes,
        **supporting([text for text in contexts if indexes[text].graph.unasserted]),
    }

    def paid(text: str, context: str) -> TextIndex:
        graph = without_unmet_needs(indexes[text].graph, vocabulary_of([context]))
        return indexes[text] if graph is indexes[text].graph else TextIndex(graph)

    # per probe: the statements to look up, how many are surplus
    asked: list[tuple[list[PresenceProbe], int]] = []
    targets: list[TextIndex] = []
    for probe, pair in zip(probes, pairs, strict=True):
        said: list[PresenceProbe] = []
        too_many = 0
        if pair is not None and probe.name == "correctness":
            # "a red or blue circle" supports both colours
            graph, target = paid(*pair).graph, stated[pair[1]]
            start = probe.text.find(probe.sentence)
            place = (start, start + len(probe.sentence)) if probe.sentence else None
            said = statements(graph, place, surplus(graph, target))
            too_many = len(statements(graph, place)) - len(said)
            targets += [target] * len(said)
        elif pair is not None:
            # a context of several people's descriptions says many things more than once
            said = list(dict.fromkeys(statements(indexes[pair[0]].graph)))
            targets += [paid(pair[1], pair[0])] * len(said)
        asked.append((said, too_many))
    found = iter(levels([presence for said, _ in asked for presence in said], targets))
    return [
        Failure(Status.UNPARSED, SEES_NOTHING)
        if pair is None and probe.name in LOOKED_UP
        else spread([*(next(found) for _ in said), *[WRONG_RATING] * too_many], scale)
        for probe, pair, (said, too_many) in zip(probes, pairs, asked, strict=True)
    ]


def surplus(said: SceneGraph, there: TextIndex) -> frozenset[int]:
    """Returns the entities of a text beyond the number of that name in the index.

    A plural there is any number.
    """
    counts: Counter[frozenset[str]] = Counter()
    beyond = set()
    for number, entity in enumerate(said.entities):
        name = lemmas_of_phrase(entity.head)
        counts[name] += 1
        namesakes = there.named.get(name, [])
        several = any(there.plural[namesake] for namesake in namesakes)
        if namesakes and not several and not name <= PLACE_LEMMAS and counts[name] > len(namesakes):
            beyond.add(number)
    return frozenset(beyond)


def spread(levels: Sequence[float], scale: Sequence[str]) -> Rating:
    """Returns the mean of these ratings' distributions and of a uniform one."""
    ratings = [rating_of(level, scale).probabilities for level in levels]
    return Rating(
        {
            entry: (sum(of[entry] for of in ratings) + 1 / len(scale)) / (len(levels) + 1)
            for entry in scale
        }
    )


def statements(
    graph: SceneGraph, place: CharacterSpan | None = None, without: frozenset[int] = frozenset()
) -> list[PresenceProbe]:
    """Returns what a text or its characters [start, end) say, as presence questions, but nothing of
    `without`.
    """

    def within(spans: Sequence[CharacterSpan]) -> bool:
        return place is None or any(place[0] <= start < place[1] for start, _ in spans)

    mentions = mentions_of(graph)
    viewer = {
        n
        for n, entity in enumerate(graph.entities)
        if entity.is_us or entity.is_left or entity.is_right
    }
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
            subject, other = (
                replace(mentions[n], ties=()) for n in (relation.subject, relation.object)
            )
            found.append(PresenceProbe("", "relation", subject, relation.relation, other))
    return found


def mentions_of(graph: SceneGraph) -> list[Mention]:
    """Returns per entity its name, with the attributes and relations that tell it from others of
    that name.
    """
    ties: list[list[Link]] = [[] for _ in graph.entities]
    for relation in graph.relations:
        subject, other = (
            Mention(graph.entities[end].head) for end in (relation.subject, relation.object)
        )
        if relation.subject != relation.object:
            ties[relation.subject].append(Link(relation.relation, other))
        ties[relation.object].append(Link(relation.relation, subject, reverse=True))
    return [
        Mention(entity.head, details=tuple(entity.attributes), ties=tuple(own))
        for entity, own in zip(graph.entities, ties, strict=True)
    ]
