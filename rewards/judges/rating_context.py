"""Whether the words around a rating deny it: "I would not give it a 4", "if it named the dog, 5".

    sentence_before("It is fair. I would give it a 4", 28)     # " I would give it "
    is_denied(" I would not give it ")                         # True
    is_asserted("confidence score: 4", 11, has_sign=True)      # False: another score

written_rating.py finds the ratings in the text of a judge.
"""

import re

LOOK_BACK = 200  # characters before a rating that are searched for its sentence
LOOK_BACK_OF_NOUN = 30  # characters before a noun that are searched for the word before it

# The only words that may be directly before a label. With another word the label rates something
# else: "confidence score".
_BEFORE_LABEL = re.compile(
    r"""so|thus|hence|therefore|then|and|but|as|is|with|at|of|for|give|gave|assign|deserves?|merits?
    |the|my|this|a|an|our|its|would|be|i|final|overall|total|numerical|numeric|integer|fair
    |high|low|good|perfect|solid|strong|moderate|better|best|right|correct|or|rather""",
    re.IGNORECASE | re.VERBOSE,
)
_LAST_WORD = re.compile(r"(?<![^\W_])([^\W_]++)[ _-]{1,3}\Z")
_SENTENCE_END = re.compile(r"[.!?;\n]|\b(?:so|therefore|thus|hence)\b", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[,:()*|#]|\bbut\b", re.IGNORECASE)
# Words in the clause of a rating that deny the rating, or that attribute it to somebody else.
_DENYING_WORDS = re.compile(
    r"""\b(?:not|cannot|\w{1,9}n['\u2019]t|never|no|neither|nor|without|unable|refuse\w*
    |declin\w*|instead|previous\w*|(?<!['\u2019]d\ )says?|said|shows?|reads?|claims?|states?
    |writes?|wrote|asks?|asked)\b""",
    re.IGNORECASE | re.VERBOSE,
)
# Words in the clause of a rating without a sign that leave the choice open: "3 or 4".
_OPEN_CHOICE = re.compile(r"\b(?:or|either|maybe|perhaps)\b", re.IGNORECASE)
# Words in the sentence of a rating that make the rating conditional, or that refuse to rate.
_CONDITION_WORDS = re.compile(
    r"\b(?:if|unless|whether|(?:I|we)\b.{0,15}?(?:\bnot\b|n['\u2019]t\b|cannot|unable|refuse|declin))",
    re.IGNORECASE | re.DOTALL,
)


def sentence_before(text: str, start: int) -> str:
    """Returns the text between the end of the previous sentence and an offset: "I would give it"
    for the offset of "a 4" in "It is fair. I would give it a 4".
    """
    before = text[max(start - LOOK_BACK, 0) : start]
    return _SENTENCE_END.split(before)[-1]


def is_denied(sentence: str) -> bool:
    """Returns whether a rating is denied, quoted, or conditional.

    True for "I would not give it", "the poster says" and "if it were longer, I would give it".

    sentence: the sentence's text before the rating.
    """
    clause = _CLAUSE_END.split(sentence)[-1]  # the last clause, which is before the rating
    if _DENYING_WORDS.search(clause) or _OPEN_CHOICE.search(clause):
        return True
    return _CONDITION_WORDS.search(sentence) is not None


def is_asserted(text: str, label: int, has_sign: bool) -> bool:
    """Returns whether a noun announces the rating of this text, and not a denied, quoted or other
    rating.

    True for the "rating" of "So the rating is 4". False for the "score" of "confidence score: 4",
    and for the "rating" of "I cannot give a rating of 4".

    label: the offset of the noun. has_sign: whether a sign follows the noun ("rating=3"). With a
    sign only the last two words before the noun can deny the rating.
    """
    before = text[max(label - LOOK_BACK_OF_NOUN, 0) : label]
    word_before = _LAST_WORD.search(before)
    if word_before and not _BEFORE_LABEL.fullmatch(word_before[1]):
        return False  # the noun rates something else: "confidence score"
    sentence = sentence_before(text, label)
    if has_sign:
        clause = _CLAUSE_END.split(sentence)[-1]
        last_words = " ".join(clause.split()[-2:])
        return not _DENYING_WORDS.search(last_words)
    return not is_denied(sentence)
