"""Rates an answer by its words against people's answers: how MatchJudge answers LAVE. Not a published metric.

    rate_answer(AnswerProbe("What color is it?", "dark red", ("red", "red", "crimson")))      # (2.0, "half of it ...")

It knows no synonyms. It compares words without accents and articles, and number words as digits. The first rule that
applies gives the rating:

    asked       The answer ends with a question mark: 1.
    yes/no      Yes or no is the most frequent reference. 1 for an answer that says both, neither, "not sure" or "if
                yes". Others go by the share of yes and no references that agree: 3 from two thirds, 1 up to one third.
    equality    It is a reference: 3, or 2 where another is given more than twice as often.
    conflict    It has a color, a side or (asked how many) a number that no reference gives: 1.
    vague       Asked how many, it says "many", "a few" and the like: 2.
    taken back  It has all words of a reference in a row, but denied or doubted ("not", "far from", "not sure that",
                "... is wrong", "... can be ruled out"), or beside an "or" whose other side no reference knows: 1.
    contained   It has all words of a reference in a row: 3. For a bare list (no word like "is" or "of"): 1 where the
                references have less than half of its words, or not all around an "or", and 2 where they have half.
    part        All its words are in one reference that is given at least half as often as the most frequent one: 3 from
                two thirds of that reference's words, else 2 ("left" for "top left" is incomplete).
    overlap     The F1 of its words with such a reference is at least 0.5: 2.
    else        1.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import pairwise

from spanreward.rewards.judges.probe import AnswerProbe
from spanreward.rewards.language.answer_text import answer_words, normalise
from spanreward.rewards.language.words import word_set

YES = word_set("yes yeah yep yup true")
NO = word_set("no nope nah not false never isn't aren't doesn't don't wasn't weren't cannot can't")
NEGATIONS = NO | word_set("nor neither without")
EVASIVE = word_set("sure unsure know maybe perhaps unknown unanswerable")
VAGUE = word_set("many few several some lots numerous multiple couple")
FUNCTION_WORDS = word_set(
    "is are was were be been has have had do does did of in on at by for from to with as it its he she they there "
    "this that who which because when"
)
LINKS = word_set("and or")
EXCLUSIVE = (
    word_set("red green blue yellow purple black white orange pink brown gray"),
    word_set("left right center"),
    word_set("top bottom"),
)
REACH = 2  # words before a contained answer among which a negation denies it
DOUBTS = word_set(
    "doubt doubts doubted deny denies unlikely doubtful false untrue wrong incorrect neither anything except unsure "
    "hardly scarcely supposedly allegedly"
)
DENYING = frozenset(  # pairs of words before an answer, without the articles and forms of "to be" between them
    [("far", "from"), ("other", "than"), ("rather", "than"), ("instead", "of"), ("any", "but"), ("everything", "but")]
    + [(never, "to") for never in ("fails", "failed", "mistake", "wrong")]
)
NEAR_DOUBTS = word_set("if unless whether suppose assume unlike")  # too common in long answers to look for anywhere
UNSURE = word_set("sure certain convinced")  # after "not"
NOTHING_MORE = (["no"], ["not"], ["nope"], ["no", "way"], ["not", "really"], ["or", "not"])  # all that follows
UNTRUE = word_set("wrong false untrue incorrect mistaken unlikely doubtful")
NEARLY_UNTRUE = word_set("impossible lie myth ruled")  # "can be ruled out"
TRUE = word_set("right true correct so")
BEHIND = 4  # words after an answer among which "is not right" takes it back


def rate_answer(asked: AnswerProbe) -> tuple[float, str]:
    """Returns the rating, 1 to 3, and the reason, a clause about the answer."""
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
    if part >= 2 / 3:
        return 3.0, "it is most of a reference answer"
    if part:
        return 2.0, "it is less than a reference answer"
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
    """Whether the references have another word of a class in which only one word can be right."""
    return any(word in several and known & several for several in EXCLUSIVE)


def _places(words: Sequence[str], reference: Sequence[str]) -> list[tuple[int, int]]:
    """Returns (start, end) of every place where the reference's words stand in a row."""
    size = len(reference)
    return [(at, at + size) for at in range(len(words) - size + 1) if size and words[at : at + size] == reference]


def _stands(words: Sequence[str], start: int, end: int, known: Collection[str]) -> bool:
    """Whether the answer asserts its words [start, end): it does not deny, doubt or take them back.

    Nor does an "or" join them to a word that the references do not have.
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
    """Whether words near an answer deny or doubt it: "far from", "if it is", "can be ruled out"."""
    near = before[-BEHIND:]
    doubted = not NEAR_DOUBTS.isdisjoint(near) or not DENYING.isdisjoint(pairwise(near)) or _is_unsure(before)
    return doubted or not NEARLY_UNTRUE.isdisjoint(behind[:BEHIND])


def _is_unsure(before: Sequence[str]) -> bool:
    """True for "I am not sure that it is", False for "I am not sure, but it is"."""
    return any(
        first in NEGATIONS and second in UNSURE and "but" not in before[place:]
        for place, (first, second) in enumerate(pairwise(before))
    )


def _overlap(words: Sequence[str], reference: Sequence[str]) -> float:
    shared = (Counter(words) & Counter(reference)).total()
    return 2 * shared / (len(words) + len(reference))
