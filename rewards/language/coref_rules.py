"""Coreference by rule.

    clusters_by_rule(read_words(nlp("A red circle is here. It is above a square."))[0])
    # [[[2, 2], [6, 6]]]

A wrong link merges two things and all their attributes, so the rules rather miss a link than add a
wrong link. A definite noun refers to an earlier noun with the same lemma and number, if the
modifiers of the two nouns are compatible. The words "a" and "another" begin a new thing. A pronoun
refers to the subject of its sentence, or else to the first noun that fits. If its sentence has no
noun that fits, the two sentences before are searched.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from spanreward.rewards.language.clusters import Cluster
from spanreward.rewards.language.words import (
    NOUN_TAGS,
    OBJECT_DEPENDENCIES,
    SUBJECT_DEPENDENCIES,
    Word,
    word_set,
)

SENTENCES_BACK = 2
NEW_MENTION_WORDS = word_set("a an another some any each every no several many other second")
DEFINITE_WORDS = word_set("the this that these those both")
DESCRIPTION_DEPENDENCIES = ("amod", "nmod", "compound", "nummod", "acl", "relcl")

MALE_NOUNS = word_set("man boy guy gentleman father son brother husband king prince waiter")
FEMALE_NOUNS = word_set("woman girl lady mother daughter sister wife queen princess waitress")
PERSON_NOUNS = word_set(
    "person child kid baby toddler adult teenager student teacher player skater surfer skier rider "
    "driver cook chef worker doctor nurse officer soldier artist photographer friend parent "
    "passenger customer figure athlete"
)
ALL_PERSONS = MALE_NOUNS | FEMALE_NOUNS | PERSON_NOUNS
PRONOUNS = {
    **dict.fromkeys(("he", "him", "his", "himself"), "male"),
    **dict.fromkeys(("she", "her", "hers", "herself"), "female"),
    **dict.fromkeys(("it", "its", "itself"), "thing"),
    **dict.fromkeys(("they", "them", "their", "theirs", "themselves"), "plural"),
}
REFLEXIVES = ("himself", "herself", "itself", "themselves")


@dataclass(eq=False, slots=True)
class _Thing:
    """A thing with its mentions and the words that describe the thing."""

    lemma: str
    plural: bool
    mentions: list[Word] = field(default_factory=list)
    description: set[str] = field(default_factory=set)

    def fits(self, kind: str) -> bool:
        """Whether a pronoun of this kind can refer to the thing.

        kind: a value of PRONOUNS, such as "male".
        """
        # "they" refers to several things only, and any other pronoun to one thing only
        wants_plural = kind == "plural"
        if wants_plural != self.plural:
            return False
        if wants_plural:
            return True
        if kind == "thing":
            return self.lemma not in ALL_PERSONS
        other = FEMALE_NOUNS if kind == "male" else MALE_NOUNS
        if self.lemma in other:
            return False
        # "he" may refer to a child or to a name such as "Kim", but not to a table
        return self.lemma in ALL_PERSONS or self.mentions[0].pos == "PROPN"


class _RankedMention(NamedTuple):
    """A mention of a thing: the rank of its word (`_rank_of_word`) and the index of the word. The
    lowest mention is the best: subjects come before objects, and early words before late words.
    """

    rank: int
    word_index: int


# for each sentence, the best mention of each thing in it
_BestMentions = dict[int, dict[_Thing, _RankedMention]]


def clusters_by_rule(words: Sequence[Word]) -> list[Cluster]:
    """Returns the clusters of one text. A mention is a single word: a pronoun, or the head of a
    noun phrase. "A circle is here. It is red." has one cluster, [[1, 1], [5, 5]]: the circle is the
    word 1, and "It" is the word 5.
    """
    things = _ThingsOfText()
    for word in words:
        things.add_word(word)
    # the things in the order of their first mentions; a single mention is no cluster
    clusters: list[Cluster] = []
    for thing in dict.fromkeys(things.thing_of.values()):
        if len(thing.mentions) > 1:
            clusters.append([[word.index, word.index] for word in thing.mentions])
    return clusters


class _ThingsOfText:
    """The things of a text, found word by word in text order, because a word refers to an earlier
    word.

    Attributes:
        thing_of: the thing of each word that names a thing or refers to a thing.
        best: for each sentence, the best mention of each thing in it.
    """

    def __init__(self) -> None:
        self.thing_of: dict[Word, _Thing] = {}
        self.best: _BestMentions = defaultdict(dict)
        # the things of each name: the lemma, and whether the noun is a plural
        self._by_name: dict[tuple[str, bool], list[_Thing]] = defaultdict(list)
        # Two caches. Without the caches a list of a thousand conjuncts would take quadratic time.
        self._first_conjunct_of: dict[Word, Word] = {}
        self._rank_of_first_conjunct = cache(_rank_of_word)

    def rank(self, word: Word) -> int:
        """Returns the rank of a word (`_rank_of_word`). All conjuncts of a list have the rank of
        the first conjunct.
        """
        return self._rank_of_first_conjunct(_first_conjunct(word, self._first_conjunct_of))

    def add_word(self, word: Word) -> None:
        """Adds a word to the mentions of its thing. A word without a thing, such as "is", is
        skipped.
        """
        thing = self._thing_of_word(word)
        if thing is None:
            return
        thing.mentions.append(word)
        self.thing_of[word] = thing
        mention = _RankedMention(self.rank(word), word.index)
        best_of_sentence = self.best[word.sentence]
        if thing not in best_of_sentence or mention < best_of_sentence[thing]:
            best_of_sentence[thing] = mention

    def _thing_of_word(self, word: Word) -> _Thing | None:
        """Returns the thing that a word names or refers to: the cup for the "it" of "A cup is here,
        and it is red." None for a word without a thing.
        """
        if word.is_relative:
            return self.thing_of.get(_noun_of_relative(word))
        if word.text.lower() in PRONOUNS:
            return _antecedent_of_pronoun(word, self.thing_of, self.best, self.rank)
        if _is_mention(word):
            return self._thing_of_noun(word)
        return None

    def _thing_of_noun(self, noun: Word) -> _Thing:
        """Returns the thing that a noun names: an earlier thing ("the cup" after "a cup"), or else
        a new thing. The words that describe the noun are added to the description of the thing.
        """
        is_plural = _is_plural(noun)
        same_name = self._by_name[noun.lemma, is_plural]
        thing = _earlier_thing(noun, same_name)
        if thing is None:
            thing = _Thing(noun.lemma, is_plural)
            same_name.append(thing)
        thing.description |= _restricting_modifiers(noun)
        # in "the circle is red and at the left", "red" and "at left" describe the circle
        if noun.head.is_copula and self.rank(noun) == 0:
            predicates = [child for child in noun.head.children if child.dep == "acomp"]
            thing.description.update(predicate.lemma for predicate in predicates)
            thing.description |= _place_phrases(noun.head)
        return thing


def _is_mention(word: Word) -> bool:
    """Whether a word is a noun that names a thing. In "oak table", "table" names a thing and "oak"
    does not.
    """
    if word.pos not in NOUN_TAGS:
        return False
    is_modifier = word.dep in ("amod", "nmod", "compound")
    modifies_noun = is_modifier and word.head is not word and word.head.pos in NOUN_TAGS
    return not modifies_noun


def _is_plural(word: Word) -> bool:
    return word.tag in ("NNS", "NNPS")


def _earlier_thing(word: Word, same_name: Sequence[_Thing]) -> _Thing | None:
    """Returns the earlier thing that a definite noun refers to. None if no thing fits, or if
    several may.

    The last thing with all modifiers of the noun fits. If only one thing has the noun's name, this
    thing also fits if the noun has all of the thing's modifiers: "a circle" before "the red
    circle".

    same_name: the earlier things with the noun's lemma and number.
    """
    if not same_name or not _is_definite(word):
        return None
    # "the circle" may be an earlier "a red circle"
    restrictions = _restricting_modifiers(word)
    for thing in reversed(same_name):
        if restrictions <= thing.description:
            return thing
    if len(same_name) > 1:
        return None
    # "the red circle" may be an earlier "a circle", but not an earlier "a blue circle"
    (only,) = same_name
    return only if only.description <= restrictions else None


def _is_definite(word: Word) -> bool:
    """Whether a noun may refer to a thing that was named before: "the dog", "his dog", "Rex"."""
    lemmas_before = set()
    for child in word.children:
        if child.index < word.index:
            lemmas_before.add(child.lemma)
    # "the other dog" is a new dog
    if lemmas_before & NEW_MENTION_WORDS:
        return False
    if lemmas_before & DEFINITE_WORDS:
        return True
    return word.has_child("poss") or word.pos == "PROPN"


def _restricting_modifiers(word: Word) -> set[str]:
    """Returns the modifiers that distinguish a noun's thing from other things of the same name:
    adjectives, owners and places. "The man's red hat on a table" gives "red", "of man" and "on
    table".
    """
    restrictions = _place_phrases(word)
    for child in word.children:
        if child.dep in DESCRIPTION_DEPENDENCIES:
            restrictions.add(child.lemma)
        if child.dep == "poss":
            restrictions.add(f"of {child.lemma}")
    return restrictions


def _place_phrases(word: Word) -> set[str]:
    """Returns the prepositional phrases directly below a word. Each phrase is the preposition, the
    modifiers of its noun, and the noun: "on wooden table".
    """
    places = set()
    for preposition in word.children:
        if preposition.dep != "prep":
            continue
        for place in preposition.children:
            modifiers = [child for child in place.children if child.dep in DESCRIPTION_DEPENDENCIES]
            described = sorted(modifier.lemma for modifier in modifiers)
            phrase = [preposition.lemma, *described, place.lemma]
            places.add(" ".join(phrase))
    return places


def _noun_of_relative(pronoun: Word) -> Word:
    """Returns the noun that a relative pronoun refers to: the man for the "who" of "a man who
    sits".

    If the pronoun is in no relative clause, returns the pronoun itself.
    """
    word = pronoun
    while word.head is not word:
        if word.dep == "relcl":
            return word.head
        word = word.head
    return pronoun


def _antecedent_of_pronoun(
    pronoun: Word,
    thing_of: Mapping[Word, _Thing],
    best: _BestMentions,
    rank: Callable[[Word], int],
) -> _Thing | None:
    """Returns the thing that a pronoun refers to, None if no thing fits.

    The nearest sentence with a thing that fits decides. If several things fit, the thing with the
    best mention in that sentence is returned.

    thing_of: the thing of each earlier word that has one.
    best: for each sentence, the best mention of each thing so far.
    rank: returns the rank of a word (`_rank_of_word`).
    """
    # the "it" of "it is raining" refers to nothing
    if pronoun.dep == "expl":
        return None
    text = pronoun.text.lower()
    # "he sees him" is about two men; "he sees his dog" and "he sees himself" may be about one man
    excluded: set[_Thing] = set()
    if pronoun.dep != "poss" and text not in REFLEXIVES:
        for word in _impossible_antecedents(pronoun, rank):
            if word in thing_of:
                excluded.add(thing_of[word])
    kind = PRONOUNS[text]
    for back in range(SENTENCES_BACK + 1):
        best_of_sentence = best.get(pronoun.sentence - back, {})
        candidates = []
        for thing in best_of_sentence:
            if thing not in excluded and thing.fits(kind):
                candidates.append(thing)
        if candidates:
            return min(candidates, key=best_of_sentence.__getitem__)
    return None


def _impossible_antecedents(pronoun: Word, rank: Callable[[Word], int]) -> Iterator[Word]:
    """Yields the words that a plain pronoun cannot refer to: the subject of its verb (the "he" of
    "he sees him"), and the noun before its preposition (the cup of "the cup behind it").

    rank: returns the rank of a word (`_rank_of_word`).
    """
    head = pronoun.head
    if head.dep == "prep":
        yield head.head  # the cup of "the cup behind it"
        head = head.head
        # up to the "is" of "is visible behind it"
        while head.dep in ("acomp", "advmod", "prep") and head.head is not head:
            head = head.head
        # the "her" of "she has a bag with her" may be the subject, and the "her" of "she is behind
        # her" is another person
        is_person = PRONOUNS[pronoun.text.lower()] in ("male", "female")
        if is_person and not head.is_copula:
            return
    for child in head.children:
        is_subject = rank(child) == 0
        if is_subject and child is not pronoun:
            yield child


def _first_conjunct(word: Word, first_of: dict[Word, Word]) -> Word:
    """Returns the first word of the list that a word is in: "cat" for the "cow" of "a cat, a dog
    and a cow". Outside of a list, returns the word itself.

    first_of: a cache from a word to the first word of its list. The function adds each word that it
    passes on the way to the first word.
    """
    way = []
    while word not in first_of and word.dep == "conj" and word.head is not word:
        way.append(word)
        word = word.head
    first = first_of.get(word, word)
    first_of |= dict.fromkeys(way, first)
    return first


def _rank_of_word(word: Word) -> int:
    """Returns the rank of a word: 0 for a subject, 1 for an object, 2 for another word. In "a man
    holds a cup" the man has rank 0 and the cup rank 1. A pronoun refers to a word of the lowest
    rank.

    word: the first of its conjuncts, because all conjuncts have the rank of the first conjunct.
    """
    if word.dep in SUBJECT_DEPENDENCIES:
        return 0
    # in "there is a man" the man is the subject, but the parser labels the man as an object
    heads_clause = word.head.dep in ("ROOT", "conj", "ccomp")
    may_be_subject = word.dep in ("attr", *OBJECT_DEPENDENCIES) and heads_clause
    if may_be_subject and not word.head.has_child(*SUBJECT_DEPENDENCIES):
        return 0
    if word.dep in ("attr", "conj", "ROOT", *OBJECT_DEPENDENCIES):
        return 1
    return 2
