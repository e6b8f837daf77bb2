"""What a sentence about a scene claims: its words without those that it denies, doubts, asks or
leaves open.

    claimed(words("There is no red circle"))        # ["There", "is"]

The referee's own rule, by words alone: it shares none with the rewards that it judges. A sentence
with a word that descriptions of scenes do not have claims nothing, whatever frame that word makes.
A denial reaches to the next comma, "but" or "and a"; "with no" and "without" to the shape that
follows. Of alternatives ("red or blue", "a star or a circle") none is claimed. A sentence that says
that the one before is untrue takes that one back.
"""

import re
from collections.abc import Sequence

from experiments.scenes.world import COLORS, COLUMNS, NTH, ROWS, SHAPES, SIZES

Words = list[re.Match[str]]

_DENIES = """no not t never cannot neither nor none nothing nobody without lacks lacking doubt doubts deny wonder
whether instead imagine hardly scarcely barely zero nowhere unless suppose assume fails unsure allegedly"""
DENIES = frozenset(_DENIES.split())
UNTRUE = frozenset(
    [
        "false",
        "untrue",
        "wrong",
        "incorrect",
        "missing",
        "absent",
        "unlikely",
        "doubtful",
        "impossible",
    ]
)
_THERE = (
    "there here visible present shown seen true right correct exist exists so picture image scene"
)
THERE = frozenset(_THERE.split())
SAYING = frozenset(["say", "says", "said", "claim", "claims"])
# "some people say that"
OTHERS = frozenset(["some", "people", "they", "others", "someone", "somebody", "who"])
LIE = frozenset(["lie", "mistake", "myth", "rumor"])  # "it is a lie that"
UNREAL = frozenset(["would", "should", "used"])  # "there would be"
NO = frozenset(["no", "not", "or"])  # a sentence of its own
IN_PHRASE = frozenset(("with", "has", "having"))
DENIES_NOTHING = frozenset(("only", "just", "far"))
ASKS = frozenset(["is", "are", "was", "were", "do", "does", "did", "can", "could", "had", "should"])
ASKED = frozenset(["there", "a", "an", "the", "it", "that", "this"])
VERBS = frozenset(["is", "are", "sits", "sit", "lies", "stands", "there"])
ARTICLES = frozenset(("a", "an", "the"))
SIDES = frozenset((*ROWS, *COLUMNS, "corner", "edge", *NTH, "row", "column"))
ATTRIBUTES = frozenset((*SIZES, *COLORS))
_TAKING_BACK = (
    "this that it which is was are were all of the above everything a lie statement following below"
)
TAKING_BACK = frozenset(_TAKING_BACK.split())
WHOLE = frozenset(("all", "everything", "none", "nothing", "above"))
FORWARD = frozenset(("following", "below"))

_GRAMMAR = """and is are sits sit lies lie stands stand there here to of in at on or either but with it its that which
both this image picture scene has shows can be seen one finds above below near next very also two three four five"""
GRAMMAR = frozenset(
    (*_GRAMMAR.split(), *SHAPES, *(f"{shape}s" for shape in SHAPES), *ATTRIBUTES, *SIDES, *ARTICLES)
)
READ = (
    GRAMMAR
    | DENIES
    | UNTRUE
    | THERE
    | SAYING
    | OTHERS
    | LIE
    | UNREAL
    | ASKS
    | ASKED
    | DENIES_NOTHING
)


def claimed_sentences(sentences: Sequence[tuple[Words, str]]) -> list[Words]:
    """What each sentence of a text claims. sentences: the words of each, commas too, and the sign
    that it ends with.
    """
    claims: list[Words] = []
    for sentence, stop in sentences:
        words = [word.group().lower() for word in sentence if word.group() != ","]
        if takes_back(words) and not FORWARD.isdisjoint(words):
            return claims
        if takes_back(words):
            first = 0 if WHOLE.intersection(words) else max(len(claims) - 1, 0)
            claims[first:] = [[] for _ in claims[first:]]
        elif words:
            asks = stop == "?" or (words[0] in ASKS and words[1:2] != [] and words[1] in ASKED)
            claims.append(claimed(sentence) if not asks and READ.issuperset(words) else [])
    return claims


def takes_back(words: Sequence[str]) -> bool:
    """ "That is not true", "Everything above is false": no more than that something is untrue."""
    said = set(words)
    if said <= NO and said - {"or"}:
        return True
    untrue = said & (UNTRUE | {"lie"}) or (said & DENIES and said & THERE)
    return bool(untrue) and said <= TAKING_BACK | UNTRUE | DENIES | THERE


def claimed(sentence: Words) -> Words:
    """The words of one sentence that it claims, without commas."""
    words = [word.group().lower() for word in sentence]
    dropped = denied(words) | left_open(words)
    return [word for at, word in enumerate(sentence) if at not in dropped and words[at] != ","]


def denied(words: Sequence[str]) -> set[int]:
    dropped: set[int] = set()
    at = begin = 0  # begin: of the clause
    while at < len(words):
        untrue = words[at] in UNTRUE and bool({"is", "are"} & set(words[max(at - 2, 0) : at]))
        denies = untrue or words[at] == "if" or words[at] in DENIES or denies_with_next(words, at)
        if denies and DENIES_NOTHING.isdisjoint(words[at + 1 : at + 2]):
            if untrue or (words[at] != "no" and not THERE.isdisjoint(words[at + 1 : at + 4])):
                dropped.update(range(begin, at))
            end = reach(words, at + (words[at] == "anything"))
            dropped.update(range(at, end))
            at = begin = end
        else:
            begin = at + 1 if ends_clause(words, at) else begin
            at += 1
    return dropped


def denies_with_next(words: Sequence[str], at: int) -> bool:
    """ "some say that", "there would be", "anything but"."""
    behind = words[at + 1 : at + 2]
    unreal = words[at] in UNREAL and words[at - 1 : at] == ["there"]
    hearsay = words[at] in SAYING and not OTHERS.isdisjoint(words[max(at - 3, 0) : at])
    if behind == ["that"] and (hearsay or words[at] in LIE):
        return True
    return unreal or (words[at] == "anything" and behind == ["but"])


def reach(words: Sequence[str], at: int) -> int:
    """Where that ends which the word at this place denies; behind "that" it is all the rest."""
    in_phrase = words[at] == "without" or (
        words[at] == "no" and at > 0 and words[at - 1] in IN_PHRASE
    )
    everything = "that" in words[at + 1 : at + 5]
    for place in range(at + 1, len(words)):
        if in_phrase and words[place] in SHAPES:
            return place + 1
        if words[place] == "but" or (not everything and ends_clause(words, place)):
            return place
    return len(words)


def ends_clause(words: Sequence[str], at: int) -> bool:
    """A comma or "and" before an article or "there", or "but"."""
    behind = words[at + 1 : at + 2]
    return words[at] == "but" or (
        words[at] in (",", "and") and bool(behind) and behind[0] in ARTICLES | {"there"}
    )


def left_open(words: Sequence[str]) -> set[int]:
    """The places of all alternatives."""
    dropped: set[int] = set()
    either = None
    begin = reached = 0
    for at, word in enumerate(words):
        if word == "either":
            either = at
        elif word == "or" and words[at + 1 : at + 2] == ["not"]:
            dropped.update(range(begin, at))
        elif word == "or" and at >= reached:
            end = phrase_end(words, at + 1, shared=at > 0 and words[at - 1] in ATTRIBUTES)
            verbs = (
                end < len(words) and words[end] in VERBS and not VERBS.isdisjoint(words[begin:at])
            )
            start = begin if verbs else phrase_start(words, at - 1) if either is None else either
            reached = clause_end(words, end) if verbs else end
            dropped.update(range(start, reached))
            either = None
        elif ends_clause(words, at):
            begin = at + 1
    return dropped


def clause_end(words: Sequence[str], at: int) -> int:
    return next((place for place in range(at, len(words)) if ends_clause(words, place)), len(words))


def phrase_end(words: Sequence[str], at: int, shared: bool) -> int:
    """Behind the alternative that begins here: its attributes, its places, or all up to its shape,
    unless that is shared ("red or blue circle").
    """
    while at < len(words) and words[at] in ARTICLES | {"in", "at"}:
        at += 1
    placed = at < len(words) and words[at] in SIDES
    while at < len(words) and words[at] in (SIDES if placed else ATTRIBUTES):
        at += 1
    return at + (not placed and not shared and at < len(words) and words[at] in SHAPES)


def phrase_start(words: Sequence[str], at: int) -> int:
    """Where the alternative begins that ends here, and those before it that commas divide."""
    while at > 0 and words[at] == ",":
        at -= 1
    things = ATTRIBUTES | frozenset(SHAPES) | ARTICLES
    kind = next(
        (kind for kind in (ATTRIBUTES, SIDES, things) if at >= 0 and words[at] in kind),
        frozenset[str](),
    )
    while at >= 0 and words[at] in kind | {","} and kind:
        at -= 1
    return at + 1
