"""An index of a scene graph by lemma.

It rates presence questions as match_judge.py says: 5, 4, 3, 2, 1.05 or 1.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain

from spanreward.rewards.judges.probe import Link, Mention, PresenceProbe
from spanreward.rewards.language import words as word_lists
from spanreward.rewards.language.lemmas import is_plural, kin, lemmas
from spanreward.rewards.language.scene_graph import SceneGraph

# the ratings, as match_judge.py explains them
EXACT = 5.0
REWORDED = 4.0
LOOSE = 3.0
SAME_NAME = 2.0
ABSENT = 1.05
WRONG = 1.0

# says that a thing is at a place, which the preposition says too: "sits in" is "in"
POSTURE = lemmas("be sit stand rest lie located placed positioned situated appear there")
WITHIN = lemmas("in at on inside within upon")
PLACES = lemmas("left right top bottom center centre middle upper lower corner edge side")
# holds in both directions: what is near the dog has the dog near it
SYMMETRIC = lemmas("near beside by next to with and touching alongside around facing")
PREPOSITIONS = lemmas(" ".join(word_lists.PLACING))
HAVING = lemmas("with have")
OWNING = lemmas(" ".join(word_lists.HAVING)) | HAVING  # who holds a thing has it
PART = lemmas("part of")
OF = lemmas("of")
SEVERAL = lemmas(" ".join(word_lists.QUANTITIES))
PARTS = lemmas(" ".join(word_lists.PARTS))
# heads that stand for what follows "of": "a group of men", "one of the men", "the top of a box"
LIGHT = SEVERAL | PARTS | lemmas("one each")
# true of any plural
VAGUE = lemmas("several many various some multiple few other different numerous more")
# Words that have no other wording: colours, counts and one side of two.
CHECKABLE = lemmas(
    """black white gray brown tan beige red orange yellow gold golden green blue turquoise teal
    navy purple violet pink maroon silver single one two three four five six seven eight nine ten
    left right top upper bottom lower front back big large huge small tiny little tall long short
    old elderly young new light bright dark open closed shut full empty wet dry"""
)
PAIR = lemmas("couple pair")
TWO = lemmas("two")
# prepositions that say the same place, and one of them that stands for all
SAME_PLACE = {
    **dict.fromkeys(lemmas("in at on inside within upon into onto"), "in"),
    **dict.fromkeys(lemmas("near beside by next alongside close"), "near"),
    **dict.fromkeys(lemmas("over above atop"), "above"),
    **dict.fromkeys(lemmas("under below beneath underneath"), "under"),
}


class TextIndex:
    """What one text says, by lemma.

    Args:
        graph: the text's scene graph.

    Attributes:
        attributes, plural, nouns, is_place: of each entity, in the order of `graph.entities`: its
            attributes, whether a head is a plural, the words of its heads without those of places,
            and whether it is a part of a picture or a thing ("the left corner").
        does, undergoes, linked: of each entity too, what the text relates it to.
        relations: what relates a subject to an object, by their numbers.
        named, placed, partial: the numbers of entities by a whole name, by a place's attribute and
            by a word.
        attached, words: the words that the text gives to some thing, and all that it has.
    """

    def __init__(self, graph: SceneGraph) -> None:
        self.graph = graph
        names: list[set[frozenset[str]]] = []
        self.attributes: list[list[frozenset[str]]] = []
        self.plural: list[bool] = []
        self.nouns: list[frozenset[str]] = []
        self.is_place: list[bool] = []
        # by entity: relations that it is the subject of, and those that it is the object of
        self.does: list[list[frozenset[str]]] = []
        self.undergoes: list[list[frozenset[str]]] = []
        # and the entities that it has any relation with
        self.linked: list[set[int]] = []
        for entity in graph.entities:
            # the heads of all mentions that are the same thing: "a man", "the player"
            heads = (entity.head, *entity.heads)
            of_entity = set(map(lemmas, heads))
            names.append(of_entity)
            attributes = list(map(lemmas, entity.attributes))
            self.attributes.append(attributes)
            self.plural.append(any(map(is_plural, heads)))
            self.nouns.append(frozenset().union(*of_entity) - PLACES)
            self.is_place.append(any(name <= PLACES for name in of_entity))
            self.does.append([])
            self.undergoes.append([])
            self.linked.append(set())
        # by subject and object
        self.relations: dict[tuple[int, int], list[frozenset[str]]] = defaultdict(list)
        # "A group of men holds flags": the group does, and so do the men.
        meant = self._meant(graph, names)
        for relation in graph.relations:
            words = lemmas(relation.relation)
            pair = (relation.subject, relation.object)
            meant_pair = (meant[relation.subject], meant[relation.object])
            self._relate(*pair, words)
            if meant_pair != pair:
                self._relate(*meant_pair, words)
        # by name, the entities that have it
        self.named: dict[frozenset[str], list[int]] = defaultdict(list)
        # "left" of "the top left corner"
        self.placed: dict[frozenset[str], list[int]] = defaultdict(list)
        # what "coffee" describes in "coffee cup", and "shirt" of "T-shirt"
        self.partial: dict[str, set[int]] = defaultdict(set)
        for number, of_entity in enumerate(names):
            self._add_names(number, of_entity)
        # the words that the parser has tied to a thing
        details = list(chain(*self.attributes, *self.does))
        self.attached = frozenset().union(*details) - PREPOSITIONS
        # These and the names, and no other words: precision asks about components alone.
        self.words = frozenset().union(*details, *self.named)
        self._resolved: dict[Mention, tuple[float, list[int]]] = {}

    def _meant(self, graph: SceneGraph, names: Sequence[set[frozenset[str]]]) -> list[int]:
        """Returns per entity the one that it stands for: "men" for the group in "a group of men",
        else itself.
        """
        meant = list(range(len(names)))
        for relation in graph.relations:
            group = relation.subject
            object_ = relation.object
            if lemmas(relation.relation) != OF:
                continue
            if not all(name <= LIGHT for name in names[group]):
                continue
            meant[group] = object_
            # What is said of the group is said of the men, who are "large" and a "group" too.
            attributes = [*self.attributes[object_], *names[group]]
            attributes += self.attributes[group]
            if any(name & PAIR for name in names[group]):
                attributes.append(TWO)
            # without repeats, which groups of groups double
            self.attributes[object_] = list(dict.fromkeys(attributes))
        return meant

    def _relate(self, subject: int, object_: int, words: frozenset[str]) -> None:
        """Adds a relation to the indexes by pair and by entity."""
        self.relations[subject, object_].append(words)
        self.does[subject].append(words)
        self.undergoes[object_].append(words)
        self.linked[subject].add(object_)
        self.linked[object_].add(subject)

    def _add_names(self, number: int, names: set[frozenset[str]]) -> None:
        """Adds an entity to the indexes by name."""
        for name in names:
            self.named[name].append(number)
        nouns = set(self.nouns[number])
        for attribute in self.attributes[number]:
            if not self.is_place[number]:
                # "snow" of "a snowy hill" too
                nouns.update(attribute)
                for word in attribute:
                    nouns.update(kin(word))
            elif attribute <= PLACES and attribute not in names:
                self.placed[attribute].append(number)
        for noun in nouns:
            self.partial[noun].add(number)

    def rating(self, probe: PresenceProbe) -> float:
        """Returns the rating of one question about this text."""
        how, subjects = self.resolve(probe.mention)
        # a thing that is not there has no attribute and no relation
        if probe.kind in ("entity", "denied") or how == ABSENT:
            return how
        words = lemmas(probe.words)
        # an attribute: one thing of several that has it is enough
        if probe.other is None:
            ratings = [self._described(number, words) for number in subjects]
            return max(ratings, default=self._loose(words))
        # a relation
        how_other, objects = self.resolve(probe.other)
        if how_other == ABSENT:
            return ABSENT
        if subjects and objects:
            return self._related(subjects, objects, words)
        return self._loose(words)

    def resolve(self, mention: Mention) -> tuple[float, list[int]]:
        """Returns a rating and the entities that a mention may mean: those that fit it, else all of
        its name.

        There is no entity where the text has the word but no thing of that name, as "ski" in "two
        people skiing".
        """
        if mention not in self._resolved:
            self._resolved[mention] = self._resolve(mention)
        return self._resolved[mention]

    def _resolve(self, mention: Mention) -> tuple[float, list[int]]:
        """Returns what `resolve` does, without looking it up."""
        how, namesakes = self._namesakes(mention)
        fitting = [number for number in namesakes if self._fits(number, mention)]
        if fitting or not namesakes:
            return how, self._likest(fitting, mention)
        # There are things of that name, and each is described otherwise.
        if mention.links and lemmas(mention.head) <= PLACES:
            return SAME_NAME, self._places_of_owners(mention)
        return SAME_NAME, self._likest(namesakes, mention)

    def _fits(self, number: int, mention: Mention) -> bool:
        """Returns whether the entity has all attributes and links of the mention."""
        for words in mention.attributes:
            if self._described(number, lemmas(words)) <= SAME_NAME:
                return False
        return all(self._linked(number, link) for link in mention.links)

    def _places_of_owners(self, mention: Mention) -> list[int]:
        """Returns the places where the text has the things that a place is linked to: "the top left
        corner" for "the top edge".
        """
        near: set[int] = set()
        for link in mention.links:
            if link.reverse:
                _, owners = self.resolve(link.other)
                for owner in owners:
                    near |= self.linked[owner]
        return [number for number in near if self.is_place[number]]

    def _likest(self, numbers: list[int], mention: Mention) -> list[int]:
        """Returns the entities that share most details with the mention."""
        if len(numbers) < 2:
            return numbers
        details = [lemmas(words) for words in mention.details]
        shared: dict[int, int] = {}
        for number in numbers:
            count = 0
            for words in details:
                if self._described(number, words) > LOOSE:
                    count += 1
            for link in mention.ties:
                if self._linked(number, link):
                    count += 1
            shared[number] = count
        most = max(shared.values())
        return [number for number in numbers if shared[number] == most]

    def _namesakes(self, mention: Mention) -> tuple[float, list[int]]:
        """Returns a rating and the entities of that name, else those of the surest other way to say
        it.
        """
        name = lemmas(mention.head)
        if name in self.named:
            return EXACT, self.named[name]
        # "left" for "the top left corner"
        if name in self.placed:
            return REWORDED, self.placed[name]
        # "snow board" for "snowboard"
        for words in (*mention.attributes, *mention.details):
            joined = lemmas(words.replace(" ", "") + mention.head)
            if joined in self.named:
                return REWORDED, self.named[joined]
        # "group" for "men": any things may be one
        if name <= SEVERAL and any(self.plural):
            plurals = []
            for number, is_plural_entity in enumerate(self.plural):
                if is_plural_entity:
                    plurals.append(number)
            return REWORDED, plurals
        # "top" for "box": each thing has such parts, which the text need not name
        if name <= PARTS and not any(self.is_place):
            return REWORDED, list(range(len(self.plural)))
        if name <= PLACES:
            return ABSENT, []
        # "coffee" for "coffee cup": the things that have all words of the name
        described = []
        for word in name:
            described.append(self.partial.get(word, set()))
        whole = set.intersection(*described)
        how = REWORDED if whole or name <= self.words else ABSENT
        return how, sorted(whole)

    def _described(self, number: int, words: frozenset[str]) -> float:
        """Rates whether the entity has this attribute, or is the subject of this relation."""
        details = (*self.attributes[number], *self.does[number])
        ratings = [agreement(words, detail) for detail in details]
        best = max(ratings, default=WRONG)
        if best > LOOSE:
            return best
        # "is there" is true of whatever is named, and "several" of any plural
        if words <= POSTURE:
            return REWORDED
        if words <= VAGUE and self.plural[number]:
            return REWORDED
        # The words may be scattered over what the text says of the thing and of what it is tied to.
        nouns = [self.nouns[neighbour] for neighbour in self.linked[number]]
        context = frozenset().union(*details, *nouns)
        for word in words:
            if word not in context and context.isdisjoint(kin(word)):
                return self._loose(words)
        return REWORDED  # "snowy" for a "snow covered" thing, "grass" for a field of grass

    def _loose(self, words: frozenset[str]) -> float:
        """Rates words that the text may have without giving them to a thing: the parser lost what
        they belong to.
        """
        if words <= self.words and words.isdisjoint(self.attached):
            return LOOSE
        if words.isdisjoint(CHECKABLE):
            return ABSENT  # the text may say it in words that are not known here
        return WRONG

    def _linked(self, number: int, link: Link) -> bool:
        """Returns whether the entity has this link of a mention."""
        words = lemmas(link.relation)
        _, partners = self.resolve(link.other)
        near = (self.linked[number] | {number}).intersection(partners)
        # said in many ways: "the man's hat", "the man wears a hat", "the hat of the man"
        if words == PART:
            return not near.isdisjoint(self.linked[number])
        for neighbour in near:
            subject, object_ = number, neighbour
            if link.reverse:
                subject, object_ = neighbour, number
            if self._pair_rating(subject, object_, words) > LOOSE:
                return True
        return False

    def _related(
        self,
        subjects: Sequence[int],
        objects: Sequence[int],
        words: frozenset[str],
    ) -> float:
        """Returns the best rating of any pair.

        It only visits pairs that the text relates. Neither list is empty.
        """
        all_objects = set(objects)
        near: dict[int, set[int]] = {}  # by subject, the objects that the text relates it to
        for subject in subjects:
            near[subject] = all_objects & {subject, *self.linked[subject]}
        best = WRONG
        for subject, neighbours in near.items():
            for neighbour in neighbours:
                rating = self._pair_rating(subject, neighbour, words)
                best = max(best, rating)
        if best > LOOSE:
            return best
        # What the text says of each pair is something else.
        if all(neighbours == all_objects for neighbours in near.values()):
            return best
        # Some pair is not related. The text lacks the words, but it may use others.
        needed = words - POSTURE - PREPOSITIONS - WITHIN
        if not needed <= self.words:
            return max(best, ABSENT)
        # Where neither thing has the relation with another one, the parser may have lost it.
        free: set[int] = set()
        for number in all_objects:
            if not _is_said(words, self.undergoes[number]):
                free.add(number)
        for subject, neighbours in near.items():
            if free - neighbours and not _is_said(words, self.does[subject]):
                return max(best, LOOSE)
        return best

    def _pair_rating(self, subject: int, object_: int, words: frozenset[str]) -> float:
        """Rates whether the relation holds from the subject to the object, which may be the same
        entity.
        """
        if subject == object_ and (subject, object_) not in self.relations:
            # "cup of coffee" for "coffee cup", "top of the box" for "box"
            if words <= OF | PART | WITHIN | HAVING:
                return REWORDED
            return ABSENT
        pair = (subject, object_)
        relations = list(self.relations.get(pair, ()))
        if words <= SYMMETRIC:
            reversed_pair = (object_, subject)
            relations += self.relations.get(reversed_pair, [])
        ratings = [agreement(words, relation) for relation in relations]
        return max(ratings, default=WRONG)


def _is_said(words: frozenset[str], relations: Iterable[frozenset[str]]) -> bool:
    """Returns whether one of the relations says these words, if in other words."""
    return any(agreement(words, relation) > LOOSE for relation in relations)


@lru_cache(maxsize=8192)
def agreement(words: frozenset[str], relation: frozenset[str]) -> float:
    """Rates whether a relation of the text says the words, where postures and in / at / on count
    little: 5, 4 or 1.
    """
    if words <= relation:
        return EXACT
    core = _core(words)
    relation_core = _core(relation)
    # "sits beside" for "is next to"
    if core <= relation_core:
        return REWORDED
    # "with" for "wears"
    if core <= HAVING and relation_core & OWNING:
        return REWORDED
    # "rides on" for "rides": the same verb, and on one side no preposition
    verbs = core - PREPOSITIONS
    has_same_verbs = bool(verbs) and verbs == relation_core - PREPOSITIONS
    if has_same_verbs and verbs in (core, relation_core):
        return REWORDED
    return WRONG


def _core(words: frozenset[str]) -> frozenset[str]:
    """Returns a relation's words without postures, with one name for each place: "next to" is
    "near".
    """
    core: set[str] = set()
    for word in words:
        if word not in POSTURE:
            core.add(SAME_PLACE.get(word, word))
    if "near" in core:
        core.discard("to")
    return frozenset(core)
