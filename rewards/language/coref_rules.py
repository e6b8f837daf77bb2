"""Which words of a text speak of the same thing, by rule.

    clusters_by_rule(read_words(nlp("A red circle is here. It is above a square."))[0])     # [[[2, 2], [6, 6]]]

The rules prefer to miss a link: a wrong one merges two things, and all that is said of them. A noun refers back when it
is definite and an earlier noun of the same lemma and number carries compatible modifiers; "a" and "another" start anew.
A pronoun takes the subject of its sentence, else the first fitting noun, looking back two sentences.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from rewards.language.clusters import Cluster
from rewards.language.words import NOUNS, OBJECTS, SUBJECTS, Word

SENTENCES_BACK = 2
NEW = frozenset({"a", "an", "another", "some", "any", "each", "every", "no", "several", "many", "other", "second"})
DEFINITE = frozenset({"the", "this", "that", "these", "those", "both"})
DESCRIPTIONS = ("amod", "nmod", "compound", "nummod", "acl", "relcl")

MALE = frozenset({"man", "boy", "guy", "gentleman", "father", "son", "brother", "husband", "king", "prince", "waiter"})
FEMALE = frozenset({"woman", "girl", "lady", "mother", "daughter", "sister", "wife", "queen", "princess", "waitress"})
PERSON = frozenset(
    {"person", "child", "kid", "baby", "toddler", "adult", "teenager", "student", "teacher", "player", "skater"}
    | {"surfer", "skier", "rider", "driver", "cook", "chef", "worker", "doctor", "nurse", "officer", "soldier"}
    | {"artist", "photographer", "friend", "parent", "passenger", "customer", "figure", "athlete"}
)
PRONOUNS = {
    **dict.fromkeys(("he", "him", "his", "himself"), "male"),
    **dict.fromkeys(("she", "her", "hers", "herself"), "female"),
    **dict.fromkeys(("it", "its", "itself"), "thing"),
    **dict.fromkeys(("they", "them", "their", "theirs", "themselves"), "plural"),
}
REFLEXIVES = ("himself", "herself", "itself", "themselves")
KINDS = tuple(dict.fromkeys(PRONOUNS.values()))


@dataclass(eq=False, slots=True)
class _Thing:
    """Something spoken of, with all that its mentions said of it."""

    lemma: str
    plural: bool
    mentions: list[Word]
    said: set[str] = field(default_factory=set)

    def fits(self, kind: str) -> bool:
        """Whether a pronoun of this kind can mean it."""
        if kind == "plural" or self.plural:
            return kind == "plural" and self.plural
        if kind == "thing":
            return self.lemma not in MALE | FEMALE | PERSON
        other = FEMALE if kind == "male" else MALE
        return self.lemma not in other and (self.lemma in MALE | FEMALE | PERSON or self.mentions[0].pos == "PROPN")


_Best = dict[tuple[int, str], dict[_Thing, tuple[int, int]]]  # by sentence and pronoun: each thing's best mention


def clusters_by_rule(words: Sequence[Word]) -> list[Cluster]:
    """The clusters of one text; every mention is the one word that heads it."""
    things: list[_Thing] = []
    thing_of: dict[Word, _Thing] = {}
    best: _Best = defaultdict(dict)
    rank = cache(_rank)  # conjuncts have long ways to their first
    for word in words:
        thing: _Thing | None = None
        if word.is_relative:
            thing = thing_of.get(_relative_head(word))
        elif word.text.lower() in PRONOUNS:
            thing = _antecedent(word, thing_of, best, rank)
        elif _is_mention(word):
            thing = _known(word, things)
            if thing is None:
                thing = _Thing(word.lemma, _is_plural(word), [])
                things.append(thing)
            thing.said |= _restrictions(word) | (_predicates(word) if word.head.is_copula and not rank(word) else set())
        if thing is not None:
            thing.mentions.append(word)
            thing_of[word] = thing
            place = (rank(word), word.index)
            for kind in filter(thing.fits, KINDS):
                in_sentence = best[word.sentence, kind]
                in_sentence[thing] = min(place, in_sentence.get(thing, place))
    return [[[word.index, word.index] for word in thing.mentions] for thing in things if len(thing.mentions) > 1]


def _is_mention(word: Word) -> bool:
    describes = word.dep in ("amod", "nmod", "compound") and word.head is not word and word.head.pos in NOUNS
    return word.pos in NOUNS and not describes


def _is_plural(word: Word) -> bool:
    return word.tag in ("NNS", "NNPS")


def _known(word: Word, things: Sequence[_Thing]) -> _Thing | None:
    """The thing a definite noun refers back to: it was said to be all that, or it is the only one of its name."""
    same_name = [thing for thing in things if thing.lemma == word.lemma and thing.plural == _is_plural(word)]
    if not same_name or not _is_definite(word):
        return None
    restrictions = _restrictions(word)
    for thing in reversed(same_name):
        if restrictions <= thing.said:
            return thing
    return same_name[0] if len(same_name) == 1 and same_name[0].said <= restrictions else None


def _is_definite(word: Word) -> bool:
    lemmas = {child.lemma for child in word.children if child.index < word.index}
    if lemmas & NEW:
        return False
    return bool(lemmas & DEFINITE) or word.has_child("poss") or word.pos == "PROPN"


def _restrictions(word: Word) -> frozenset[str]:
    """What tells this noun's thing from others of its name: adjectives, owners, places."""
    found = {child.lemma for child in word.children if child.dep in DESCRIPTIONS}
    found |= {f"of {child.lemma}" for child in word.children if child.dep == "poss"}
    return frozenset(found | _places(word))


def _predicates(subject: Word) -> frozenset[str]:
    """What a copula says of its subject: "red" and "at left" in "the circle is red and at the left"."""
    adjectives = {child.lemma for child in subject.head.children if child.dep == "acomp"}
    return frozenset(adjectives | _places(subject.head))


def _places(word: Word) -> set[str]:
    """The prepositional phrases under a word, each as its preposition and the described noun."""
    found = set()
    for preposition in word.children:
        if preposition.dep == "prep":
            for place in preposition.children:
                described = sorted(child.lemma for child in place.children if child.dep in DESCRIPTIONS)
                found.add(" ".join([preposition.lemma, *described, place.lemma]))
    return found


def _relative_head(pronoun: Word) -> Word:
    """The noun whose relative clause the pronoun stands in; the pronoun itself when there is none."""
    word = pronoun
    while word.head is not word:
        if word.dep == "relcl":
            return word.head
        word = word.head
    return pronoun


def _antecedent(
    pronoun: Word, thing_of: Mapping[Word, _Thing], best: _Best, rank: Callable[[Word], int]
) -> _Thing | None:
    """The thing whose best mention is the first of the nearest sentence. Looks at each thing of a sentence once."""
    if pronoun.dep == "expl":
        return None
    text = pronoun.text.lower()
    excluded = set() if pronoun.dep == "poss" or text in REFLEXIVES else set(_bound(pronoun, rank))
    things = {thing_of[word] for word in excluded if word in thing_of}
    for back in range(SENTENCES_BACK + 1):
        places = best.get((pronoun.sentence - back, PRONOUNS[text]), {})
        candidates = [(place, thing) for thing, place in places.items() if thing not in things]
        if candidates:
            return min(candidates, key=lambda candidate: candidate[0])[1]
    return None


def _bound(pronoun: Word, rank: Callable[[Word], int]) -> Iterator[Word]:
    """The words a plain pronoun cannot mean: its verb's subject, and the noun it says where something is."""
    head = pronoun.head
    if head.dep == "prep":
        yield head.head
        head = head.head
        while head.dep in ("acomp", "advmod", "prep") and head.head is not head:  # "is visible behind it"
            head = head.head
        if PRONOUNS[pronoun.text.lower()] in ("male", "female") and not head.is_copula:
            return  # "she has a bag with her"
    yield from (child for child in head.children if rank(child) == 0 and child is not pronoun)


def _rank(word: Word) -> int:
    """How readily a pronoun takes the word: subjects, then objects, then the rest."""
    while word.dep == "conj" and word.head is not word:
        word = word.head
    inverted = word.dep in ("attr", *OBJECTS) and not word.head.has_child(*SUBJECTS)
    if word.dep in SUBJECTS or (inverted and word.head.dep in ("ROOT", "conj", "ccomp")):
        return 0
    return 1 if word.dep in ("attr", "conj", "ROOT", *OBJECTS) else 2
