"""A scene graph arranged for looking things up by lemma. Ratings are MatchJudge's: 5, 4, 2 or 1."""

from collections import defaultdict
from collections.abc import Sequence

from rewards.judges.probe import Link, Mention, Presence
from rewards.language.lemmas import lemmas
from rewards.language.scene_graph import SceneGraph

EXACT, REWORDED, SAME_NAME, ABSENT = 5, 4, 2, 1

POSTURE = lemmas("be sit stand rest lie located placed positioned situated appear there")
WITHIN = lemmas("in at on inside within upon")
PLACES = lemmas("left right top bottom center centre middle upper lower corner edge side")
SYMMETRIC = lemmas("near beside by next to with and touching alongside around facing")
PART = lemmas("part of")


class TextIndex:
    """What one text says, by lemma. Mentions are resolved once each."""

    def __init__(self, graph: SceneGraph) -> None:
        self.attributes = [[lemmas(text) for text in entity.attributes] for entity in graph.entities]
        self.said: dict[tuple[int, int], list[frozenset[str]]] = defaultdict(list)  # (subject, object) -> relations
        self.does: list[list[frozenset[str]]] = [[] for _ in graph.entities]
        for relation in graph.relations:
            words = lemmas(relation.relation)
            self.said[relation.subject, relation.object].append(words)
            self.does[relation.subject].append(words)
        self.named: dict[frozenset[str], list[int]] = defaultdict(list)
        self.placed: dict[frozenset[str], list[int]] = defaultdict(list)  # "left" of "the top left corner"
        for number, entity in enumerate(graph.entities):
            names = dict.fromkeys(lemmas(head) for head in (entity.head, *entity.heads))
            for name in names:
                self.named[name].append(number)
            if any(name <= PLACES for name in names):
                for attribute in self.attributes[number]:
                    if attribute <= PLACES and attribute not in names:
                        self.placed[attribute].append(number)
        self._resolved: dict[Mention, tuple[int, list[int]]] = {}

    def rating(self, probe: Presence) -> int:
        """The rating of one question about this text."""
        how, subjects = self.resolve(probe.mention)
        if probe.kind == "entity" or not subjects:
            return how
        words = lemmas(probe.words)
        if probe.kind == "attribute":
            return max(self._described(number, words) for number in subjects)
        if probe.other is None:
            raise ValueError(f"a relation probe needs the other mention, got {probe}")
        _, objects = self.resolve(probe.other)
        return max((self._related(s, o, words) for s in subjects for o in objects), default=ABSENT)

    def resolve(self, mention: Mention) -> tuple[int, list[int]]:
        """How well the identifier is met, and the entities it may mean: those that fit it, else all of its name."""
        if mention not in self._resolved:
            self._resolved[mention] = self._resolve(mention)
        return self._resolved[mention]

    def _resolve(self, mention: Mention) -> tuple[int, list[int]]:
        name = lemmas(mention.head)
        namesakes, how = self.named.get(name, []), EXACT
        if not namesakes:
            namesakes, how = self.placed.get(name, []), REWORDED
        if not namesakes:
            return ABSENT, []
        fitting = [
            number
            for number in namesakes
            if all(self._described(number, lemmas(words)) > SAME_NAME for words in mention.attributes)
            and all(self._linked(number, link) for link in mention.links)
        ]
        pool = fitting or namesakes
        if len(pool) > 1:
            shared = [self._shared(number, mention.details, mention.ties) for number in pool]
            pool = [number for number, count in zip(pool, shared, strict=True) if count == max(shared)]
        return (how if fitting else SAME_NAME), pool

    def _shared(self, number: int, details: Sequence[str], ties: Sequence[Link]) -> int:
        """How much of what is said of a thing elsewhere holds here of this entity."""
        described = sum(self._described(number, lemmas(words)) > SAME_NAME for words in details)
        return described + sum(self._linked(number, link) for link in ties)

    def _described(self, number: int, words: frozenset[str]) -> int:
        """Is the entity given this attribute, or does it do this (as the subject of a relation)?"""
        if any(words <= said for said in (*self.attributes[number], *self.does[number])):
            return EXACT
        return REWORDED if words <= POSTURE else ABSENT

    def _linked(self, number: int, link: Link) -> bool:
        _, others = self.resolve(link.other)
        words = lemmas(link.relation)
        if words == PART:  # said in many ways: "the man's hat", "the man wears a hat", "the hat of the man"
            return any((number, other) in self.said or (other, number) in self.said for other in others)
        pairs = [(other, number) if link.reverse else (number, other) for other in others]
        return any(self._related(subject, object_, words) > SAME_NAME for subject, object_ in pairs)

    def _related(self, subject: int, object_: int, words: frozenset[str]) -> int:
        said = list(self.said.get((subject, object_), ()))
        if words <= SYMMETRIC:
            said += self.said.get((object_, subject), [])
        return max((agreement(words, other) for other in said), default=ABSENT)


def agreement(asked: frozenset[str], said: frozenset[str]) -> int:
    """Do the words of one relation say the other? Postures are small words, and so are in / at / on."""
    if asked <= said:
        return EXACT
    core, said_core = (
        frozenset("in" if word in WITHIN else word for word in words if word not in POSTURE) for words in (asked, said)
    )
    return REWORDED if core <= said_core else ABSENT
