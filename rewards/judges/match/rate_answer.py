"""Rates an answer against people's answers by their words: what MatchJudge knows of LAVE. Not a published metric.

    rate_answer(Answer("What color is it?", "dark red", ("red", "red", "crimson")))      # (2.0, "half of it ...")

It knows no synonyms. Words are compared without accents and articles, number words as digits. In this order:

    asked       an answer that ends with a question mark: 1
    yes/no      (the most frequent reference is yes or no) an answer that says both, neither, "not sure", "I doubt",
                "if yes" or "yes or ..." is 1; else by the share of the yes and no references that say the same: 3 from
                two thirds, 1 up to one third, 2 between
    equality    3, or 2 where others are given more than twice as often
    conflict    a color, a side or (asked how many) a number that no reference gives: 1
    vague       asked how many, and the answer is "many", "a few" and the like: 2
    taken back  a reference's words in a row, but denied or doubted ("not", "far from", "not sure that", "... is
                wrong", "... can be ruled out"), or beside an "or" whose other side no reference knows: 1
    contained   a reference's words in a row: 3. But a bare list (no word like "is" or "of" in it) may be an attempt to
                name everything: 1 when the references give less than half of its words, or not all around an "or"; 2
                when they give half
    part        the answer's words are all in one reference that is given at least half as often as the most frequent
                one: 3 from two thirds of its words, else 2 ("left" for "top left" is incomplete)
    overlap     the F1 of the words with such a reference is 0.5 or more: 2
    else        1
"""

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import pairwise

from rewards.judges.probe import AnswerProbe
from rewards.language.answer_text import answer_words, normalise


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


YES = _words("yes yeah yep yup true")
NO = _words("no nope nah not false never isn't aren't doesn't don't wasn't weren't cannot can't")
NEGATIONS = NO | _words("nor neither without")
EVASIVE = _words("sure unsure know maybe perhaps unknown unanswerable")
VAGUE = _words("many few several some lots numerous multiple couple")
FUNCTION_WORDS = _words(
    "is are was were be been has have had do does did of in on at by for from to with as it its he she they there "
    "this that who which because when"
)
LINKS = frozenset({"and", "or"})
EXCLUSIVE = (
    _words("red green blue yellow purple black white orange pink brown gray"),
    _words("left right center"),
    _words("top bottom"),
)
REACH = 2  # words before a contained answer among which a negation denies it
DOUBTS = _words(
    "doubt doubts doubted deny denies unlikely doubtful false untrue wrong incorrect neither anything except unsure "
    "hardly scarcely supposedly allegedly"
)
DENYING = frozenset(  # two words right before an answer, articles and "to be" between them apart
    [("far", "from"), ("other", "than"), ("rather", "than"), ("instead", "of"), ("any", "but"), ("everything", "but")]
    + [(never, "to") for never in ("fails", "failed", "mistake", "wrong")]
)
NEAR_DOUBTS = _words("if unless whether suppose assume unlike")  # of long answers too common to look for anywhere
UNSURE = _words("sure certain convinced")  # behind "not"
NOTHING_MORE = (["no"], ["not"], ["nope"], ["no", "way"], ["not", "really"], ["or", "not"])  # behind an answer, alone
UNTRUE = _words("wrong false untrue incorrect mistaken unlikely doubtful")
NEARLY_UNTRUE = _words("impossible lie myth ruled")  # "can be ruled out"
TRUE = _words("right true correct so")
BEHIND = 4  # words behind an answer among which "is not right" takes it back


def rate_answer(asked: AnswerProbe) -> tuple[float, str]:
    """The rating, 1 to 3, and why, as half a sentence about the answer."""
    words = answer_words(asked.candidate)
    references = [answer_words(reference) for reference in asked.references]
    counts = Counter(map(normalise, asked.references))
    most = max(counts.values(), default=0)
    if not words or not references:
        return 1.0, "there is nothing to compare"
    if asked.candidate.rstrip().endswith("?"):
        return 1.0, "it asks"
    if any(counts[answer] == most for answer in ("yes", "no")):
        return _binary(words, counts)
    given = counts[normalise(asked.candidate)]
    if given:
        return (3.0, "it is a reference answer") if 2 * given >= most else (2.0, "few reference answers say so")
    known = {word for reference in references for word in reference}
    counting = "how many" in asked.question.lower()
    wrong = [word for word in words if word not in known and (_excluded(word, known) or (counting and word.isdigit()))]
    if wrong:
        return 1.0, f"no reference answer says {wrong[0]!r}"
    if counting and VAGUE & set(words):
        return 2.0, "it gives no number"
    places = [place for reference in references for place in _places(words, reference)]
    if places and not any(_stands(words, *place, known) for place in places):
        return 1.0, "it denies, doubts or leaves open what the reference answers say"
    if places:
        named = [word in known for word in words if word not in LINKS]
        share = 1.0 if FUNCTION_WORDS & set(words) else sum(named) / len(named)
        if share < 0.5 or ("or" in words and share < 1):
            return 1.0, "it names what no reference answer does"
        return (3.0, "it contains a reference answer") if share > 0.5 else (2.0, "half of it is a reference answer")
    usual = [answer_words(answer) for answer in asked.references if 2 * counts[normalise(answer)] >= most]
    part = max(len(words) / len(reference) if set(words) <= set(reference) else 0.0 for reference in usual)
    if part:
        return (
            (3.0, "it is most of a reference answer") if part >= 2 / 3 else (2.0, "it is less than a reference answer")
        )
    if max(_overlap(words, reference) for reference in usual) >= 0.5:
        return 2.0, "it shares half of its words with a reference answer"
    return 1.0, "it is not like any reference answer"


def _binary(words: Sequence[str], counts: Counter[str]) -> tuple[float, str]:
    said = [answer for answer, signs in (("yes", YES), ("no", NO)) if signs & set(words)]
    beside_or = {word for pair in pairwise(words) if "or" in pair for word in pair}
    if (EVASIVE | DOUBTS - NO) & set(words) or (YES | NO) & beside_or:
        return 1.0, "it does not commit itself"
    signs = [place for place, word in enumerate(words) if word in YES | NO]
    if signs and all(_shaken(words[:place], words[place + 1 :]) for place in signs):
        return 1.0, "it denies or doubts what it says"
    if len(said) != 1:
        return 1.0, "it must say yes or no" + (", not both" if said else "")
    share = counts[said[0]] / (counts["yes"] + counts["no"])
    return (3.0 if share >= 2 / 3 else 1.0 if share <= 1 / 3 else 2.0), f"{share:.0%} of the people say {said[0]!r}"


def _excluded(word: str, known: set[str]) -> bool:
    """Whether the references name another word of the word's class, one of which holds."""
    return any(word in several and known & several for several in EXCLUSIVE)


def _places(words: Sequence[str], reference: Sequence[str]) -> list[tuple[int, int]]:
    """(start, end) of the reference's words wherever they stand in a row."""
    size = len(reference)
    return [(at, at + size) for at in range(len(words) - size + 1) if size and words[at : at + size] == reference]


def _stands(words: Sequence[str], start: int, end: int, known: Collection[str]) -> bool:
    """Whether the words [start, end) are what the answer says: not denied, doubted, taken back, or one of several that
    an "or" leaves open, of which the references do not know the others.
    """
    behind, near = set(words[end:]), set(words[end : end + BEHIND])
    if NEGATIONS & set(words[max(start - REACH, 0) : start]) or DOUBTS & set(words[:start]):
        return False
    if _shaken(words[:start], words[end:]) or words[end:] in NOTHING_MORE:
        return False
    if UNTRUE & behind or (NEGATIONS & near and TRUE & near):
        return False
    others = [words[start - 2 : start - 1] if words[start - 1 : start] == ["or"] else []]
    others += [words[end + 1 : end + 2] if words[end : end + 1] == ["or"] else []]
    return all(other in known for of_side in others for other in of_side)


def _shaken(before: Sequence[str], behind: Sequence[str]) -> bool:
    """Whether the words close to an answer deny or doubt it: "far from", "if it is", "can be ruled out"."""
    near = before[-BEHIND:]
    doubted = not NEAR_DOUBTS.isdisjoint(near) or not DENYING.isdisjoint(pairwise(near)) or _is_unsure(before)
    return doubted or not NEARLY_UNTRUE.isdisjoint(behind[:BEHIND])


def _is_unsure(before: Sequence[str]) -> bool:
    """ "I am not sure that it is"; not in "I am not sure, but it is"."""
    return any(
        first in NEGATIONS and second in UNSURE and "but" not in before[place:]
        for place, (first, second) in enumerate(pairwise(before))
    )


def _overlap(words: Sequence[str], reference: Sequence[str]) -> float:
    shared = (Counter(words) & Counter(reference)).total()
    return 2 * shared / (len(words) + len(reference))
