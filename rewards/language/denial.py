"""The words that a text denies, and the things that the text states are absent: "no red circle", "a
man without a hat", "no dog is here".

    denies = find_denying_words(words)            # "There is no red circle.": {the word "no"}
    things_stated_absent(words, denies, denied)   # [Denial("circle", ["red"], links=[], ...)]

A denying word denies the words that follow it and are below its head in the parse tree (claims.py).
So "the dog is not red" denies "red" and not the dog. A clause may state only that its subject is
there. A denial of this clause denies the whole clause, with the subject.

An absence is the denial of a thing ("no circle") or of a thing with an adjective ("the circle is
not red"). The denial of a verb or place is no absence: "the dog is not on the table" may be true
although the dog and the table are there. Such denials are ignored.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from math import inf

from spanreward.rewards.language.retracted_parts import DENYING_WORDS
from spanreward.rewards.language.scene_graph import PART_OF, Denial
from spanreward.rewards.language.words import (
    HAVING_VERBS,
    NOUN_TAGS,
    OBJECT_DEPENDENCIES,
    PART_NOUNS,
    PICTURE_NOUNS,
    SHOWING_VERBS,
    SUBJECT_DEPENDENCIES,
    Word,
    word_set,
)

DENIAL_WORDS = DENYING_WORDS | word_set(
    "n\u2019t nt nor neither none nobody nothing without lack lacks lacking sans missing absent"
)
NO_DENIAL_BEFORE = word_set(
    "only just merely simply solely far unlike alone but other more less fewer"
)
CLAUSE_BREAKS = word_set("but except although though while whereas however yet because")
# tags of words that an earlier denial still denies: "not red and small"
GOES_ON = ("JJ", "JJR", "JJS", "NN", "NNS", "RB")
SEEN_WORDS = word_set("true there here visible present")
EXISTENCE_VERBS = word_set("be exist appear occur")
# dependencies of words below a verb whose "no" denies the verb: "no dog is here", "it is no dog",
# "is neither red", "no longer"
PREDICATE_DEPENDENCIES = (*SUBJECT_DEPENDENCIES, "attr", "acomp", "advmod")
# dependencies with which a denying word denies its head
DENYING_AS = (*PREDICATE_DEPENDENCIES, "neg", "det", "cc", "preconj")
SILENT_BESIDE_DENIAL = (*SUBJECT_DEPENDENCIES, "expl", "aux", "auxpass", "punct", "mark", "cc")
DESCRIBING_DEPENDENCIES = ("amod", "compound", "nummod")


def find_denying_words(words: Sequence[Word]) -> set[Word]:
    """Returns the words that deny. The words in "not only", "no more than", "No 5", "a no parking
    sign" and "none." do not deny.
    """
    denying_words = set()
    for number, word in enumerate(words):
        if word.text.lower() in DENIAL_WORDS and not is_idle_denial(words, number):
            denying_words.add(word)
    return denying_words


def is_idle_denial(words: Sequence[Word], number: int) -> bool:
    """Whether a word such as "no" denies nothing at its place, as in "No 5" and "not only".

    number: the index of the word in `words`, the words of the whole text.
    """
    word = words[number]
    behind = words[number + 1].text.lower() if number + 1 < len(words) else ""
    if behind in NO_DENIAL_BEFORE:
        return True  # "not only", "no more than"
    if word.text.lower() not in ("no", "none", "nothing"):
        return False
    is_answer = word.tag == "UH" or not behind[:1].isalpha()  # "No, ...", "No 5", "none."
    is_name = number > 0 and words[number - 1].tag in ("DT", "PRP$")  # "a no parking sign"
    return is_answer or is_name


def near_denials(denies: Set[Word]) -> set[Word]:
    """Returns the only words for which `denied_from` can find a denial. They are the denying words,
    and the words at most two steps above a denying word in the parse tree.
    """
    heads = {word.head for word in denies}
    return {*denies, *heads, *(head.head for head in heads)}


def denied_from(word: Word, denies: Set[Word]) -> float:
    """Returns the index from which on words are denied, among the word and the words below it:

    - infinity without a denial.
    - 0 if all of these words are denied, also the dog before the "not": "the dog is not there".
    - the index of the denying word in other cases. In "the dog is not red" the words from "not" on
      are denied, and the dog is not.

    denies: the words that deny, such as "not" and "missing".
    """
    # the word itself denies, as "lacks" in "lacks a hat"
    if word in denies:
        return 0 if is_bare(word, denies) else word.index
    predicates = []
    clauses = []  # relative clauses that state only that the word is there or is not there
    for child in word.children:
        if child.dep in PREDICATE_DEPENDENCIES:
            predicates.append(child)
        if child.dep in ("relcl", "acl") and is_bare(child, denies):
            clauses.append(child)
    # all is denied by a relative clause: "a dog that is missing", "a dog that is not there"
    if not denies.isdisjoint(clauses) or denying_children(clauses, denies):
        return 0
    denying_words = denying_children((word, *predicates), denies)
    if not denying_words:
        return inf
    # all is denied, even the subject before the "not": "the dog is not there"
    if is_bare(word, denies):
        return 0
    # all is denied by an "or not" behind the word: "the dog sleeps or not"
    if any(no.dep == "conj" for no in denying_words):
        return 0
    return min(no.index for no in denying_words)


def denying_children(words: Sequence[Word], denies: Set[Word]) -> list[Word]:
    """Returns the denying words directly below these words that deny the word above: the "no" of
    "no dog". "without" does not deny the word above.
    """
    denying_words = []
    for word in words:
        for child in word.children:
            denies_head = child.dep in DENYING_AS or child.tag == "RB"
            if child in denies and denies_head:
                denying_words.append(child)
    return denying_words


def is_beyond_denial(word: Word, conjunctions: Set[str]) -> bool:
    """Whether a denial above a word ends before the word, as in "not red but blue", "no dog and a
    cat", or "while a cat sleeps". The word itself is then not denied.

    The words that open a sentence come before the denial: "on the table, no cup".

    conjunctions: the conjunctions below the word's head, in lower case.
    """
    if word.dep == "advcl":
        openers = [child for child in word.children if child.dep in ("mark", "advmod")]
        return any(opener.text.lower() in CLAUSE_BREAKS for opener in openers)
    if word.tag == ".":  # the end of a sentence
        return True
    # "on the table, no cup": the phrase comes before the denial
    if word.dep == "prep":
        return word.index < word.head.index or word.text.lower() in CLAUSE_BREAKS
    if word.dep != "conj":
        return False
    # "no dog or cat": both are denied
    if not conjunctions.isdisjoint(("or", "nor")):
        return False
    # "not red but blue"
    if not conjunctions.isdisjoint(CLAUSE_BREAKS):
        return True
    # "not red and small" denies both; the article of "no dog and a cat" ends the denial
    first = word  # the first word of the conjunct
    if word.children and word.children[0].index < word.index:
        first = word.children[0]
    return first.tag not in GOES_ON


def is_bare(verb: Word, denies: Set[Word]) -> bool:
    """Whether a clause states only that its subject is there ("a dog is here"), is in the picture,
    or is not there ("a dog is missing").

    verb: the head of the clause. denies: the words that deny, such as "missing".
    """
    is_shown = verb.lemma in SHOWING_VERBS and verb.has_child("auxpass")
    if verb.lemma not in EXISTENCE_VERBS and verb not in denies and not is_shown:
        return False
    return all(says_no_more(child, verb, denies) for child in verb.children)


def says_no_more(child: Word, verb: Word, denies: Set[Word]) -> bool:
    """Whether a child of the verb adds nothing to the statement that the subject is there or is not
    there. True for the "here" of "a dog is here", False for the "red" of "a dog is red".
    """
    if child in denies or child.dep in SILENT_BESIDE_DENIAL:
        return True
    if not any(map(str.isalnum, child.text)):
        return True
    if child.dep == "prep" and verb in denies:  # "is missing from the table"
        return True
    # "a dog is visible", "a dog is there"
    if child.text.lower() in SEEN_WORDS or child.lemma in PART_NOUNS:
        return True
    # "no dog is in the picture"
    return any(below.lemma in PICTURE_NOUNS for below in child.children)


def things_stated_absent(
    words: Sequence[Word], denies: Set[Word], denied: Set[Word]
) -> Iterator[Denial]:
    """Yields the things that a text states are absent: a red circle for "There is no red circle."

    words: the whole text.
    denies: the words of the text that deny.
    denied: the words that a claim of the text denies.
    """
    # for each absent thing so far, the things that lack it; the coat of "no hat or coat" gets the
    # owners of the hat
    owners_of: dict[Word, Sequence[Word]] = {}
    for word in words:
        if word not in denied:
            continue
        if is_denied_predicate(word, denies):
            for subject in word.head.subjects:
                if subject.pos in NOUN_TAGS:
                    yield denial_of_noun(subject, owners=[], predicates=[word], denies=denies)
        elif word.pos in NOUN_TAGS:
            owners = owners_of_absent(word, denies, owners_of)
            if owners is not None:
                owners_of[word] = owners
                yield denial_of_noun(word, owners, predicates=[], denies=denies)


def is_denied_predicate(word: Word, denies: Set[Word]) -> bool:
    """Whether a denied word is an adjective of a thing that is there: the "red" of "the circle is
    not red". False for the "visible" of "the circle is not visible", which denies the circle.
    """
    is_predicate = word.dep == "acomp" and word.head.is_copula and word.head.has_child("neg")
    return is_predicate and not is_bare(word.head, denies)


def owners_of_absent(
    noun: Word, denies: Set[Word], owners_of: Mapping[Word, Sequence[Word]]
) -> Sequence[Word] | None:
    """Returns the things that lack the thing of a denied noun: the man for the hat of "the man has
    no hat", and nothing for "no hat is here". None if the noun names no absent thing.

    owners_of: the results for earlier nouns that name absent things.
    """
    # the coat of "no hat or coat" has the owners of the hat
    if noun.dep == "conj" and noun.head in owners_of and not noun.has_child("det"):
        return owners_of[noun.head]
    if not is_absent(noun, denies):
        return None
    if noun.dep == "pobj":
        return [noun.head.head]  # "a man without a hat"
    if noun.dep in OBJECT_DEPENDENCIES:
        return noun.head.subjects  # "the man has no hat"
    return []


def is_absent(noun: Word, denies: Set[Word]) -> bool:
    """Whether a denied noun is the absent thing itself: the hat of "lacks a hat", but not the dog
    of "the dog does not sleep".
    """
    verb = noun.head
    if not denies.isdisjoint(noun.children):
        return True  # "no hat"
    if noun.dep in SUBJECT_DEPENDENCIES:
        # "the dog is not there", and not "the dog does not sleep"
        return is_bare(verb, denies) and denied_from(verb, denies) < inf
    if verb in denies:
        return True  # "lacks a hat"
    if noun.dep == "attr":
        return verb.has_child("expl")  # "there is not a hat"
    # "does not wear a hat"
    return noun.dep in OBJECT_DEPENDENCIES and verb.lemma in HAVING_VERBS and verb.has_child("neg")


def denial_of_noun(
    noun: Word,
    owners: Sequence[Word],
    predicates: Sequence[Word],
    denies: Set[Word],
) -> Denial:
    """Returns the denial of a noun with its adjectives and places.

    owners: the things that lack the noun's thing: the man in "the man has no hat".
    predicates: adjectives that one certain thing lacks: the "red" of "the circle is not red". This
    thing is there. Without predicates the noun's thing is absent ("no red circle").
    denies: the words that deny, such as "no".
    """
    adjectives = [*adjectives_of(noun), *predicates]
    links = [(PART_OF, thing_in_words(owner)) for owner in owners]
    claimed_words = {noun, *adjectives}
    for preposition, place in places_of(noun):
        links.append((preposition.text.lower(), thing_in_words(place)))
        claimed_words.update((preposition, place))
    # the denying words are at the noun ("no hat") or at its verb ("has not")
    for child in (*noun.children, *noun.head.children):
        if child in denies and child.dep != "acomp":
            claimed_words.add(child)
    return Denial(
        head=noun.text.lower(),
        attributes=[word.text.lower() for word in adjectives],
        links=links,
        of_one=len(predicates) > 0,  # one certain thing lacks the predicates
        text_spans=sorted((word.start, word.end) for word in claimed_words),
    )


def places_of(noun: Word) -> Iterator[tuple[Word, Word]]:
    """Yields each preposition of a noun with its object. A picture is no place: "no dog in the
    photo".
    """
    for preposition in noun.children:
        if preposition.dep != "prep":
            continue
        for place in preposition.children:
            if place.dep == "pobj" and place.text.lower() not in PICTURE_NOUNS:
                yield preposition, place


def adjectives_of(noun: Word) -> list[Word]:
    """Returns the words directly below a noun that describe the noun, in text order: the "red" of
    "no red hat".
    """
    adjectives = []
    for child in noun.children:
        # "missing" and "absent" deny the noun and describe nothing
        if child.dep in DESCRIBING_DEPENDENCIES and child.text.lower() not in DENIAL_WORDS:
            adjectives.append(child)
    return adjectives


def thing_in_words(noun: Word) -> list[str]:
    """Returns the adjectives of a noun and the noun, in lower case: ["old", "man"]."""
    words = [*adjectives_of(noun), noun]
    return [word.text.lower() for word in words]
