"""Which words of a sentence are denied or doubted: what follows "no", "not", "without", "I doubt that", "it is false".

    denied(["there", "is", "no", "circle"], ["EX", "VBZ", "DT", "NN"])        # {2, 3}

A negation reaches to the end of its clause ("there is no ...", "is not ...", "nobody ..."), one inside a phrase
("a man with no shirt riding a horse") to the end of its noun. "X is not there" and "X is missing" deny X. Hedges that
leave the claim standing ("possibly a park", "appears to be", "might be") are none: people's captions are full of them,
and a wrong one costs like any claim. "Not only", "not just" and "no more than" deny nothing.
"""

from collections.abc import Sequence

NOT = frozenset(("not", "n't", "n\u2019t", "never", "nor", "neither"))
NONE = frozenset(("none", "nobody", "nothing", "nowhere"))
NO_DENIAL_BEFORE = frozenset(
    ["only", "just", "merely", "simply", "solely", "far", "unlike", "alone", "but", "other", "more", "less", "fewer"]
)
WITHOUT = frozenset(["without", "lacking", "lacks", "lack", "lacked", "sans"])
INSTEAD = frozenset((("instead", "of"), ("rather", "than"), ("devoid", "of"), ("absence", "of")))
_DOUBT = "doubt doubts doubted doubting deny denies denied denying wonder wonders imagine imagining pretend"
DOUBT = frozenset(_DOUBT.split())
_UNTRUE = "false untrue wrong incorrect missing absent nonexistent doubtful unlikely impossible imaginary invented"
UNTRUE = frozenset(_UNTRUE.split())
TRUE = frozenset(["true", "right", "correct", "so", "real", "exist", "exists", "existing"])
SEEN = TRUE | frozenset(["there", "here", "visible", "present", "shown", "seen", "depicted", "pictured", "found"])
BE = frozenset(["is", "are", "was", "were", "be", "been", "being", "seems", "seem", "'s", "'re"])
BREAKS = frozenset(["but", "except", "although", "though", "while", "whereas", "however", "yet"])
JOINTS = frozenset((",", "and", "&"))
OPENS = JOINTS | BREAKS | frozenset(["that", "which", "who", "or", "because"])
GOES_ON = ("JJ", "JJR", "JJS", "NN", "NNS", "RB", "CC")  # behind a joint: "not red and small"
NOUNS = ("NN", "NNS", "NNP", "NNPS")
BEFORE_NOUN = ("DT", "PDT", "JJ", "JJR", "JJS", "CD", "VBN", "VBG", "PRP$", "RB", "HYPH", "POS", "PRP", "EX")


def denied(texts: Sequence[str], tags: Sequence[str]) -> set[int]:
    """The places of the words that are denied or doubted. texts: of one sentence, in lower case; tags: theirs."""
    found: set[int] = set()
    at = begin = 0  # begin: of the clause
    there = False  # "there is", and no noun since
    while at < len(texts):
        leads = there or at == begin
        end = scope(texts, tags, at, leads)
        if end > at:
            if denies_what_stands_before(texts, at):
                found.update(range(begin, at))
            found.update(range(at, end))
            at = begin = end
            there = False
            continue
        if texts[at] in OPENS:
            begin = at + 1
        there = (there or tags[at] == "EX") and tags[at] not in NOUNS
        at += 1
    return found


def scope(texts: Sequence[str], tags: Sequence[str], at: int, leads: bool) -> int:
    """Where that ends which the word at this place denies; the place itself where it denies nothing.

    leads: whether the word opens its clause, or stands behind "there is".
    """
    word, behind = texts[at], texts[at + 1] if at + 1 < len(texts) else ""
    if word in NOT or (word == "no" and behind == "longer"):
        if behind in NO_DENIAL_BEFORE:
            return at
        said = "that" in texts[at + 1 : at + 5]  # "it is not true that"
        return statement_end(texts, at + 1) if said else clause_end(texts, tags, at + 1)
    if word == "no" or word in NONE:
        named = word == "no" and (tags[at] == "UH" or behind[:1].isdigit() or (at and tags[at - 1] in ("DT", "PRP$")))
        if behind in NO_DENIAL_BEFORE or named or not behind:  # "No 5", "a no parking sign", "no."
            return at
        return clause_end(texts, tags, at + 1) if leads else phrase_end(texts, tags, at + 1)
    if word in WITHOUT or (word, behind) in INSTEAD:
        return phrase_end(texts, tags, at + 1)
    if word in DOUBT or word == "whether":
        return statement_end(texts, at + 1)
    if is_untrue(texts, at):
        return statement_end(texts, at + 1) if behind in ("that", "if") else clause_end(texts, tags, at + 1)
    if word == "if" and (not at or texts[at - 1] not in ("as", "even")):
        return next((place for place in range(at, len(texts)) if texts[place] in (",", "then")), len(texts))
    return at


def denies_what_stands_before(texts: Sequence[str], at: int) -> bool:
    """ "X is not there", "X does not exist", "X is missing": not only what follows is denied."""
    return is_untrue(texts, at) or (texts[at] in NOT and not SEEN.isdisjoint(texts[at + 1 : at + 4]))


def is_untrue(texts: Sequence[str], at: int) -> bool:
    """ "wrong" in "is wrong"; not in "the wrong side"."""
    return texts[at] in UNTRUE and not BE.isdisjoint(texts[max(at - 2, 0) : at])


def clause_end(texts: Sequence[str], tags: Sequence[str], at: int) -> int:
    """Where the clause ends: before "but" and its like, a comma or "and" that no bare adjective or noun follows."""
    while at < len(texts):
        goes_on = at + 1 < len(texts) and tags[at + 1] in GOES_ON
        if texts[at] in BREAKS or (texts[at] in JOINTS and not goes_on):
            return at
        at += 1
    return at


def statement_end(texts: Sequence[str], at: int) -> int:
    """Where "but" follows, or the sentence's end."""
    return next((place for place in range(at, len(texts)) if texts[place] == "but"), len(texts))


def phrase_end(texts: Sequence[str], tags: Sequence[str], at: int) -> int:
    """Behind the noun that follows, and those that "of" and "or" join to it."""
    named = False
    while at < len(texts):
        joined = texts[at] in ("of", "or", "nor")
        if joined or tags[at] in NOUNS:
            named = not joined
        elif named or tags[at] not in BEFORE_NOUN:
            return at
        at += 1
    return at
