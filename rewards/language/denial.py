"""Which words of a sentence are denied: what follows "no", "not", "without", and all of "X is missing".

    denied(["there", "is", "no", "circle"], ["EX", "VBZ", "DT", "NN"])        # {2, 3}

A negation of a clause ("there is no ...", "is not ...", "nobody ...") reaches to the end of the clause. A negation in a
phrase ("a man with no shirt riding a horse") reaches to the end of its noun. "X is not there", "X is missing" deny X.
"Not only" and "no more than" deny nothing. What any other words put elsewhere is a matter of claims.py.
"""

from collections.abc import Sequence

from spanreward.rewards.language.words import PICTURES, word_set

NOT = word_set("not n't n\u2019t nt never nor neither")
NONE = word_set("none nobody nothing nowhere")
NO_DENIAL_BEFORE = word_set("only just merely simply solely far unlike alone but other more less fewer")
WITHOUT = word_set("without lacking sans")
MISSING = word_set("missing absent")
SEEN = word_set("true there here visible present shown seen depicted pictured found exist exists existing")
BE = word_set("is are was were be been being seems seem 's 're")
BREAKS = word_set("but except although though while whereas however yet")
JOINTS = word_set(", and &")
OPENS = JOINTS | BREAKS | word_set("that which who or because")
GOES_ON = ("JJ", "JJR", "JJS", "NN", "NNS", "RB", "CC")  # after a joint: "not red and small"
NOUNS = ("NN", "NNS", "NNP", "NNPS")
BEFORE_NOUN = ("DT", "PDT", "JJ", "JJR", "JJS", "CD", "VBN", "VBG", "PRP$", "RB", "HYPH", "POS", "PRP", "EX")


def denied(texts: Sequence[str], tags: Sequence[str]) -> set[int]:
    """Returns the places of the words that are denied.

    texts: the words of one sentence in lower case. tags: their parts of speech (Penn Treebank).
    """
    found: set[int] = set()
    at = begin = 0  # begin: where the clause begins
    there = False  # whether "there is" was read, and no noun after it
    while at < len(texts):
        end = scope(texts, tags, at, leads=there or at == begin)
        if end > at:
            found.update(range(begin if denies_what_stands_before(texts, at) else at, end))
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
    if behind in NO_DENIAL_BEFORE:
        return at
    if word in NOT or is_missing(texts, at) or (word == "no" and behind == "longer"):
        return clause_end(texts, tags, at + 1)
    if word == "no" or word in NONE:
        named = word == "no" and (tags[at] == "UH" or behind[:1].isdigit() or (at and tags[at - 1] in ("DT", "PRP$")))
        if named or not behind:  # "No 5", "a no parking sign", "no."
            return at
        return clause_end(texts, tags, at + 1) if leads else phrase_end(texts, tags, at + 1)
    return phrase_end(texts, tags, at + 1) if word in WITHOUT else at


def denies_what_stands_before(texts: Sequence[str], at: int) -> bool:
    """Whether the denial covers what stands before it: "X is not there", "does not exist", "X is missing"."""
    first, *near = [*texts[at + 1 : at + 5], ""]
    if texts[at] in NOT:
        framed = first in ("in", "on", "part", "what") and not PICTURES.isdisjoint(near)
        return framed or first in ("appear", "occur") or not SEEN.isdisjoint(texts[at + 1 : at + 4])
    return is_missing(texts, at)


def is_missing(texts: Sequence[str], at: int) -> bool:
    return texts[at] in MISSING and not BE.isdisjoint(texts[max(at - 2, 0) : at])


def clause_end(texts: Sequence[str], tags: Sequence[str], at: int) -> int:
    """Returns the end of the clause: "but" and the like, or a comma or "and" before no bare adjective or noun."""
    while at < len(texts):
        goes_on = at + 1 < len(texts) and tags[at + 1] in GOES_ON
        if texts[at] in BREAKS or (texts[at] in JOINTS and not goes_on):
            return at
        at += 1
    return at


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
