"""Which words of a sentence are denied or doubted: what follows "no", "not", "without", "I doubt that", "it is false".

    denied(["there", "is", "no", "circle"], ["EX", "VBZ", "DT", "NN"])        # {2, 3}

A negation reaches to the end of its clause ("there is no ...", "is not ...", "nobody ..."), one inside a phrase
("a man with no shirt riding a horse") to the end of its noun. "X is not there" and "X is missing" deny X. Hedges that
leave the claim standing ("possibly a park", "appears to be", "might be") are none: people's captions are full of them,
and a wrong one costs like any claim. "Not only", "not just" and "no more than" deny nothing. What somebody else says
("some say that ...") and what would be or used to be there is not asserted either. "Except", "apart from" and "other
than" are left alone: "empty apart from a man" has the man in it; so is "far from", which is a place.
"""

from collections.abc import Sequence

NOT = frozenset(("not", "n't", "n\u2019t", "never", "nor", "neither"))
NONE = frozenset(("none", "nobody", "nothing", "nowhere"))
NO_DENIAL_BEFORE = frozenset(
    ["only", "just", "merely", "simply", "solely", "far", "unlike", "alone", "but", "other", "more", "less", "fewer"]
)
WITHOUT = frozenset(["without", "lacking", "lacks", "lack", "lacked", "sans"])
INSTEAD = frozenset((("instead", "of"), ("rather", "than"), ("devoid", "of"), ("absence", "of"), ("free", "of")))
BARELY = frozenset(["hardly", "scarcely", "barely"])  # "hardly a", "barely any"
FAILS = frozenset(["fail", "fails", "failed", "failing"])
MANNER = frozenset(["way", "means", "case", "sense", "circumstances", "account"])  # "in no way"
_DOUBT = """doubt doubts doubted doubting deny denies denied denying wonder wonders imagine imagining pretend unsure
uncertain dispute disputes disputed disagree disagrees allegedly supposedly purportedly"""
DOUBT = frozenset(_DOUBT.split())
SUPPOSED = frozenset(["suppose", "assume"])  # at the head of a clause or behind "let us": "I assume" is a hedge
SAID = frozenset(["say", "says", "said", "claim", "claims", "claimed"])
LIE = frozenset(["lie", "mistake", "error", "myth", "rumor", "hoax"])
# "some say that"; not "I would say that", "it can be said that", "says that there is", as criteria are worded
_OTHERS = (
    "some others they people someone somebody anyone anybody everyone everybody many most few none nobody he she who"
)
OTHERS = frozenset(_OTHERS.split())
BEFORE_PLURAL = 4  # words in which a plural behind "zero" is looked for
UNREAL = frozenset(["would", "should", "ought", "used"])  # "there would be"
_UNTRUE = (
    "false untrue wrong incorrect missing absent nonexistent doubtful unlikely impossible imaginary invented ruled"
)
UNTRUE = frozenset(_UNTRUE.split())
TRUE = frozenset(["true", "right", "correct", "so", "real", "exist", "exists", "existing"])
SEEN = TRUE | frozenset(["there", "here", "visible", "present", "shown", "seen", "depicted", "pictured", "found"])
PICTURE = frozenset(["picture", "image", "photo", "photograph", "scene", "drawing"])
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
            if answers_no(texts, at):
                found.update(range(at))
            elif denies_what_stands_before(texts, at):
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
    if is_unreal(texts, at) or (word in FAILS and behind == "to") or (word, behind) == ("anything", "but"):
        return clause_end(texts, tags, at + 2)
    if word in DOUBT or word == "whether" or (word in SUPPOSED and (leads or texts[at - 1] in ("us", "'s", "me"))):
        return statement_end(texts, at + 1)
    if word in SAID | LIE and behind in ("that", "to", "is") and "that" in texts[at + 1 : at + 4]:
        hearsay = word in LIE or not OTHERS.isdisjoint(texts[max(at - 3, 0) : at])
        return statement_end(texts, at + 1) if hearsay else at
    if is_untrue(texts, at):
        return statement_end(texts, at + 1) if behind in ("that", "if") else clause_end(texts, tags, at + 1)
    if word == "unless" or (word == "if" and (not at or texts[at - 1] not in ("as", "even"))):
        return next((place for place in range(at, len(texts)) if texts[place] in (",", "then")), len(texts))
    return at


def denies_what_stands_before(texts: Sequence[str], at: int) -> bool:
    """ "X is not there", "is not in this picture", "does not exist", "is missing": not only what follows is denied."""
    before, (first, *near) = texts[max(at - 1, 0) : at], [*texts[at + 1 : at + 5], ""]
    if texts[at] in NOT:
        framed = first in ("in", "on", "part", "what") and not PICTURE.isdisjoint(near)
        appears = first in ("appear", "occur") and near[0] != "to"
        return framed or appears or not SEEN.isdisjoint(texts[at + 1 : at + 4])
    return is_untrue(texts, at) or (texts[at] == "nowhere" and not BE.isdisjoint(before))


def answers_no(texts: Sequence[str], at: int) -> bool:
    """The last word of "a red circle, no", which takes back all before it."""
    last = not any(text[0].isalnum() for text in texts[at + 1 : at + 3]) and at + 3 >= len(texts)
    return texts[at] == "no" and last and texts[at - 1 : at] in ([","], ["-"], ["\u2013"], ["\u2014"])


def is_zero(texts: Sequence[str], tags: Sequence[str], at: int) -> bool:
    """ "zero" before a plural: "0 red circles", and no "number zero"."""
    if texts[at] not in ("zero", "0"):
        return False
    behind = [tag for tag in tags[at + 1 : at + 1 + BEFORE_PLURAL] if tag not in BEFORE_NOUN]
    return behind[:1] in (["NNS"], ["NNPS"])


def is_unreal(texts: Sequence[str], at: int) -> bool:
    """ "would" in "there would be", "could" in "there could have been"."""
    behind = texts[at + 1 : at + 2]
    past = texts[at] in ("could", "might", "may") and behind == ["have"]
    return texts[at - 1 : at] == ["there"] and (past or texts[at] in UNREAL)


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
