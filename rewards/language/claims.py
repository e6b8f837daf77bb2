"""Which words of a text stand in a claim: a clause in the present that says what is there, or a caption's noun phrase.

    unclaimed(words)        # for "Earlier there was a dog. Here is a cat.": the places of "earlier there was a dog"

Texts name things in many frames without claiming them ("find a dog", "I wish there were a dog", "true or false:
there is a dog"), and no list has all of them. So this is a list of what claims. A clause claims if

- it is the sentence's main clause, or hangs from a claim as a conjunct, a relative or adverbial clause (not "if" and
  its like), or as the object of a verb that shows something (SHOWING: "it appears that");
- its verb has a subject and is neither past nor future; a text that claims nothing in the present may claim the past;
- its subject is no speaker or reader (PERSONS), unless the verb is one of seeing ("you can see");
- it opens with its subject, "there", a place (PLACING) or a word of OPENING, and not with its auxiliary.

What a noun is "for" or "about" is not claimed ("the word for a dog"). A sentence without a finite verb is a caption,
and claims. The rules read the parse tree; a denial (denial.py) is no matter of theirs.
"""

from collections.abc import Sequence

from spanreward.rewards.language.words import FINITE, HEDGES, PLACING, Word, word_set

CLAUSES = ("ROOT", "ccomp", "advcl", "relcl", "acl", "csubj", "parataxis")
SUBJECTS = ("nsubj", "nsubjpass", "expl", "csubj")
SHOWING = word_set(
    "suggest make indicate allow show note have appear seem add see let ensure capture highlight find confirm "
    "emphasize reveal hint depict feature mean contain hold look"
)
SEEING = word_set("see find spot view observe notice glimpse look make")
TEXTS = word_set("it text answer response description caption sign")
PERSONS = word_set("i you we who")
ABOUT = word_set("for about like regarding concerning than")  # what a noun is so tied to need not be there
MARKS = word_set(
    "as while that though although for with so because before after since like than when where whilst once"
)
MODALS = word_set("can could may might must")
OPENING = HEDGES | word_set(
    "overall however next above here there nearby back below further away additionally notably interestingly ahead "
    "meanwhile overhead outdoors finally so also then now right directly just only"
)


def unclaimed(words: Sequence[Word]) -> set[int]:
    """Returns the places of the words outside of claims. `words` is the whole text."""
    outside = {word.index for word, claims in claimed(words, past=False).items() if not claims}
    if any(word.pos in ("NOUN", "PROPN") and word.index not in outside for word in words):
        return outside
    return {word.index for word, claims in claimed(words, past=True).items() if not claims}


def claimed(words: Sequence[Word], past: bool) -> dict[Word, bool]:
    """Returns per word whether it stands in a claim. past: whether the past claims too."""
    found: dict[Word, bool] = {}
    for word in words:
        path = []
        while word not in found and word.head is not word:
            path.append(word)
            word = word.head
        if word not in found:
            found[word] = claims(word, past)
        for inner in reversed(path):
            found[inner] = stands(inner, found[inner.head], past)
    return found


def stands(word: Word, head_claims: bool, past: bool) -> bool:
    """Whether the word stands in a claim if its head does."""
    own = bool(word.subjects) or word.has_child("expl")
    if word.dep == "conj" and own and word.head.dep in ("ROOT", "conj"):
        return claims(word, past)
    if not head_claims or (word.dep == "prep" and word.head.pos == "NOUN" and word.text.lower() in ABOUT):
        return False
    if word.dep == "ccomp" and word.index > word.head.index and finite_of(word) and not shows(word.head):
        joined = any(child.dep == "cc" for child in (*word.children, *word.head.children))
        return joined and word.head.lemma == "be" and claims(word, past)  # "and" before a clause that was misread
    if word.dep in ("acl", "ccomp") and word.head.pos == "NOUN" and word.has_child("mark"):
        return False  # "the chance that"
    return claims(word, past) if word.dep in CLAUSES or (word.dep == "conj" and own) else True


def claims(verb: Word, past: bool) -> bool:
    """Whether a clause claims by itself."""
    subject = next((child for child in verb.children if child.dep in SUBJECTS), None)
    finite = finite_of(verb)
    if verb.tag == "VB" and not verb.has_child("aux") and subject is None and verb.dep in ("ROOT", "conj"):
        return False  # "find a dog"
    if finite is None:
        return verb.tag != "WP"  # "what about a dog"
    said = [child.text.lower() for child in verb.children]
    if (finite.tag == "MD" and finite.text.lower() not in MODALS) or finite.text.lower() in ("used", "ought"):
        return False
    if verb.has_child("expl") and finite.tag == "MD" and "have" in said:
        return False  # "there could have been"
    if any(child.dep == "mark" and child.text.lower() not in MARKS for child in verb.children):
        return "as" in said  # "as if"
    if verb.dep in ("relcl", "acl"):
        return True
    # taggers take "turned" in "sits, its back turned" for the past
    present = finite.text.endswith("ed") and any(child.tag in ("VBZ", "VBP") for child in verb.children)
    if finite.tag == "VBD" and not past and not present:
        return False
    if subject is None or verb.dep == "advcl":
        return True
    name = subject.text.lower()
    if (name in PERSONS or (name == "one" and subject.tag == "PRP")) and verb.lemma not in SEEING:
        return False
    if finite is not verb and finite.index < subject.index:
        return False  # "may there be"
    return all(opens(child) for child in verb.children if child.index < min(subject.index, verb.index))


def shows(verb: Word) -> bool:
    """Whether what a verb says of its object is a claim: "it shows that", and "says that" of a text, as in criteria."""
    texts = all(subject.text.lower() in TEXTS for subject in verb.subjects)
    return verb.lemma in SHOWING or (verb.lemma == "say" and verb.tag == "VBZ" and texts)


def finite_of(verb: Word) -> Word | None:
    """Returns the word of a clause that has its tense: an auxiliary or the verb itself."""
    said = (*(child for child in verb.children if child.dep in ("aux", "auxpass")), verb)
    return next((word for word in said if word.tag in FINITE), None)


def opens(word: Word) -> bool:
    """Whether a claim may begin with this dependent of its verb."""
    text = word.text.lower()
    if word.dep == "prep":
        return text in PLACING
    return word.dep not in ("advmod", "npadvmod", "neg") or text in OPENING
