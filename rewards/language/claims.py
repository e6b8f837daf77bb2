"""What each word of a text hangs from, so that a text is paid for what it claims and not for what
it names.

    hanging(words)      # of "They removed a red circle.": "circle" needs {{"remov"}}

Texts name things in countless frames that do not claim them ("think of a dog", "unlike a dog"), and
no list has them all. But what a clause names hangs from its verb, that verb's subject and adverbs,
and the words that open the clause; a noun hangs from the noun before "of". Each of these governors
is neutral, fitting every picture ("there is", "shows", "in"), or a need: a reference must have one
of its words (supported_claims.py). "A man leaps" needs a man or a leap.

No reference backs what is no claim by its form: an order, the future, a wish, what was (if the text
has a present), what the writer or reader does, a denial (denial.py), a question, and alternatives:
if "either red or blue" asserted a colour, a list of all colours would always contain the right one.
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from math import inf

from spanreward.rewards.language.denial import denied_from, near_denials, stands_for_itself
from spanreward.rewards.language.lemmas import lemma
from spanreward.rewards.language.retracted_parts import (
    CONDITIONS,
    DENIED_NEED,
    DENYING,
    Needs,
    framed,
)
from spanreward.rewards.language.words import (
    ADVERBS,
    FINITE,
    LEADS,
    NEUTRAL,
    NOUNS,
    PICTURES,
    PLACING,
    PLAIN,
    SEEING,
    SHOWING,
    Word,
    word_set,
)

NEVER = frozenset[str]()  # a need that nothing meets
OPEN = frozenset(("or",))  # what an "or" leaves open
NO_ALTERNATIVE = word_set("so less more not")  # "two or so", "more or less", "whether or not"
CLAUSES = ("ROOT", "ccomp", "xcomp", "advcl", "relcl", "acl", "csubj", "parataxis", "pcomp")
SUBJECT_DEPS = ("nsubj", "nsubjpass", "expl", "csubj")
# a verb so tied to a verb shares its subject
ABOVE = ("xcomp", "conj", "advcl", "ccomp", "pcomp", "prep")
ADDED = ("appos", "dep", "parataxis")
QUALIFYING = ("advmod", "npadvmod", "intj", "nummod")
PERSONS = word_set("i we you")
READERS = PERSONS | word_set("one viewer it this that he she they who which these those")
MODALS = word_set("may might could must")
PLACED = (PLACING | word_set("of by with")) - word_set("about for despite past")
FARTHEST = 16  # verbs between a verb and its subject
MARKS_BEFORE_CLAUSES = word_set(
    "as while that though although because since when where whilst so for to and with"
)
MARKS_OF_CLAUSES = MARKS_BEFORE_CLAUSES | CONDITIONS
OWN_LEADS = PLAIN | LEADS | PLACING
POSSIBLE = MODALS | {"can", "ca"}


def hanging(words: Sequence[Word], denies: Set[Word]) -> dict[Word, Needs]:
    """Returns what each word needs. A text that claims no present may claim the past.

    words: the whole text. denies: its words that deny.
    """
    needs_of = climbed(words, denies, past=False)
    if not any(word.pos in NOUNS and NEVER not in needs_of[word] for word in words):
        needs_of = climbed(words, denies, past=True)
    for start, end, needs in framed(words):
        for word in words[start:end]:
            needs_of[word] |= needs
    return needs_of


@dataclass(frozen=True, slots=True)
class Scope:
    """What a word hands down to the words that hang from it.

    needs: what they need with it. denied_from: the place from which on a denial reaches them,
    infinity where none does. last_or: the place of the last "or" of the alternatives that they are
    in, 0 where they are in none.
    """

    needs: Needs
    denied_from: float
    last_or: int


ABOVE_SENTENCE = Scope(frozenset(), inf, 0)


class _Scopes:
    """The scopes of a text's words, each found from that of its head."""

    def __init__(self, words: Sequence[Word], denies: Set[Word], past: bool) -> None:
        self.denies = denies
        self.past = past
        self.left_open = alternatives(words)
        self.near = near_denials(denies)
        self.joints: dict[Word, set[str]] = {}  # the conjunctions below a word
        self.after: dict[Word, int] = {}  # the place of the last of them, or of the word
        for word in words:
            conjunctions = [child for child in word.children if child.dep == "cc"]
            self.joints[word] = {child.text.lower() for child in conjunctions}
            self.after[word] = max([word.index, *(child.index for child in conjunctions)])
        self.by_word: dict[Word, Scope] = {}
        for word in words:
            self._add(word)

    def _add(self, word: Word) -> None:
        """Finds the scopes on the way down to a word."""
        path = [word]
        while path[-1] not in self.by_word and path[-1].head is not path[-1]:
            path.append(path[-1].head)
        for step in reversed(path):
            if step not in self.by_word:
                self.by_word[step] = self._scope_of(step)

    def _scope_of(self, word: Word) -> Scope:
        is_sentence = begins_sentence(word)
        above = ABOVE_SENTENCE if is_sentence else self.by_word[word.head]
        ends = is_sentence or stands_for_itself(word, self.joints[word.head])
        last_or = above.last_or
        if word in self.left_open:
            last_or = max(last_or, self.after[word])
        needs = above.needs
        # who does what no reference has may be there all the same
        if word.dep in SUBJECT_DEPS:
            needs = needs - {group(word.head, word)}
            if self.left_open.get(word.head) == 1:
                needs = needs - {OPEN}
        is_behind = word.index > max(self.after[word.head], above.last_or)
        if ends or (is_behind and word.dep in ("prep", "relcl", "acl")):
            needs = needs - {OPEN}  # the table in "a cup or glass on a table"
        added = set(clause(word, self.past) if is_sentence else edge(word, self.past))
        if self.left_open.get(word):
            added.add(OPEN)
        return Scope(needs | added, self._denied_from(word, above, ends), last_or)

    def _denied_from(self, word: Word, above: Scope, ends: bool) -> float:
        """Returns from where on a word is denied. ends: whether a denial above ends before it."""
        start = inf if ends else above.denied_from
        if word.dep == "ccomp" and start < inf:
            start = 0
        if word in self.near:
            start = min(denied_from(word, self.denies), start)
        return start


def begins_sentence(word: Word) -> bool:
    """Whether a word heads a sentence, or one that "and" joins to another."""
    if word.head is word:
        return True
    return word.dep == "conj" and word.head.dep in ("ROOT", "conj") and has_subject(word)


def climbed(words: Sequence[Word], denies: Set[Word], past: bool) -> dict[Word, Needs]:
    """Returns what each word needs by its parse tree. past: whether the past claims too."""
    scopes = _Scopes(words, denies, past)
    needs_of = {word: scope.needs for word, scope in scopes.by_word.items()}
    for word in words:
        if word in scopes.left_open:
            needs_of[word] |= {OPEN}
        if scopes.by_word[word].denied_from <= word.index:
            needs_of[word] |= {DENIED_NEED}
    return needs_of


def alternatives(words: Sequence[Word]) -> dict[Word, int]:
    """Returns the words that an "or" joins, with those before them in a list with commas, and what
    each leaves open.

    That is 0: the word alone ("cleaning or painting a wall"), 1: what hangs from it except its
    subject, 2: all of it.
    """
    left_open: dict[Word, int] = {}
    for word in reversed(words):  # what is joined stands behind
        if not word.children:
            continue
        joints = [child for child in word.children if child.dep == "cc"]
        # parsers take lists for either
        joined = [child for child in word.children if child.dep in ("conj", "appos")]
        if any(is_or(joint, words) for joint in joints):
            is_bare_verb = word.pos == "VERB" and joints[0].index == word.index + 1
            if any(map(has_subject, joined)):
                reach = 2
            elif is_bare_verb:
                reach = 0
            else:
                reach = 1
            left_open |= dict.fromkeys((word, *joined), reach)
        if not joints and not left_open.keys().isdisjoint(joined):
            left_open[word] = 1
    return left_open


def is_or(joint: Word, words: Sequence[Word]) -> bool:
    behind = words[min(joint.index + 1, len(words) - 1)].text.lower()
    return joint.text.lower() in ("or", "and/or") and behind not in NO_ALTERNATIVE


def has_subject(verb: Word) -> bool:
    return bool(verb.subjects) or verb.has_child("expl")


def edge(word: Word, past: bool) -> Iterator[frozenset[str]]:
    """Yields what a word needs beside what its head needs."""
    head, text = word.head, word.text.lower()
    if word.dep in ("prep", "agent"):
        of_noun = text == "of" and head.pos in NOUNS and head.lemma not in PLAIN
        of_lead = head.pos in ("ADJ", "ADV", "SCONJ", "ADP") and head.lemma not in OWN_LEADS
        if text not in PLACED:
            yield group(word)
        elif of_noun or of_lead:
            yield group(head)
        if text == "of":  # "instead of"
            yield from map(group, filter(qualifies, word.children))
    elif word.dep in ADDED and head.lemma not in PLAIN:
        yield group(head)
    elif word.dep in ("dobj", "attr", "oprd", "dative") and head.lemma in NEUTRAL:
        subject = subject_of(head)
        if subject is not None and names_owner(subject):
            yield group(subject)
    if word.pos == "PRON":  # "anything but"
        for child in word.children:
            if child.text.lower() == "but":
                yield group(child)
    if word.pos in NOUNS:
        for child in word.children:
            if child.index < word.index and qualifies(child):
                yield group(child)
    if word.dep in CLAUSES or (word.dep == "conj" and (has_subject(word) or word.pos == "VERB")):
        yield from clause(word, past)


def names_owner(subject: Word) -> bool:
    """Whether the subject of a neutral verb is a thing that a reference may lack: the man in "the
    man has a hat", and not "there", "it", "you" or "the picture".
    """
    if subject.dep == "expl" or subject.text.lower() in READERS:
        return False
    return subject.lemma not in PICTURES


def clause(verb: Word, past: bool) -> Iterator[frozenset[str]]:
    """Yields what all of a clause needs."""
    direct = direct_subject(verb)
    if is_no_claim(verb, direct, past):
        yield NEVER
    finite, subject = finite_of(verb), subject_of(verb)
    if finite is not None:
        is_perfect = verb.tag == "VBN" and finite.lemma == "have"
        if finite.text.lower() in MODALS or is_perfect:
            yield group(finite if finite.tag == "MD" else verb)
    if verb.pos in ("VERB", "AUX") and verb.lemma not in NEUTRAL and verb.dep != "aux":
        acts = subject is not None and subject.pos in NOUNS and not verb.has_child("auxpass")
        yield group(verb, subject) if acts and subject else group(verb)
    first = min(verb.index, verb.index if direct is None else direct.index)
    for child in verb.children:
        text = child.text.lower()
        if child.dep == "prep" and child.index < first and verb.lemma in SHOWING:
            objects = [word for word in child.children if word.dep == "pobj"]
            opening = [word for word in objects if word.lemma not in PLAIN]
            yield from map(group, opening if text in PLACED else [child])
        says_what = verb.lemma == "be" and bool(verb.subjects) and child.dep in ("acomp", "attr")
        unmarked = child.dep == "mark" and text not in MARKS_OF_CLAUSES
        if says_what or unmarked or (verb.lemma in NEUTRAL and qualifies(child)):
            yield group(child)


def direct_subject(verb: Word) -> Word | None:
    """Returns the subject that hangs from the verb itself, if it has one."""
    return next((child for child in verb.children if child.dep in SUBJECT_DEPS), None)


def is_no_claim(verb: Word, subject: Word | None, past: bool) -> bool:
    """Whether the form of a clause says that it claims nothing. subject: that of the verb itself,
    None where it has none.
    """
    finite = finite_of(verb)
    marks = {child.text.lower() for child in verb.children if child.dep == "mark"}
    if marks & CONDITIONS and "as" not in marks:
        return True
    if finite is None:  # an order
        is_alone = verb.dep in ("ROOT", "conj") and not verb.has_child("aux")
        return verb.tag == "VB" and subject is None and is_alone
    if finite.tag == "MD" and finite.text.lower() not in POSSIBLE:
        return True
    if verb.tag == "VBN" and verb.lemma == "be" and finite.lemma == "have":
        return True
    asks = finite is not verb or (verb.lemma == "be" and subject in verb.children[:1])
    if subject is not None and finite.index < subject.index and asks:
        return True  # "may there be", "is there a dog", and not "here is a dog"
    if subject is not None and subject.text.lower() in PERSONS and verb.lemma not in SEEING:
        return True
    if finite.tag != "VBD" or past or verb.dep in ("relcl", "acl"):
        return False
    # taggers take "turned" in "sits, its back turned" for the past
    has_present = any(child.tag in ("VBZ", "VBP") for child in verb.children)
    return not (finite.text.endswith("ed") and has_present)


def qualifies(word: Word) -> bool:
    """Whether it is an adverb that may take back its verb or noun: "hardly", "once", "zero"."""
    text = word.text.lower()
    if text in ADVERBS or (text in DENYING and word.dep == "intj"):  # "no, it is red"
        return False
    if word.dep == "nummod":
        return text in ("zero", "0")
    return word.dep in QUALIFYING


def subject_of(verb: Word) -> Word | None:
    """Returns a verb's subject: its own, that of the verb above it, or the noun that it
    describes.
    """
    for _ in range(FARTHEST):
        subject = direct_subject(verb)
        if subject is not None and not (subject.is_relative and verb.dep == "relcl"):
            return subject
        if verb.head is verb or (verb.dep not in (*ABOVE, "acl", "relcl") and verb.pos != "AUX"):
            return None
        verb = verb.head
        if verb.pos in NOUNS:
            return verb
    return None


def finite_of(verb: Word) -> Word | None:
    """Returns the word of a clause that has its tense: an auxiliary or the verb itself."""
    auxiliaries = [child for child in verb.children if child.dep in ("aux", "auxpass")]
    return next((word for word in (*auxiliaries, verb) if word.tag in FINITE), None)


def group(*words: Word) -> frozenset[str]:
    return frozenset(lemma(word.text.lower()) for word in words)
