"""Which words of a sentence are denied or doubted: what follows "no", "not", "without", "it is false".

    denied(["there", "is", "no", "circle"], ["EX", "VBZ", "DT", "NN"])        # {2, 3}

A negation of a clause ("there is no ...", "is not ...", "nobody ...") reaches to the end of the clause. A negation in a
phrase ("a man with no shirt riding a horse") reaches to the end of its noun. "X is not there", "X is missing" deny X.
What is said in another frame ("some say that", "there would be", "find a dog") is a matter of claims.py.

These deny nothing: "not only", "not just", "no more than"; "except", "apart from" and "other than" ("empty apart from a
man" has the man in it); "far from", which is a place; and hedges that leave the claim standing ("possibly a park",
"appears to be", "might be"). People's captions have many hedges, and a wrong claim costs as much with one as without.
"""

from collections.abc import Sequence

from spanreward.rewards.language.words import word_set

NOT = word_set("not n't n\u2019t nt never nor neither")
NONE = word_set("none nobody nothing nowhere")
NO_DENIAL_BEFORE = word_set("only just merely simply solely far unlike alone but other more less fewer")
WITHOUT = word_set("without lacking sans")
INSTEAD = frozenset((("instead", "of"), ("rather", "than"), ("devoid", "of"), ("free", "of")))
BUT = frozenset(
    (*((word, "but") for word in ("anything", "everything", "everyone", "all")), ("lack", "of"), ("absence", "of"))
)
BARELY = word_set("hardly scarcely barely")  # "hardly a", "barely any"
MANNER = word_set("way means case sense circumstances account")  # "in no way"
DOUBTED = word_set("lacks lacked allegedly supposedly purportedly hypothetically whether disputed fail fails failing")
BEFORE_PLURAL = 4  # words after "zero" among which a plural is looked for
UNTRUE = word_set(
    "false untrue wrong incorrect missing absent nonexistent doubtful unlikely impossible imaginary invented ruled"
)
TRUE = word_set("true right correct so real exist exists existing")
SEEN = TRUE | word_set("there here visible present shown seen depicted pictured found")
PICTURE = word_set("picture image photo photograph scene drawing")
BE = word_set("is are was were be been being seems seem 's 're")
BREAKS = word_set("but except although though while whereas however yet")
JOINTS = word_set(", and &")
OPENS = JOINTS | BREAKS | word_set("that which who or because")
GOES_ON = ("JJ", "JJR", "JJS", "NN", "NNS", "RB", "CC")  # after a joint: "not red and small"
NOUNS = ("NN", "NNS", "NNP", "NNPS")
BEFORE_NOUN = ("DT", "PDT", "JJ", "JJR", "JJS", "CD", "VBN", "VBG", "PRP$", "RB", "HYPH", "POS", "PRP", "EX")


def denied(texts: Sequence[str], tags: Sequence[str]) -> set[int]:
    """Returns the places of the words that are denied or doubted.

    texts: the words of one sentence in lower case. tags: their parts of speech (Penn Treebank).
    """
    found: set[int] = set()
    at = begin = 0  # begin: where the clause begins
    there = False  # whether "there is" was read, and no noun after it
    while at < len(texts):
        end = scope(texts, tags, at, leads=there or at == begin)
        if end > at:
            start = begin if denies_what_stands_before(texts, at) else at
            found.update(range(0 if answers_no(texts, at) else start, end))
            at = begin = end
            there = False
        else:
            if texts[at] in OPENS:
                begin = at + 1
            there = (there or tags[at] == "EX") and tags[at] not in NOUNS
            at += 1
    return found


def scope(texts: Sequence[str], tags: Sequence[str], at: int, leads: bool) -> int:
    """Returns the end of the words that the word at place `at` denies, or `at` where it denies nothing.

    leads: whether the word opens its clause or follows "there is".
    """
    word, behind = texts[at], texts[at + 1] if at + 1 < len(texts) else ""
    if word in NOT or (word == "no" and behind == "longer"):
        if behind in NO_DENIAL_BEFORE:
            return at
        said = "that" in texts[at + 1 : at + 5]  # "it is not true that"
        return statement_end(texts, at + 1) if said else clause_end(texts, tags, at + 1)
    if answers_no(texts, at):
        return at + 1
    if word == "no" or word in NONE:
        named = word == "no" and (tags[at] == "UH" or behind[:1].isdigit() or (at and tags[at - 1] in ("DT", "PRP$")))
        if behind in NO_DENIAL_BEFORE or named or not behind:  # "No 5", "a no parking sign", "no."
            return at
        leads = leads or behind in MANNER
        return clause_end(texts, tags, at + 1) if leads else phrase_end(texts, tags, at + 1)
    predicate = leads or not BE.isdisjoint(texts[max(at - 1, 0) : at])  # "it is barely a dog"
    if (word in BARELY and behind in ("a", "an", "any")) or is_zero(texts, tags, at):
        return clause_end(texts, tags, at + 1) if predicate else phrase_end(texts, tags, at + 1)
    if word in WITHOUT:
        return phrase_end(texts, tags, at + 1)
    if (word, behind) in INSTEAD:
        return clause_end(texts, tags, at + 2) if predicate else phrase_end(texts, tags, at + 2)
    if (word, behind) in BUT or is_elsewhere(texts, at):
        return clause_end(texts, tags, at + 2)
    if word in DOUBTED:
        return statement_end(texts, at + 1)
    if is_untrue(texts, at):
        return statement_end(texts, at + 1) if behind in ("that", "if") else clause_end(texts, tags, at + 1)
    if word == "unless" or (word == "if" and (not at or texts[at - 1] not in ("as", "even"))):
        return next((place for place in range(at, len(texts)) if texts[place] in (",", "then")), len(texts))
    return at


def denies_what_stands_before(texts: Sequence[str], at: int) -> bool:
    """Whether the denial covers what stands before it: "X is not there", "does not exist", "X is missing"."""
    if is_elsewhere(texts, at):
        return True
    before, (first, *near) = texts[max(at - 1, 0) : at], [*texts[at + 1 : at + 5], ""]
    if texts[at] in NOT:
        framed = first in ("in", "on", "part", "what") and not PICTURE.isdisjoint(near)
        appears = first in ("appear", "occur") and near[0] != "to"
        return framed or appears or not SEEN.isdisjoint(texts[at + 1 : at + 4])
    return is_untrue(texts, at) or (texts[at] == "nowhere" and not BE.isdisjoint(before))


def answers_no(texts: Sequence[str], at: int) -> bool:
    """Whether this is the last word of "a red circle, no", which takes back all words before it."""
    last = not any(text[0].isalnum() for text in texts[at + 1 : at + 3]) and at + 3 >= len(texts)
    return texts[at] == "no" and last and texts[at - 1 : at] in ([","], ["-"], ["\u2013"], ["\u2014"])


def is_zero(texts: Sequence[str], tags: Sequence[str], at: int) -> bool:
    """True for "zero" before a plural ("0 red circles"), False for "number zero"."""
    if texts[at] not in ("zero", "0"):
        return False
    behind = [tag for tag in tags[at + 1 : at + 1 + BEFORE_PLURAL] if tag not in BEFORE_NOUN]
    return behind[:1] in (["NNS"], ["NNPS"])


def is_elsewhere(texts: Sequence[str], at: int) -> bool:
    """True for "another" in "in another picture"."""
    return texts[at] in ("another", "other", "different") and not PICTURE.isdisjoint(texts[at + 1 : at + 2])


def is_untrue(texts: Sequence[str], at: int) -> bool:
    """True for "wrong" in "is wrong", False in "the wrong side"."""
    return texts[at] in UNTRUE and not BE.isdisjoint(texts[max(at - 2, 0) : at])


def clause_end(texts: Sequence[str], tags: Sequence[str], at: int) -> int:
    """Returns the end of the clause: "but" and the like, or a comma or "and" before no bare adjective or noun."""
    while at < len(texts):
        goes_on = at + 1 < len(texts) and tags[at + 1] in GOES_ON
        if texts[at] in BREAKS or (texts[at] in JOINTS and not goes_on):
            return at
        at += 1
    return at


def statement_end(texts: Sequence[str], at: int) -> int:
    """Returns the place of the next "but", or the end of the sentence."""
    return next((place for place in range(at, len(texts)) if texts[place] == "but"), len(texts))


def phrase_end(texts: Sequence[str], tags: Sequence[str], at: int) -> int:
    """Returns the end of the next noun and of the nouns that "of" and "or" join to it."""
    named = False
    while at < len(texts):
        joined = texts[at] in ("of", "or", "nor")
        if joined or tags[at] in NOUNS:
            named = not joined
        elif named or tags[at] not in BEFORE_NOUN:
            return at
        at += 1
    return at
