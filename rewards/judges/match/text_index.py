"""Rates presence questions about a text with an index of the text's scene graph by base form.

The ratings are 5, 4, 3, 2, 1.05 and 1. match_judge.py explains them.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from functools import lru_cache
from itertools import chain

from spanreward.rewards.judges.probe import Link, Mention, PresenceProbe
from spanreward.rewards.language import words as word_lists
from spanreward.rewards.language.lemmas import is_plural, lemmas_of_phrase, nouns_of_adjective
from spanreward.rewards.language.scene_graph import Entity, SceneGraph

# the ratings (match_judge.py explains them)
EXACT_RATING = 5.0
REWORDED_RATING = 4.0
LOOSE_RATING = 3.0
SAME_NAME = 2.0
ABSENT_RATING = 1.05  # 95 % of the probability on 1, and 5 % on 2
WRONG_RATING = 1.0

# Sets of base forms. Phrases are compared as sets of base forms, too: "next to" is {"next", "to"}.
# Words that add nothing to a preposition of place: "sits in" means "in".
POSTURE_LEMMAS = lemmas_of_phrase(
    "be sit stand rest lie located placed positioned situated appear there"
)
WITHIN_LEMMAS = lemmas_of_phrase("in at on inside within upon")
PLACE_LEMMAS = lemmas_of_phrase(
    "left right top bottom center centre middle upper lower corner edge side"
)
# Relations that hold in both directions: if the cat is near the dog, the dog is near the cat.
SYMMETRIC_RELATIONS = lemmas_of_phrase(
    "near beside by next to with and touching alongside around facing"
)
PLACE_PREPOSITIONS = lemmas_of_phrase(" ".join(word_lists.PLACING_PREPOSITIONS))
HAVE_LEMMAS = lemmas_of_phrase("with have")
# "holds" and "wears" imply "has"
OWNING_LEMMAS = lemmas_of_phrase(" ".join(word_lists.HAVING_VERBS)) | HAVE_LEMMAS
PART_OF_LEMMAS = lemmas_of_phrase("part of")
OF_LEMMA = lemmas_of_phrase("of")
QUANTITY_LEMMAS = lemmas_of_phrase(" ".join(word_lists.QUANTITY_NOUNS))
PART_LEMMAS = lemmas_of_phrase(" ".join(word_lists.PART_NOUNS))
# Heads that stand for the noun after "of": "a group of men", "one of the men", "the top of a box".
LIGHT_HEADS = QUANTITY_LEMMAS | PART_LEMMAS | lemmas_of_phrase("one each")
# Attributes that are true of every plural.
VAGUE_ATTRIBUTES = lemmas_of_phrase(
    "several many various some multiple few other different numerous more"
)
# Colours, counts and opposites. A text without such a word has no other word for the same.
CHECKABLE_ATTRIBUTES = lemmas_of_phrase(
    """black white gray brown tan beige red orange yellow gold golden green blue turquoise teal
    navy purple violet pink maroon silver single one two three four five six seven eight nine ten
    left right top upper bottom lower front back big large huge small tiny little tall long short
    old elderly young new light bright dark open closed shut full empty wet dry"""
)
PAIR_LEMMAS = lemmas_of_phrase("couple pair")
TWO_LEMMA = lemmas_of_phrase("two")
# By preposition, the word that stands for all prepositions of the same place: "beside" is "near".
SAME_PLACE = {
    **dict.fromkeys(lemmas_of_phrase("in at on inside within upon into onto"), "in"),
    **dict.fromkeys(lemmas_of_phrase("near beside by next alongside close"), "near"),
    **dict.fromkeys(lemmas_of_phrase("over above atop"), "above"),
    **dict.fromkeys(lemmas_of_phrase("under below beneath underneath"), "under"),
}


class TextIndex:
    """An index of one text by base form. An entity is a number, its index in `graph.entities`. A
    phrase is the set of its base forms.

    Args:
        graph: the text's scene graph.

    Attributes:
        attributes: for each entity, its attributes.
        plural: for each entity, whether one of its heads is a plural.
        nouns: for each entity, the words of its heads, without words of places.
        is_place: for each entity, whether it is a place in a picture or thing ("the left corner").
        does: for each entity, the relations with the entity as their subject.
        undergoes: for each entity, the relations with the entity as their object.
        linked: for each entity, the entities that share a relation with it.
        relations: the relations from a subject to an object, by (subject, object).
        named: the entities with a head, by head.
        placed: the places with an attribute, by attribute: "left" finds "the top left corner".
        partial: the entities that a word names or describes: "coffee" finds "coffee cup".
        attached: the words of attributes and relations, without prepositions.
        words: the words of heads, attributes and relations.
    """

    def __init__(self, graph: SceneGraph) -> None:
        self.graph = graph
        # by entity: its attributes, whether it is plural, the nouns of its names, whether it is a
        # place
        self.attributes: list[list[frozenset[str]]] = []
        self.plural: list[bool] = []
        self.nouns: list[frozenset[str]] = []
        self.is_place: list[bool] = []
        names = [self._add_entity(entity) for entity in graph.entities]
        count = len(graph.entities)
        # by entity: its relations as the subject, its relations as the object, the related entities
        self.does: list[list[frozenset[str]]] = [[] for _ in range(count)]
        self.undergoes: list[list[frozenset[str]]] = [[] for _ in range(count)]
        self.linked: list[set[int]] = [set() for _ in range(count)]
        # by subject and object: the relations between them
        self.relations: dict[tuple[int, int], list[frozenset[str]]] = defaultdict(list)
        self._add_relations(graph, self._entities_meant(graph, names))
        # the maps by which a question finds an entity (see `_add_names`)
        self.named: dict[frozenset[str], list[int]] = defaultdict(list)
        self.placed: dict[frozenset[str], list[int]] = defaultdict(list)
        self.partial: dict[str, set[int]] = defaultdict(set)
        for number, names_of_entity in enumerate(names):
            self._add_names(number, names_of_entity)
        # `words` are all words of the graph. The text's other words are left out, because questions
        # are only about things, attributes and relations. `attached` are the words that the parser
        # connected to a thing.
        details = list(chain(*self.attributes, *self.does))
        self.attached = frozenset().union(*details) - PLACE_PREPOSITIONS
        self.words = frozenset().union(*details, *self.named)
        self._resolved: dict[Mention, tuple[float, list[int]]] = {}

    def _add_entity(self, entity: Entity) -> set[frozenset[str]]:
        """Adds the next entity to `attributes`, `plural`, `nouns` and `is_place`, and returns its
        heads as sets of base forms: {{"man"}, {"player"}} for "a man ... the player".
        """
        heads = (entity.head, *entity.heads)
        names = set(map(lemmas_of_phrase, heads))
        self.attributes.append(list(map(lemmas_of_phrase, entity.attributes)))
        self.plural.append(any(map(is_plural, heads)))
        self.nouns.append(frozenset().union(*names) - PLACE_LEMMAS)
        self.is_place.append(any(name <= PLACE_LEMMAS for name in names))
        return names

    def _add_relations(self, graph: SceneGraph, meant: Sequence[int]) -> None:
        """Adds all relations. "A group of men holds flags" gives a relation of the group and a
        relation of the men.

        meant: for each entity, the entity that it stands for (`_entities_meant`).
        """
        for relation in graph.relations:
            words = lemmas_of_phrase(relation.relation)
            pair = (relation.subject, relation.object)
            meant_pair = (meant[relation.subject], meant[relation.object])
            self._add_relation(*pair, words)
            if meant_pair != pair:
                self._add_relation(*meant_pair, words)

    def _entities_meant(self, graph: SceneGraph, names: Sequence[set[frozenset[str]]]) -> list[int]:
        """Returns for each entity the entity that it stands for: "men" for the group in "a group of
        men", and the entity itself in all other cases. The attributes of the group also become
        attributes of the men.

        names: the heads of each entity.
        """
        meant = list(range(len(names)))
        for relation in graph.relations:
            group = relation.subject
            is_of = lemmas_of_phrase(relation.relation) == OF_LEMMA
            is_light = all(name <= LIGHT_HEADS for name in names[group])
            if is_of and is_light:
                meant[group] = relation.object
                self._copy_attributes(group, relation.object, names[group])
        return meant

    def _copy_attributes(self, group: int, member: int, names: set[frozenset[str]]) -> None:
        """Gives the attributes and names of a group to what the group consists of: in "a large
        group of men", the men get the attributes "large" and "group". In "a pair of men", the men
        get the attributes "pair" and "two".

        group, member: the numbers of the two entities, here of the group and of the men. names: the
        heads of the group.
        """
        attributes = [*self.attributes[member], *names, *self.attributes[group]]
        is_pair = any(name & PAIR_LEMMAS for name in names)
        if is_pair:
            attributes.append(TWO_LEMMA)
        # Each attribute is kept once, in order. A text can link the same two entities very often,
        # and each link would otherwise add the same attributes again.
        self.attributes[member] = list(dict.fromkeys(attributes))

    def _add_relation(self, subject: int, object_: int, words: frozenset[str]) -> None:
        """Adds a relation to `relations`, `does`, `undergoes` and `linked`."""
        self.relations[subject, object_].append(words)
        self.does[subject].append(words)
        self.undergoes[object_].append(words)
        self.linked[subject].add(object_)
        self.linked[object_].add(subject)

    def _add_names(self, number: int, names: set[frozenset[str]]) -> None:
        """Adds an entity to three maps by which a question finds it.

        `named` finds it by a whole name ("coffee cup"), `partial` by one word of a name or an
        attribute ("coffee"), and `placed` finds a place by its attribute ("left" finds "the left
        corner").

        number: the entity's number. names: the heads of the entity.
        """
        for name in names:
            self.named[name].append(number)
        partial_names = set(self.nouns[number])
        if self.is_place[number]:
            # a question about "the left" finds "the left corner"
            for attribute in self.attributes[number]:
                is_in_named = attribute in names
                if attribute <= PLACE_LEMMAS and not is_in_named:
                    self.placed[attribute].append(number)
        else:
            # "a snowy hill" adds "snowy" and "snow"
            for word in chain.from_iterable(self.attributes[number]):
                partial_names.add(word)
                partial_names.update(nouns_of_adjective(word))
        for word in partial_names:
            self.partial[word].add(number)

    def rating(self, probe: PresenceProbe) -> float:
        """Returns the rating of one question about this text, from 1 to 5."""
        rating_of_thing, subjects = self.resolve(probe.mention)
        # The question is about the thing alone.
        if probe.kind in ("entity", "denied"):
            return rating_of_thing
        # A thing that the text does not mention has no attribute and no relation.
        if rating_of_thing == ABSENT_RATING:
            return ABSENT_RATING
        words = lemmas_of_phrase(probe.words)
        # An attribute: if the mention may mean several things, the best rating counts.
        if probe.other is None:
            ratings = [self._detail_rating(number, words) for number in subjects]
            return max(ratings, default=self._rating_of_missing(words))
        # A relation.
        rating_of_other, objects = self.resolve(probe.other)
        if rating_of_other == ABSENT_RATING:
            return ABSENT_RATING
        if subjects and objects:
            return self._relation_rating(subjects, objects, words)
        return self._rating_of_missing(words)

    def resolve(self, mention: Mention) -> tuple[float, list[int]]:
        """Returns the rating of the question whether the text has the mentioned thing, and the
        entities that the mention may mean.

        The returned entities have the attributes and links of the mention. If the text has no such
        entity, entities with the same name are returned. The list is empty if the text has the word
        but no thing with the name, as "ski" in "two people skiing".
        """
        if mention not in self._resolved:
            self._resolved[mention] = self._resolve(mention)
        return self._resolved[mention]

    def _resolve(self, mention: Mention) -> tuple[float, list[int]]:
        """Computes the result of `resolve`, without its cache: the rating of the question whether
        the text has the mentioned thing, and the entities that the mention may mean.
        """
        rating, namesakes = self._entities_of_name(mention)
        fitting = [number for number in namesakes if self._has_all_details(number, mention)]
        if fitting or not namesakes:
            return rating, self._most_alike(fitting, mention)
        # The text has things with the name, but describes each of them in another way.
        # If the mention is a place, such as the corner of "a circle in the corner", the text may
        # name the circle's place otherwise.
        if mention.links and lemmas_of_phrase(mention.head) <= PLACE_LEMMAS:
            return SAME_NAME, self._places_of_same_things(mention)
        return SAME_NAME, self._most_alike(namesakes, mention)

    def _has_all_details(self, number: int, mention: Mention) -> bool:
        """Returns whether the entity has all attributes and links of the mention."""
        for words in mention.attributes:
            if self._detail_rating(number, lemmas_of_phrase(words)) <= SAME_NAME:
                return False
        return all(self._has_link(number, link) for link in mention.links)

    def _places_of_same_things(self, mention: Mention) -> list[int]:
        """Returns the numbers of the places that the text gives to the thing in the mentioned
        place.

        A question says "the circle is in the corner", and the text says "the circle is at the left
        edge". For the corner, this returns the number of the edge. The corner's mention is
        `Mention("corner", links=(Link("in", Mention("circle"), reverse=True),))`.
        """
        neighbours: set[int] = set()
        for link in mention.links:
            # a link is reversed if the place is the object of the relation ("circle in corner")
            is_place_object = link.reverse
            if is_place_object:
                _, things = self.resolve(link.other)
                for thing in things:
                    neighbours |= self.linked[thing]
        return [number for number in neighbours if self.is_place[number]]

    def _most_alike(self, numbers: list[int], mention: Mention) -> list[int]:
        """Returns the entities that share most details and ties with the mention, to choose among
        several things with one name.

        numbers: the entities to choose from.
        """
        if len(numbers) < 2:
            return numbers
        shared = {number: self._count_of_shared(number, mention) for number in numbers}
        most = max(shared.values())
        return [number for number in numbers if shared[number] == most]

    def _count_of_shared(self, number: int, mention: Mention) -> int:
        """Returns how many details and ties of the mention the entity has.

        Details (attributes) and ties (relations) help to choose between several entities of one
        name: for "the man in the red hat", the man with a red hat. An entity without them is still
        a possible answer.
        """
        count = 0
        for words in mention.details:
            if self._detail_rating(number, lemmas_of_phrase(words)) > LOOSE_RATING:
                count += 1
        for link in mention.ties:
            if self._has_link(number, link):
                count += 1
        return count

    def _entities_of_name(self, mention: Mention) -> tuple[float, list[int]]:
        """Returns the rating of the question whether the text has a thing with the mention's name,
        and the entities with the name. If no entity has the name, other ways to say the name are
        tried, the surest first.
        """
        name = lemmas_of_phrase(mention.head)
        if name in self.named:
            return EXACT_RATING, self.named[name]
        # "left" for "the top left corner"
        if name in self.placed:
            return REWORDED_RATING, self.placed[name]
        # "snow board" for "snowboard"
        for words in (*mention.attributes, *mention.details):
            joined = lemmas_of_phrase(words.replace(" ", "") + mention.head)
            if joined in self.named:
                return REWORDED_RATING, self.named[joined]
        # "group" for "men": any plural may be a group
        if name <= QUANTITY_LEMMAS and any(self.plural):
            plurals = [number for number, is_many in enumerate(self.plural) if is_many]
            return REWORDED_RATING, plurals
        # A question about "the top", and the text names no place at all, only "a box": every thing
        # has a top.
        if name <= PART_LEMMAS and not any(self.is_place):
            return REWORDED_RATING, list(range(len(self.plural)))
        # A question about "the corner", and the text names no corner: no other noun means a corner.
        if name <= PLACE_LEMMAS:
            return ABSENT_RATING, []
        return self._entities_described_by(name)

    def _entities_described_by(self, name: frozenset[str]) -> tuple[float, list[int]]:
        """Returns a rating and the entities that all words of a name describe: the coffee cup for
        the name "coffee". A text that has all words of the name somewhere is rated as high, but
        gives no entity.
        """
        described = [self.partial.get(word, set()) for word in name]
        entities = set.intersection(*described)
        rating = ABSENT_RATING
        if entities or name <= self.words:
            rating = REWORDED_RATING
        return rating, sorted(entities)

    def _detail_rating(self, number: int, words: frozenset[str]) -> float:
        """Returns the rating of the question whether the entity has this attribute, or is the
        subject of this relation.

        number: the entity's number. words: the base forms of the attribute or relation.
        """
        details = (*self.attributes[number], *self.does[number])
        ratings = [agreement_of_words(words, detail) for detail in details]
        best = max(ratings, default=WRONG_RATING)
        if best > LOOSE_RATING:
            return best
        # a posture, such as "stands" or "is there", is true of every thing that the text names
        if words <= POSTURE_LEMMAS:
            return REWORDED_RATING
        # "several" is true of every plural
        if words <= VAGUE_ATTRIBUTES and self.plural[number]:
            return REWORDED_RATING
        # Look for each word in all that the text says of the thing: its attributes and relations,
        # and the names of linked things. "grass" is in "a field of grass". An adjective is also
        # there if
        # its noun is: "snowy" for "snow covered".
        nouns = [self.nouns[neighbour] for neighbour in self.linked[number]]
        context = frozenset().union(*details, *nouns)
        for word in words:
            if word not in context and context.isdisjoint(nouns_of_adjective(word)):
                return self._rating_of_missing(words)
        return REWORDED_RATING

    def _rating_of_missing(self, words: frozenset[str]) -> float:
        """Returns the rating of an attribute or relation that no entity in question has.

        - LOOSE_RATING (3) if the text has the words, and the parser linked them to no thing.
        - WRONG_RATING (1) for a word of CHECKABLE_ATTRIBUTES, such as a colour: a text says "red"
          or does not.
        - ABSENT_RATING (1.05, a little better than wrong) for any other words: a text without the
          word "fluffy" may say "soft".
        """
        is_in_text = words <= self.words
        if is_in_text and words.isdisjoint(self.attached):
            return LOOSE_RATING
        is_checkable = not words.isdisjoint(CHECKABLE_ATTRIBUTES)
        return WRONG_RATING if is_checkable else ABSENT_RATING

    def _has_link(self, number: int, link: Link) -> bool:
        """Returns whether the text gives the entity this link: the dog of "a dog on a sofa" has
        `Link("on", Mention("sofa"))`, and the sofa has `Link("on", Mention("dog"), reverse=True)`.

        A link is a relation to another thing. A mention has links to say which of several dogs is
        meant.

        number: the entity's number.
        """
        relation = lemmas_of_phrase(link.relation)
        _, others = self.resolve(link.other)
        related_others = self.linked[number].intersection(others)
        # "part of" has many wordings, so any relation counts: "the man's hat", "the man wears a
        # hat", "the hat of the man".
        if relation == PART_OF_LEMMAS:
            return bool(related_others)
        possible_others = set(related_others)
        # The question's "cup of coffee" is two things, and the text's "coffee cup" is one entity.
        # Then this entity is both the cup and the other thing.
        if number in others:
            possible_others.add(number)
        for other in possible_others:
            if link.reverse:
                rating = self._pair_rating(subject=other, object_=number, words=relation)
            else:
                rating = self._pair_rating(subject=number, object_=other, words=relation)
            if rating > LOOSE_RATING:
                return True
        return False

    def _relation_rating(
        self,
        subjects: Sequence[int],
        objects: Sequence[int],
        words: frozenset[str],
    ) -> float:
        """Returns the rating of a relation that may hold between any of the subjects and any of the
        objects: the best rating of a pair.

        subjects, objects: entities, at least one each. words: the relation.
        """
        all_objects = set(objects)
        related: dict[int, set[int]] = {}  # by subject, the objects with any relation to it
        for subject in subjects:
            related[subject] = all_objects & {subject, *self.linked[subject]}
        best = WRONG_RATING
        for subject, related_objects in related.items():
            for object_ in related_objects:
                best = max(best, self._pair_rating(subject, object_, words))
        if best > LOOSE_RATING:
            return best
        # If the text relates every pair, it relates each of them in another way than the question.
        if all(related_objects == all_objects for related_objects in related.values()):
            return best
        # Here the text does not relate some pair. If the text lacks words of the relation, it may
        # state the relation in other words, which the parser did not connect to the pair.
        needed = words - POSTURE_LEMMAS - PLACE_PREPOSITIONS - WITHIN_LEMMAS
        if not needed <= self.words:
            return max(best, ABSENT_RATING)
        # If the text has the words, the parser may have lost the relation.
        if self._may_be_lost(related, all_objects, words):
            return max(best, LOOSE_RATING)
        return best

    def _may_be_lost(
        self,
        related: Mapping[int, set[int]],
        objects: AbstractSet[int],
        words: frozenset[str],
    ) -> bool:
        """Returns whether the parser may have lost the relation between a subject and an object.

        For the question whether a dog is under a table, this is True if the text has a dog and a
        table, and if all this is true:

        - The text does not relate the dog and the table.
        - The dog is under nothing. Otherwise the text's "under" tells where the dog is.
        - Nothing is under the table. Otherwise the text's "under" tells what is there.

        Args:
            related: for each subject, the objects with any relation to the subject.
            objects: all objects.
            words: the relation.
        """
        # the dogs that are under nothing
        free_subjects: list[int] = []
        for subject in related:
            if not _has_relation(words, self.does[subject]):
                free_subjects.append(subject)
        # the tables that nothing is under
        free_objects: set[int] = set()
        for object_ in objects:
            if not _has_relation(words, self.undergoes[object_]):
                free_objects.add(object_)
        for subject in free_subjects:
            unrelated_objects = free_objects - related[subject]
            if unrelated_objects:
                return True
        return False

    def _pair_rating(self, subject: int, object_: int, words: frozenset[str]) -> float:
        """Returns the rating of the question whether a relation holds from the subject to the
        object. Subject and object may be the same entity.

        words: the base forms of the relation, such as {"next", "to"}.
        """
        # One entity of the text may be both, if the text has one noun where the question has two:
        # the question's "cup of coffee" is the text's "coffee cup", and "the top of the box" is "a
        # box".
        if subject == object_ and (subject, object_) not in self.relations:
            if words <= OF_LEMMA | PART_OF_LEMMAS | WITHIN_LEMMAS | HAVE_LEMMAS:
                return REWORDED_RATING
            return ABSENT_RATING
        pair = (subject, object_)
        relations = list(self.relations.get(pair, ()))
        if words <= SYMMETRIC_RELATIONS:  # "the cat is near the dog" for "the dog is near the cat"
            reversed_pair = (object_, subject)
            relations += self.relations.get(reversed_pair, [])
        ratings = [agreement_of_words(words, relation) for relation in relations]
        return max(ratings, default=WRONG_RATING)


def _has_relation(words: frozenset[str], relations: Iterable[frozenset[str]]) -> bool:
    """Returns whether one of the relations agrees with the words, literally or in other words."""
    return any(agreement_of_words(words, relation) > LOOSE_RATING for relation in relations)


@lru_cache(maxsize=8192)
def agreement_of_words(words: frozenset[str], relation: frozenset[str]) -> float:
    """Returns how well a relation of the text agrees with the relation that a question asks about:
    5 for the same words, 4 for other words with the same meaning, 1 without agreement.

    For "sits beside", the relation "sits beside" of a text gives 5, "is next to" gives 4, and "is
    under" gives 1. Attributes are compared in the same way.

    words: the base forms of the question's words. relation: the base forms of the text's words.
    The text must have all words of the question, and may have more: the question "sits" agrees with
    the text "sits beside".
    """
    if words <= relation:
        return EXACT_RATING
    # without postures ("sits"), and with one word for all prepositions of a place
    core = _core_words(words)
    relation_core = _core_words(relation)
    # a question with only a posture, such as "is there", agrees with every relation
    if not core:
        return REWORDED_RATING
    # "sits beside" for "is next to"
    if core <= relation_core:
        return REWORDED_RATING
    # "with" for "wears"
    if core <= HAVE_LEMMAS and relation_core & OWNING_LEMMAS:
        return REWORDED_RATING
    # "rides" for "rides on"
    if _have_same_verb(core, relation_core):
        return REWORDED_RATING
    return WRONG_RATING


def _have_same_verb(core: frozenset[str], other_core: frozenset[str]) -> bool:
    """Returns whether two relations have the same verb, and at least one of them has no
    preposition.

    True for "ride on" and "ride". False for "ride on" and "ride under", which are different places.
    False for "on" and "under", which have no verb.

    core, other_core: the results of `_core_words`.
    """
    verb = core - PLACE_PREPOSITIONS
    other_verb = other_core - PLACE_PREPOSITIONS
    if not verb or verb != other_verb:
        return False
    has_preposition = core != verb
    other_has_preposition = other_core != other_verb
    return not has_preposition or not other_has_preposition


def _core_words(words: frozenset[str]) -> frozenset[str]:
    """Returns a relation's words without postures, with one preposition for each place:
    `{"sit", "next", "to"}` gives `{"near"}`.
    """
    core: set[str] = set()
    for word in words:
        if word not in POSTURE_LEMMAS:
            core.add(SAME_PLACE.get(word, word))
    if "near" in core:
        core.discard("to")
    return frozenset(core)
