"""Which words a reference must have so that a word of a text counts as a claim.

    needs_of_words(words, find_denying_words(words))
    # of "They removed a red circle.": "circle" needs {{"remov"}}

A text can name a thing without a claim that the picture has the thing: "think of a dog", "unlike a
dog". No list has all such phrases, so the parse tree decides. The tree shows which words govern a
noun: its verb, the verb's subject and adverbs, the words that open the clause, and the noun before
"of". A governor is neutral or gives a need. A neutral governor fits every picture ("there is",
"shows", "in"). A need is a set of base forms, of which a reference must have one
(supported_claims.py). "A man leaps" needs "man" or "leap".

Some forms never claim anything: an order, the future, a wish, the past (if the text has a present),
and an action of the writer or reader. A denial (denial.py), a question and alternatives claim
nothing either. If "either red or blue" claimed a colour, a list of all colours would always contain
the right colour.
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from math import inf

from spanreward.rewards.language.denial import denied_from, is_beyond_denial, near_denials
from spanreward.rewards.language.lemmas import lemma_of_word
from spanreward.rewards.language.retracted_parts import (
    CONDITION_WORDS,
    DENIED_NEED,
    DENYING_WORDS,
    ClaimNeeds,
    framed_parts,
)
from spanreward.rewards.language.words import (
    ADVERBS,
    FINITE_VERB_TAGS,
    LEADING_WORDS,
    NEUTRAL_VERBS,
    NOUN_TAGS,
    PICTURE_NOUNS,
    PLACING_PREPOSITIONS,
    PLAIN_WORDS,
    SEEING_VERBS,
    SHOWING_VERBS,
    Word,
    word_set,
)

UNMET_NEED = frozenset[str]()  # a need that no reference has
ALTERNATIVES_NEED = frozenset(("or",))  # the need of alternatives that "or" joins
NO_ALTERNATIVE = word_set("so less more not")  # after "or": "two or so", "more or less"
_CLAUSE_DEPENDENCIES = "ROOT ccomp xcomp advcl relcl acl csubj parataxis pcomp"
CLAUSE_DEPENDENCIES = frozenset(_CLAUSE_DEPENDENCIES.split())  # of words that head a clause
SUBJECT_DEPS = ("nsubj", "nsubjpass", "expl", "csubj")
# a verb with one of these dependencies shares the subject of the verb above
SHARED_SUBJECT_DEPENDENCIES = ("xcomp", "conj", "advcl", "ccomp", "pcomp", "prep")
ADDED_DEPENDENCIES = ("appos", "dep", "parataxis")
OBJECT_DEPS = ("dobj", "attr", "oprd", "dative")
QUALIFYING_DEPENDENCIES = ("advmod", "npadvmod", "intj", "nummod")
PERSON_WORDS = word_set("i we you")
READER_WORDS = PERSON_WORDS | word_set("one viewer it this that he she they who which these those")
MODAL_VERBS = word_set("may might could must")
PLACE_WORDS = (PLACING_PREPOSITIONS | word_set("of by with")) - word_set("about for despite past")
MAX_STEPS_TO_SUBJECT = 16  # most steps up the parse tree from a verb to its subject
MARKS_BEFORE_CLAUSES = word_set(
    "as while that though although because since when where whilst so for to and with"
)
MARKS_OF_CLAUSES = MARKS_BEFORE_CLAUSES | CONDITION_WORDS
# words before a preposition that leave the claim as it is: "next to a dog", "top of a table"
NEUTRAL_BEFORE_PREPOSITION = PLAIN_WORDS | LEADING_WORDS | PLACING_PREPOSITIONS
POSSIBILITY_VERBS = MODAL_VERBS | {"can", "ca"}
# the reach of an "or": which words besides the joined word itself are alternatives
REACH_WORD = 0  # no other word: "cleaning or painting a wall" leaves no doubt about the wall
REACH_BELOW = 1  # the words below the word too, except its subject
REACH_SUBJECT = 2  # the words below the word too, and its subject: "a dog sits or a cat sleeps"


def needs_of_words(words: Sequence[Word], denies: Set[Word]) -> dict[Word, ClaimNeeds]:
    """Returns the needs of each word of a text. A need is a set of base forms, of which a reference
    must have one so that the word counts as a claim.

    Clauses in the past count as claims only if the text claims nothing in the present.

    words: the whole text.
    denies: the words of the text that deny (`find_denying_words`).
    """
    needs_of = needs_from_tree(words, denies, past=False)
    # a noun without UNMET_NEED is claimed in the present
    claims_present = False
    for word in words:
        if word.pos in NOUN_TAGS and UNMET_NEED not in needs_of[word]:
            claims_present = True
            break
    if not claims_present:
        needs_of = needs_from_tree(words, denies, past=True)
    # needs that the parse tree does not show: headings, quotations, "scratch that"
    for start, end, needs in framed_parts(words):
        for word in words[start:end]:
            needs_of[word] |= needs
    return needs_of


@dataclass(frozen=True, slots=True)
class Scope:
    """The needs, denial and alternatives that a word passes down to the words below it in the parse
    tree. In "There is no red cat" the scope of "is" has denied_from 2, the index of "no", so "red"
    and "cat" are denied.

    needs: the needs of the word, which the words below get too.
    denied_from: the words below are denied from this index on, infinity without a denial.
    last_or: the index of the last "or" of the alternatives around the words below, 0 outside of
    alternatives.
    """

    needs: ClaimNeeds
    denied_from: float
    last_or: int


ABOVE_SENTENCE = Scope(frozenset(), inf, 0)


class _Scopes:
    """The scopes of the words of a text. The scope of a word follows from the scope of its head.

    denies: the words that deny, such as "not". past: whether clauses in the past count as claims
    too. False for a text that claims something in the present.
    """

    def __init__(self, words: Sequence[Word], denies: Set[Word], past: bool) -> None:
        self.denies = denies
        self.past = past
        self.reach_of_or = alternatives_of_or(words)
        self.near_denials = near_denials(denies)
        # the conjunctions directly below each word, such as {"or"}, and the index of the last one:
        # the index of the word itself if no conjunction follows the word
        self.conjunctions: dict[Word, set[str]] = {}
        self.last_conjunction: dict[Word, int] = {}
        for word in words:
            conjunctions = [child for child in word.children if child.dep == "cc"]
            self.conjunctions[word] = {conjunction.text.lower() for conjunction in conjunctions}
            indices = [conjunction.index for conjunction in conjunctions]
            self.last_conjunction[word] = max([word.index, *indices])
        self.by_word: dict[Word, Scope] = {}
        for word in words:
            self._add_scopes_up_from(word)

    def _add_scopes_up_from(self, word: Word) -> None:
        """Adds the scope of a word, and the scopes of all words above it in the parse tree that
        have no scope yet. A loop replaces recursion, because a long sentence could exceed Python's
        limit of recursion.
        """
        path = [word]
        step = word
        while step not in self.by_word and step.head is not step:
            step = step.head
            path.append(step)
        for step in reversed(path):
            if step not in self.by_word:
                self.by_word[step] = self._scope_of(step)

    def _scope_of(self, word: Word) -> Scope:
        """Returns the scope that a word passes down. The "leaps" of "a man leaps over a fence"
        passes the need {"man", "leap"} down. The scope of the word's head must already be in
        `by_word`.
        """
        is_sentence = begins_sentence(word)
        above = ABOVE_SENTENCE if is_sentence else self.by_word[word.head]
        ends_denial = is_sentence or is_beyond_denial(word, self.conjunctions[word.head])
        # the needs that this word adds to the needs of its head
        added = clause_needs(word, self.past) if is_sentence else own_needs(word, self.past)
        needs = self._inherited_needs(word, above, ends_denial).union(added)
        # an "or" may make the words below this word alternatives, too
        if self.reach_of_or.get(word) in (REACH_BELOW, REACH_SUBJECT):
            needs |= {ALTERNATIVES_NEED}
        # the last "or" around the words below this word: above the word, or at the word
        last_or = above.last_or
        if word in self.reach_of_or:
            last_or = max(last_or, self.last_conjunction[word])
        return Scope(needs, self._denied_from(word, above, ends_denial), last_or)

    def _inherited_needs(self, word: Word, above: Scope, ends_denial: bool) -> ClaimNeeds:
        """Returns the needs of the word's head that apply to the word too: all of them, with two
        exceptions. A subject does not need its verb, and a word outside of the alternatives of an
        "or" has no ALTERNATIVES_NEED.

        above: the scope of the word's head.
        ends_denial: whether a denial above the word ends before the word.
        """
        needs = above.needs
        # the man of "a man leaps" may be there without a leap
        if word.dep in SUBJECT_DEPS:
            needs = needs - {need_of(word.head, word)}
            # with REACH_BELOW the words below a verb are alternatives, but not its subject
            if self.reach_of_or.get(word.head) == REACH_BELOW:
                needs = needs - {ALTERNATIVES_NEED}
        # the "on a table" of "a cup or glass on a table" is no alternative
        last_joining_word = max(self.last_conjunction[word.head], above.last_or)
        is_behind_alternatives = word.index > last_joining_word
        describes = word.dep in ("prep", "relcl", "acl")
        if ends_denial or (is_behind_alternatives and describes):
            needs = needs - {ALTERNATIVES_NEED}
        return needs

    def _denied_from(self, word: Word, above: Scope, ends_denial: bool) -> float:
        """Returns the index from which on the word and the words below it are denied.

        above: the scope of the word's head.
        ends_denial: whether a denial above the word ends before the word, as before "blue" in "not
        red but blue".
        """
        start = inf if ends_denial else above.denied_from
        # "I do not think a dog is here": all of the clause is denied
        if word.dep == "ccomp" and start < inf:
            start = 0
        if word in self.near_denials:
            start = min(denied_from(word, self.denies), start)
        return start


def begins_sentence(word: Word) -> bool:
    """Whether a word heads a sentence, or heads a clause with a subject that is joined to a
    sentence ("a dog sits and a cat sleeps").
    """
    if word.head is word:
        return True
    # "a dog sits and a cat sleeps", but not "a dog sits and sleeps"
    joins_sentences = word.dep == "conj" and word.head.dep in ("ROOT", "conj")
    return joins_sentences and has_subject(word)


def needs_from_tree(words: Sequence[Word], denies: Set[Word], past: bool) -> dict[Word, ClaimNeeds]:
    """Returns the needs of each word that follow from the parse tree.

    A need is a set of base forms. A word is a claim only if a reference has a word of each need.

    denies: the words that deny, such as "not". past: whether clauses in the past count as claims
    too.
    """
    scopes = _Scopes(words, denies, past)
    needs_of = {word: scope.needs for word, scope in scopes.by_word.items()}
    # a scope has the needs that a word shares with the words below it in the tree; these two needs
    # are of the word alone
    for word in words:
        is_alternative = word in scopes.reach_of_or
        is_denied = scopes.by_word[word].denied_from <= word.index
        if is_alternative:
            needs_of[word] |= {ALTERNATIVES_NEED}
        if is_denied:
            needs_of[word] |= {DENIED_NEED}
    return needs_of


def alternatives_of_or(words: Sequence[Word]) -> dict[Word, int]:
    """Returns the words that an "or" joins, each with the reach of the "or": which words besides
    the joined word are alternatives too (`reach_of_conjunction`). In "a dog or a cat" the dog and
    the cat have REACH_BELOW.

    In a list with commas ("a cup, a mug or a glass") the words before the "or" are included.
    """
    reach_of_or: dict[Word, int] = {}
    # from the last word to the first, because a list is found from its end: in the parse tree the
    # "or" of "a cup, a mug or a glass" is below the mug
    for word in reversed(words):
        if not word.children:
            continue
        conjunctions = [child for child in word.children if child.dep == "cc"]
        # parsers give items of a list either dependency
        joined = [child for child in word.children if child.dep in ("conj", "appos")]
        if any(is_or(conjunction, words) for conjunction in conjunctions):
            reach = reach_of_conjunction(word, conjunctions[0], joined)
            for alternative in (word, *joined):
                reach_of_or[alternative] = reach
            continue
        # the cup of the list: no conjunction is below the cup, but the mug is an alternative
        joins_alternative = any(other in reach_of_or for other in joined)
        if joins_alternative and not conjunctions:
            reach_of_or[word] = REACH_BELOW
    return reach_of_or


def reach_of_conjunction(first: Word, conjunction: Word, others: Sequence[Word]) -> int:
    """Returns the reach of an "or", which says what is an alternative besides the joined words.

    REACH_SUBJECT: the words below the joined words, with their subjects ("a dog sits or a cat
    sleeps"). REACH_BELOW: the words below except the subjects ("a red dog or a cat"). REACH_WORD:
    no other words ("cleaning or painting a wall", where the wall is there in any case).

    first: the first of the joined words. others: the other joined words.
    """
    if any(map(has_subject, others)):
        return REACH_SUBJECT
    # an "or" right after a verb comes before the object that both verbs share
    is_right_after_verb = first.pos == "VERB" and conjunction.index == first.index + 1
    if is_right_after_verb:
        return REACH_WORD
    return REACH_BELOW


def is_or(conjunction: Word, words: Sequence[Word]) -> bool:
    """Whether a conjunction is an "or" between alternatives. False for the "or" of "two or so".

    words: the whole text.
    """
    if conjunction.text.lower() not in ("or", "and/or"):
        return False
    last = len(words) - 1
    behind = words[min(conjunction.index + 1, last)]
    return behind.text.lower() not in NO_ALTERNATIVE


def has_subject(verb: Word) -> bool:
    """Whether a verb has its own subject. The "there" of "there is" counts as a subject."""
    return bool(verb.subjects) or verb.has_child("expl")


def own_needs(word: Word, past: bool) -> Iterator[frozenset[str]]:
    """Yields the needs that a word adds to the needs of its head. A need is a set of base forms, of
    which a reference must have one: {"paint"} for the "of" of "a painting of a dog".

    past: whether clauses in the past count as claims too.
    """
    # "of" of "a painting of a dog": the dog is in a painting
    if word.dep in ("prep", "agent"):
        yield from preposition_needs(word)
    else:
        yield from needs_of_head(word)
    for child in word.children:
        # "but" of "anything but a dog"
        excludes = word.pos == "PRON" and child.text.lower() == "but"
        # "hardly" of "hardly a dog", "zero" of "zero dogs"
        is_before_noun = word.pos in NOUN_TAGS and child.index < word.index
        takes_back = is_before_noun and may_take_back(child)
        if excludes or takes_back:
            yield need_of(child)
    # a clause may be a wish, a question or a condition: "if there is a dog"
    is_clause = has_subject(word) or word.pos == "VERB"
    if word.dep in CLAUSE_DEPENDENCIES or (word.dep == "conj" and is_clause):
        yield from clause_needs(word, past)


def needs_of_head(word: Word) -> Iterator[frozenset[str]]:
    """Yields the need that a word has because of its head: the dog of "a stuffed toy, a dog" needs
    the toy, and the hat of "the man has a hat" needs the man.
    """
    head = word.head
    if word.dep in ADDED_DEPENDENCIES and head.lemma not in PLAIN_WORDS:
        yield need_of(head)
    elif word.dep in OBJECT_DEPS and head.lemma in NEUTRAL_VERBS:
        # "has" fits every picture, so the subject of "has" is needed
        subject = subject_of(head)
        if subject is not None and names_owner(subject):
            yield need_of(subject)


def preposition_needs(preposition: Word) -> Iterator[frozenset[str]]:
    """Yields the needs that a preposition adds to the needs of its head: {"without"} for "without a
    dog", and {"paint"} for the "of" of "a painting of a dog".
    """
    head = preposition.head
    text = preposition.text.lower()
    # the noun before "of": "a painting of a dog", but not "a group of dogs"
    needs_noun = text == "of" and head.pos in NOUN_TAGS and head.lemma not in PLAIN_WORDS
    # another word before a preposition: "devoid of dogs", but not "next to a dog"
    is_other_word = head.pos in ("ADJ", "ADV", "SCONJ", "ADP")
    needs_other_word = is_other_word and head.lemma not in NEUTRAL_BEFORE_PREPOSITION
    if text not in PLACE_WORDS:
        yield need_of(preposition)  # "without", "unlike", "for"
    elif needs_noun or needs_other_word:
        yield need_of(head)
    # in "instead of a dog" the parse tree has "instead" below "of"
    if text == "of":
        yield from map(need_of, filter(may_take_back, preposition.children))


def names_owner(subject: Word) -> bool:
    """Whether the subject of a neutral verb is a thing that a reference may lack. True for the man
    in "the man has a hat". False for "there", "it", "you" and "the picture".
    """
    if subject.dep == "expl" or subject.text.lower() in READER_WORDS:
        return False
    return subject.lemma not in PICTURE_NOUNS


def clause_needs(verb: Word, past: bool) -> Iterator[frozenset[str]]:
    """Yields the needs that every word of a clause gets. A need is a set of base forms. A reference
    must have one of these base forms. In "a man leaps over a fence" each word needs {"man",
    "leap"}: the fence is no claim if the reference knows no man and no leap.

    verb: the head of the clause.
    past: whether clauses in the past count as claims too.
    """
    direct = direct_subject(verb)
    if is_no_claim(verb, direct, past):
        yield UNMET_NEED
    finite = finite_of(verb)
    if finite is not None and is_possible_or_finished(verb, finite):
        # the reference must have the "may" of "a dog may be here", or the verb of "has left"
        yield need_of(finite if finite.tag == "MD" else verb)
    is_verb = verb.pos in ("VERB", "AUX") and verb.dep != "aux"
    if is_verb and verb.lemma not in NEUTRAL_VERBS:
        yield action_need(verb)
    # where the verb or its subject begins: a phrase before this index opens the clause, such as "in
    # a book" of "In a book is a dog"
    begin = verb.index if direct is None else min(verb.index, direct.index)
    for child in verb.children:
        opens_clause = child.dep == "prep" and child.index < begin
        # verbs such as "is" and "shows", which state only that a thing is there
        if opens_clause and verb.lemma in SHOWING_VERBS:
            yield from opening_needs(child)
        if qualifies_clause(child, verb):
            yield need_of(child)


def is_possible_or_finished(verb: Word, finite: Word) -> bool:
    """Whether a clause states only what is possible or finished: "a dog may be here", "a man has
    left".

    verb: the head of the clause.
    finite: the word that carries the tense, such as "may" or "has".
    """
    is_finished = verb.tag == "VBN" and finite.lemma == "have"
    return finite.text.lower() in MODAL_VERBS or is_finished


def action_need(verb: Word) -> frozenset[str]:
    """Returns the need of a verb that names an action: {"man", "leap"} for "a man leaps".

    A verb without a noun as its subject, and a passive verb ("is painted"), is needed alone.
    """
    subject = subject_of(verb)
    is_passive = verb.has_child("auxpass")
    if subject is not None and subject.pos in NOUN_TAGS and not is_passive:
        return need_of(verb, subject)
    return need_of(verb)


def qualifies_clause(child: Word, verb: Word) -> bool:
    """Whether a word directly below the verb changes what the clause claims, so that a reference
    must have this word too: "fake" of "the dog is fake", "hardly" of "there is hardly a dog".

    verb: the head of the clause.
    """
    # "the dog is a toy", "the dog is fake"
    says_what = verb.lemma == "be" and child.dep in ("acomp", "attr")
    if says_what and verb.subjects:
        return True
    # "before a dog comes", and not "while a dog comes"
    if child.dep == "mark" and child.text.lower() not in MARKS_OF_CLAUSES:
        return True
    return verb.lemma in NEUTRAL_VERBS and may_take_back(child)


def opening_needs(preposition: Word) -> Iterator[frozenset[str]]:
    """Yields the needs that come from a prepositional phrase at the beginning of a clause.

    The objects of a preposition of place are needs ("In a book is a dog" needs a book). Another
    preposition is itself the need ("Without a leash there is a dog" needs "without").
    """
    if preposition.text.lower() not in PLACE_WORDS:
        yield need_of(preposition)
        return
    for word in preposition.children:
        if word.dep == "pobj" and word.lemma not in PLAIN_WORDS:
            yield need_of(word)


def direct_subject(verb: Word) -> Word | None:
    """Returns the subject directly below the verb in the parse tree, None without a subject."""
    for child in verb.children:
        if child.dep in SUBJECT_DEPS:
            return child
    return None


def is_no_claim(verb: Word, subject: Word | None, past: bool) -> bool:
    """Whether the form of a clause shows that the clause claims nothing. Forms without a claim are
    a condition, an order, the future, a question, an action of the writer, and the past.

    verb: the head of the clause.
    subject: the subject directly below the verb, None without a subject.
    past: whether clauses in the past count as claims too.
    """
    if is_condition(verb):
        return True
    finite = finite_of(verb)
    if finite is None:
        return is_order(verb, subject)
    # "will be", "would be"
    if finite.tag == "MD" and finite.text.lower() not in POSSIBILITY_VERBS:
        return True
    # "there has been a dog"
    if verb.tag == "VBN" and verb.lemma == "be" and finite.lemma == "have":
        return True
    if subject is not None:
        if has_question_order(verb, subject, finite):
            return True
        # an action of the writer or reader: "I want a dog", but not "you see a dog"
        if subject.text.lower() in PERSON_WORDS and verb.lemma not in SEEING_VERBS:
            return True
    return not past and is_past(verb, finite)


def is_condition(verb: Word) -> bool:
    """Whether a clause is a condition: "if a dog is there", but not "as if it slept".

    verb: the head of the clause.
    """
    marks = {child.text.lower() for child in verb.children if child.dep == "mark"}
    return not marks.isdisjoint(CONDITION_WORDS) and "as" not in marks


def is_order(verb: Word, subject: Word | None) -> bool:
    """Whether a clause without tense is an order: "Imagine a dog".

    verb: the head of the clause. subject: its subject, None without a subject.
    """
    is_alone = verb.dep in ("ROOT", "conj") and not verb.has_child("aux")
    return verb.tag == "VB" and subject is None and is_alone


def has_question_order(verb: Word, subject: Word, finite: Word) -> bool:
    """Whether a clause has the word order of a question: "is there a dog", "may there be a dog",
    but not "here is a dog".

    verb: the head of the clause. subject: its subject. finite: the word that carries the tense.
    """
    if finite.index >= subject.index:
        return False
    # "may there be a dog": an auxiliary is before the subject
    if finite is not verb:
        return True
    # "is there a dog": no word comes before "is", as "here" does in "here is a dog"
    subject_is_first_child = subject in verb.children[:1]
    return verb.lemma == "be" and subject_is_first_child


def is_past(verb: Word, finite: Word) -> bool:
    """Whether a clause is about the past: "there was a dog". False for "a dog that was found",
    because the dog may be there now.

    verb: the head of the clause. finite: the word that carries the tense.
    """
    if finite.tag != "VBD" or verb.dep in ("relcl", "acl"):
        return False
    # taggers give "turned" in "sits, its back turned" the tag of the past
    has_present = any(child.tag in ("VBZ", "VBP") for child in verb.children)
    return not (finite.text.endswith("ed") and has_present)


def may_take_back(word: Word) -> bool:
    """Whether a word may change what its verb or noun claims: "hardly" of "hardly a dog", "zero" of
    "zero dogs". The adverbs of ADVERBS, such as "very", leave the claim as it is.
    """
    text = word.text.lower()
    is_answer = text in DENYING_WORDS and word.dep == "intj"  # "no, it is red"
    if text in ADVERBS or is_answer:
        return False
    if word.dep == "nummod":
        return text in ("zero", "0")
    return word.dep in QUALIFYING_DEPENDENCIES


def subject_of(verb: Word) -> Word | None:
    """Returns the subject of a verb: its direct subject, the subject of the verb above it, or the
    noun that the verb describes. The man is the subject of both verbs in "a man who waits is tall".
    None without a subject.
    """
    for _ in range(MAX_STEPS_TO_SUBJECT):
        subject = direct_subject(verb)
        # the subject of "a man who sits" is the man, one step above "sits"
        is_relative = subject is not None and subject.is_relative and verb.dep == "relcl"
        if subject is not None and not is_relative:
            return subject
        shares_subject = (
            verb.dep in (*SHARED_SUBJECT_DEPENDENCIES, "acl", "relcl") or verb.pos == "AUX"
        )
        if verb.head is verb or not shares_subject:
            return None
        verb = verb.head
        if verb.pos in NOUN_TAGS:
            return verb
    return None


def finite_of(verb: Word) -> Word | None:
    """Returns the word that carries the tense of a clause: the "has" of "a man has left", or the
    verb itself in "a man leaves". None for a clause without tense ("a man leaving").
    """
    for child in verb.children:
        if child.dep in ("aux", "auxpass") and child.tag in FINITE_VERB_TAGS:
            return child
    return verb if verb.tag in FINITE_VERB_TAGS else None


def need_of(*words: Word) -> frozenset[str]:
    """Returns one need: the base forms of these words. A reference must have at least one of the
    forms.
    """
    return frozenset(lemma_of_word(word.text.lower()) for word in words)
