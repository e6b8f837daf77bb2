"""A scene graph arranged for looking things up by lemma. Ratings are MatchJudge's: 5, 4, 3, 2, 1.05 or 1."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache

from rewards.judges.probe import Link, Mention, PresenceProbe
from rewards.language.lemmas import is_plural, kin, lemmas
from rewards.language.scene_graph import SceneGraph

EXACT, REWORDED, LOOSE, SAME_NAME, ABSENT, WRONG = 5.0, 4.0, 3.0, 2.0, 1.05, 1.0

POSTURE = lemmas("be sit stand rest lie located placed positioned situated appear there")
WITHIN = lemmas("in at on inside within upon")
PLACES = lemmas("left right top bottom center centre middle upper lower corner edge side")
SYMMETRIC = lemmas("near beside by next to with and touching alongside around facing")
PREPOSITIONS = lemmas(
    """about above across against along among around as at before behind below beneath between by down for from
    in into near next off on onto out outside over past through to together toward towards under up upon with"""
)
HAVING = lemmas("with have")
HOLDING = lemmas("hold wear carry contain include feature")  # whoever holds a thing has it
PART = lemmas("part of")
OF = lemmas("of")

# "a group of men", "on top of a box": nouns that stand for what they are "of"
SEVERAL = lemmas("group couple pair bunch lot number variety row set crowd herd flock both some all most many")
PARTS = lemmas("top front back side middle part end rest")
LIGHT = SEVERAL | PARTS | lemmas("one each")
COUNTS = {"coupl": "2", "pair": "2"}
VAGUE = lemmas("several many various some multiple few other different numerous more")  # any plural is that
# words that no other wording excuses: colours, counts, and one side of two
CHECKABLE = lemmas(
    """black white gray brown tan beige red orange yellow gold golden green blue turquoise teal navy purple violet pink
    maroon silver
    single one two three four five six seven eight nine ten
    left right top upper bottom lower front back big large huge small tiny little tall long short old elderly young new
    light bright dark open closed shut full empty wet dry"""
)
HEDGES = lemmas("possibly perhaps probably likely apparently seemingly maybe")  # say nothing of the thing
SAME_PLACE = {
    word: group.split()[0]
    for group in ("in at on inside within upon into onto", "near beside by next alongside close", "over above atop")
    for word in lemmas(group)
} | dict.fromkeys(lemmas("under below beneath underneath"), "under")


class TextIndex:
    """What one text says, by lemma. Mentions are resolved once each."""

    def __init__(self, graph: SceneGraph) -> None:
        self.graph = graph
        self.attributes = [[_counted(lemmas(text)) for text in entity.attributes] for entity in graph.entities]
        self.said: dict[tuple[int, int], list[frozenset[str]]] = defaultdict(list)  # (subject, object) -> relations
        self.does: list[list[frozenset[str]]] = [[] for _ in graph.entities]
        self.linked: list[set[int]] = [set() for _ in graph.entities]
        names = [{lemmas(head) for head in (entity.head, *entity.heads)} for entity in graph.entities]
        meant = self._meant(graph, names)
        for relation in graph.relations:
            words = lemmas(relation.relation)
            subject, object_ = relation.subject, relation.object
            for pair in dict.fromkeys(((subject, object_), (meant[subject], meant[object_]))):
                self.said[pair].append(words)
                self.does[pair[0]].append(words)
                self.linked[pair[0]].add(pair[1])
                self.linked[pair[1]].add(pair[0])
        self.plural = [any(is_plural(head) for head in (entity.head, *entity.heads)) for entity in graph.entities]
        self.nouns = [{word for name in own for word in name - PLACES} for own in names]
        self.is_place = [any(name <= PLACES for name in own) for own in names]
        self.named: dict[frozenset[str], list[int]] = defaultdict(list)
        self.placed: dict[frozenset[str], list[int]] = defaultdict(list)  # "left" of "the top left corner"
        self.modified: dict[str, list[int]] = defaultdict(list)  # what "coffee" describes in "coffee cup"
        for number in range(len(graph.entities)):
            for name in names[number]:
                self.named[name].append(number)
            if self.is_place[number]:
                for attribute in self.attributes[number]:
                    if attribute <= PLACES and attribute not in names[number]:
                        self.placed[attribute].append(number)
            else:
                for word in {word for attribute in self.attributes[number] for word in attribute}:
                    for noun in {word, *kin(word)}:
                        self.modified[noun].append(number)
        self.places = any(self.is_place)
        self.words = frozenset(word for sentence in graph.sentences for word in lemmas(sentence))
        self.attached = frozenset(
            word for said in (*self.attributes, *self.does) for words in said for word in words - PREPOSITIONS
        )
        self._resolved: dict[Mention, tuple[float, list[int]]] = {}

    def _meant(self, graph: SceneGraph, names: Sequence[set[frozenset[str]]]) -> list[int]:
        """Per entity the one it stands for: "men" for the group in "a group of men", else itself."""
        meant = list(range(len(graph.entities)))
        for relation in graph.relations:
            subject, object_ = relation.subject, relation.object
            if lemmas(relation.relation) == OF and all(name <= LIGHT for name in names[subject]):
                meant[subject] = object_
                said = [*self.attributes[object_], *map(_counted, names[subject]), *self.attributes[subject]]
                self.attributes[object_] = list(dict.fromkeys(said))  # else groups of groups of groups double it
        return meant

    def rating(self, probe: PresenceProbe) -> float:
        """The rating of one question about this text."""
        how, subjects = self.resolve(probe.mention)
        if probe.kind == "entity" or how == ABSENT:
            return how
        words = lemmas(probe.words)
        if probe.kind == "attribute":
            return max((self._described(number, words) for number in subjects), default=self._loose(words))
        if probe.other is None:
            raise ValueError(f"a relation probe needs the other mention, got {probe}")
        other, objects = self.resolve(probe.other)
        if other == ABSENT:
            return ABSENT
        return self._related(subjects, objects, words) if subjects and objects else self._loose(words)

    def resolve(self, mention: Mention) -> tuple[float, list[int]]:
        """How well the identifier is met, and the entities it may mean: those that fit it, else all of its name.

        None may be left of a thing whose word is there but names nothing, as "ski" in "two people skiing".
        """
        if mention not in self._resolved:
            self._resolved[mention] = self._resolve(mention)
        return self._resolved[mention]

    def _resolve(self, mention: Mention) -> tuple[float, list[int]]:
        how, namesakes = self._namesakes(mention)
        if not namesakes:
            return how, []
        fitting = [
            number
            for number in namesakes
            if all(self._described(number, lemmas(words)) > SAME_NAME for words in mention.attributes)
            and all(self._linked(number, link) for link in mention.links)
        ]
        if not fitting and mention.links and lemmas(mention.head) <= PLACES:
            return SAME_NAME, self._places_of(mention.links)
        pool = fitting or namesakes
        if len(pool) > 1:
            shared = [self._shared(number, mention.details, mention.ties) for number in pool]
            pool = [number for number, count in zip(pool, shared, strict=True) if count == max(shared)]
        return (how if fitting else SAME_NAME), pool

    def _places_of(self, links: Sequence[Link]) -> list[int]:
        """A place is nothing without what is there: the places where the text has those things ("the top left corner"
        for "the top edge"), and no others.
        """
        owners = {owner for link in links if link.reverse for owner in self.resolve(link.other)[1]}
        return [place for owner in owners for place in sorted(self.linked[owner]) if self.is_place[place]]

    def _namesakes(self, mention: Mention) -> tuple[float, list[int]]:
        """The entities of that name; else those it is said of in other ways, from the surest to the least sure."""
        name = lemmas(mention.head)
        if name in self.named:
            return EXACT, self.named[name]
        if name in self.placed:
            return REWORDED, self.placed[name]
        for words in (*mention.attributes, *mention.details):  # "snow board" for "snowboard"
            joined = lemmas(words.replace(" ", "") + mention.head)
            if joined in self.named:
                return REWORDED, self.named[joined]
        if name <= LIGHT:
            for link in (*mention.links, *mention.ties):
                if lemmas(link.relation) == OF and not link.reverse and not lemmas(link.other.head) <= LIGHT:
                    how, numbers = self.resolve(link.other)
                    if numbers:
                        return min(how, REWORDED), numbers
        if name <= SEVERAL and any(self.plural):
            return REWORDED, [number for number, plural in enumerate(self.plural) if plural]
        if name <= PARTS and not self.places:
            return REWORDED, list(range(len(self.plural)))
        if name <= PLACES:
            return ABSENT, []
        modified = [number for word in name for number in self.modified.get(word, ())]
        if modified:
            return REWORDED, list(dict.fromkeys(modified))
        return (REWORDED if name <= self.words else ABSENT), []

    def _shared(self, number: int, details: Sequence[str], ties: Sequence[Link]) -> int:
        """How much of what is said of a thing elsewhere holds here of this entity."""
        described = sum(self._described(number, lemmas(words)) > LOOSE for words in details)
        return described + sum(self._linked(number, link) for link in ties)

    def _described(self, number: int, words: frozenset[str]) -> float:
        """Is the entity given this attribute, or does it do this (as the subject of a relation)?"""
        said = (*self.attributes[number], *self.does[number])
        if any(words <= other for other in said):
            return EXACT
        if (
            words <= POSTURE | HEDGES
            or (words <= VAGUE and self.plural[number])
            or any(agreement(words, other) > LOOSE for other in said)
        ):
            return REWORDED
        known = frozenset(word for other in said for word in other)
        if all(self._derived(number, word, known) for word in words):
            return REWORDED
        return self._loose(words)

    def _derived(self, number: int, word: str, known: frozenset[str]) -> bool:
        """ "snowy" where the thing is "snow covered", "grass" field for a field of grass."""
        nouns = {word, *kin(word)}
        return (
            word in known
            or not nouns.isdisjoint(known)
            or any(nouns & self.nouns[other] for other in self.linked[number])
        )

    def _loose(self, words: frozenset[str]) -> float:
        """Whether the text has these words, and of nothing: the parser lost what they belong to."""
        if words <= self.words and words.isdisjoint(self.attached):
            return LOOSE
        return ABSENT if words.isdisjoint(CHECKABLE) else WRONG

    def _linked(self, number: int, link: Link) -> bool:
        _, others = self.resolve(link.other)
        words = lemmas(link.relation)
        near = (self.linked[number] | {number}).intersection(others)
        if words == PART:  # said in many ways: "the man's hat", "the man wears a hat", "the hat of the man"
            return any((number, other) in self.said or (other, number) in self.said for other in near)
        pairs = [(other, number) if link.reverse else (number, other) for other in near]
        return any(self._said_of(subject, object_, words) > LOOSE for subject, object_ in pairs)

    def _related(self, subjects: Sequence[int], objects: Sequence[int], words: frozenset[str]) -> float:
        """The best that is said of any pair; neither is empty. Pairs of which nothing is said are not gone through."""
        wanted = set(objects)
        near = {subject: (self.linked[subject] | {subject}) & wanted for subject in subjects}
        best = max((self._said_of(s, o, words) for s, others in near.items() for o in others), default=WRONG)
        if best > LOOSE or all(others == wanted for others in near.values()):
            return best
        if not words - POSTURE - PREPOSITIONS - WITHIN <= self.words:
            return max(best, ABSENT)
        free = {o for o in wanted if not any(agreement(words, said) > ABSENT for said in self._said_to(o))}
        loose = any(
            len(free & near[subject]) < len(free)
            and not any(agreement(words, said) > ABSENT for said in self.does[subject])
            for subject in near
        )
        return max(best, LOOSE if loose else WRONG)

    def _said_of(self, subject: int, object_: int, words: frozenset[str]) -> float:
        """What is said of one and the same thing, or of two of whose relations something is said."""
        if subject == object_:  # "cup of coffee" for "coffee cup", "top of the box" for "box"
            return REWORDED if words <= OF | PART | WITHIN | HAVING else ABSENT
        said = list(self.said.get((subject, object_), ()))
        if words <= SYMMETRIC:
            said += self.said.get((object_, subject), [])
        best = max((agreement(words, other) for other in said), default=ABSENT)
        return best if best > ABSENT else WRONG

    def _said_to(self, object_: int) -> Iterator[frozenset[str]]:
        """How others lie to the object."""
        for other in self.linked[object_]:
            yield from self.said.get((other, object_), ())


def _counted(words: frozenset[str]) -> frozenset[str]:
    """The words with the numbers that some of them mean."""
    return words | {COUNTS[word] for word in words if word in COUNTS}


@lru_cache(maxsize=8192)
def agreement(asked: frozenset[str], said: frozenset[str]) -> float:
    """Do the words of one relation say the other? Postures are small words, and so are in / at / on."""
    if asked <= said:
        return EXACT
    core, said_core = _core(asked), _core(said)
    if core <= said_core:
        return REWORDED
    verbs = core - PREPOSITIONS
    if verbs and verbs == said_core - PREPOSITIONS and (core <= verbs or said_core <= verbs):
        return REWORDED  # "rides on" for "rides"
    if core <= HAVING and not said_core.isdisjoint(HAVING | HOLDING):
        return REWORDED
    return LOOSE if core <= HOLDING and said_core <= HAVING else ABSENT


def _core(words: frozenset[str]) -> frozenset[str]:
    """A relation's words without postures, each preposition by one name of its place ("next to" is "near")."""
    core = frozenset(SAME_PLACE.get(word, word) for word in words if word not in POSTURE)
    return core - {"to"} if "near" in core else core
