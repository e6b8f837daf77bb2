"""Finds the things that a text says are not there: "no red circle", "a man without a hat", "the dog is not there".

    absences(words, denied)     # "There is no red circle.": [Denial("circle", ["red"], links=[], ...)]

Only a denial of a thing is found, or of a thing with an adjective ("the circle is not red"). A denied verb or place
("the dog is not on the table") may be true although the dog and the table are there, and so it stays unread.
"""

from collections.abc import Iterator, Sequence, Set

from spanreward.rewards.language.denial import MISSING, SEEN, WITHOUT
from spanreward.rewards.language.scene_graph import PART_OF, Denial
from spanreward.rewards.language.words import NOUNS, OBJECTS, PICTURES, SUBJECTS, Word, word_set

NO = word_set("no neither nor")
OWNING = word_set("have wear carry hold lack")
GONE = SEEN | MISSING  # they say that something is there to be seen, or is not
EXISTING = word_set("exist appear")
DESCRIBING = ("amod", "compound", "nummod")


def absences(words: Sequence[Word], denied: Set[int]) -> Iterator[Denial]:
    """Yields what the text denies. words: the whole text. denied: the places of the words that a claim denies."""
    for word in words:
        if word.index not in denied:
            continue
        if word.dep == "acomp" and word.head.is_copula and word.head.has_child("neg") and word.text.lower() not in GONE:
            for subject in word.head.subjects:
                if subject.pos in NOUNS:
                    yield denial(subject, [], [word])
        elif word.pos in NOUNS and is_absent(word):
            yield denial(word, owners(word), [])


def is_absent(noun: Word) -> bool:
    """Whether the text says that there is no such thing."""
    verb = noun.head
    if noun.dep == "conj" and verb.pos in NOUNS and not noun.has_child("det"):
        return is_absent(verb)
    if not NO.isdisjoint(child.text.lower() for child in noun.children) or verb.lemma in WITHOUT:
        return True
    if noun.dep in OBJECTS:
        return verb.lemma == "lack" or (verb.lemma in OWNING and verb.has_child("neg"))
    if noun.dep == "attr":
        return verb.has_child("expl")
    shown = not GONE.isdisjoint(child.text.lower() for child in verb.children)
    return noun.dep in SUBJECTS and (verb.lemma in EXISTING or shown)


def owners(noun: Word) -> list[Word]:
    """Returns the things that are said to be without it: the man in "the man has no hat" and "a man with no hat"."""
    head = noun.head
    if noun.dep == "conj" and head.pos in NOUNS:
        return owners(head)
    if noun.dep == "pobj":
        return [head.head]
    return head.subjects if noun.dep in OBJECTS else []


def denial(noun: Word, owned_by: Sequence[Word], predicates: Sequence[Word]) -> Denial:
    """Returns the denial of a noun with its adjectives, its places, and what it is denied of."""
    adjectives = [*adjectives_of(noun), *predicates]
    placed = [
        (prep, place)
        for prep in noun.children
        for place in prep.children
        if prep.dep == "prep" and place.dep == "pobj" and place.text.lower() not in PICTURES
    ]
    denying = [
        child for child in (*noun.children, *noun.head.children) if child.dep == "neg" or child.text.lower() in NO
    ]
    said = {noun, *denying, *adjectives, *(word for pair in placed for word in pair)}
    return Denial(
        head=noun.text.lower(),
        attributes=[word.text.lower() for word in adjectives],
        links=[
            *((PART_OF, named(owner)) for owner in owned_by),
            *((prep.text.lower(), named(place)) for prep, place in placed),
        ],
        of_one=bool(predicates),
        text_spans=sorted((word.start, word.end) for word in said),
    )


def adjectives_of(noun: Word) -> list[Word]:
    return [child for child in noun.children if child.dep in DESCRIBING and child.text.lower() not in NO]


def named(noun: Word) -> list[str]:
    return [word.text.lower() for word in (*adjectives_of(noun), noun)]
