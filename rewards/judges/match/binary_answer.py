"""Whether an answer says yes or no to its question.

    binary_answer("Is there a lamp?", pieces_of("There is a lamp in the picture.", ()))
    # ("yes", ...)

The first piece that says yes or no decides, unless a later one says the other. An answer without
the two words may claim or deny what the question asks: its words are the question's. What it says
beside them counts where the question asks whether something is there, else it is another claim.
"""

from collections.abc import Sequence

from spanreward.rewards.judges.match.answer_pieces import (
    DENYING,
    EVASIVE,
    NO,
    TAKING_BACK,
    YES,
    Piece,
)
from spanreward.rewards.language.answer_tokens import tokens_of
from spanreward.rewards.language.lemmas import lemma
from spanreward.rewards.language.words import HEDGES, PICTURES, word_set
from spanreward.rewards.text.filler import FUNCTION_WORDS

SAYING_NO = word_set("no nope nah false")
OPEN = EVASIVE | HEDGES | word_set("might may could or if")  # words of what is left open
_SILENT = FUNCTION_WORDS | DENYING | PICTURES | word_set("visible seen shown true clearly indeed")
_THERE = "there"
_VERBS = word_set(
    "is are was were be has have had isn't aren't wasn't weren't hasn't haven't hadn't there's "
    "there're see shows contains depicts"
)
_DOING = word_set("do does did can will")  # a question that begins so has its verb within


def binary_answer(
    question: str,
    pieces: Sequence[Piece],
) -> tuple[str, str]:
    """Returns "yes" or "no", or "" with the reason why it is neither, a clause about the answer."""
    signs = [piece for piece in pieces if not (YES | DENYING).isdisjoint(piece.words)]
    for piece in pieces:
        if piece.words[0] == "or" or not EVASIVE.isdisjoint(piece.words):
            return "", "it does not commit itself"
    claims = _claims(question, pieces)
    first = signs[0] if signs else None
    unsaid = first is None or YES.union(SAYING_NO).isdisjoint(first.words)
    is_open = any(not OPEN.isdisjoint(piece.words) for piece in pieces)
    if unsaid and len(claims) == 1 and not is_open:
        return claims.pop(), ""
    if first is None:
        return "", "it does not commit itself"
    if not (YES.isdisjoint(first.words) or NO.isdisjoint(first.words)):
        return "", "it must say yes or no, not both"
    if first.denied and NO.isdisjoint(first.words):
        return "", "it denies or doubts what it says"
    word = "no" if first.denied else "yes"
    later = signs[signs.index(first) + 1 :]
    if not claims <= {word} or any(_says_otherwise(piece, word) for piece in later):
        return "", "it must say yes or no, not both"
    return word, ""


def _says_otherwise(piece: Piece, word: str) -> bool:
    """Whether a later piece says the other of yes and no than `word`, or takes it back."""
    first_word = piece.words[0]
    if word == "no":
        return first_word in YES
    return piece.denied and (first_word in SAYING_NO or TAKING_BACK.issuperset(piece.words))


def _claims(
    question: str,
    pieces: Sequence[Piece],
) -> set[str]:
    """Returns "yes" where a piece claims what the question asks, and "no" where one denies it. A
    piece without a verb claims nothing.
    """
    words = tokens_of(question)
    question_words = _content_words(words)
    if not question_words:
        return set()
    asks_existence = _THERE in words[:3]
    has_inner_verb = bool(words) and words[0] in _DOING
    claims: set[str] = set()
    for piece in pieces:
        has_verb = not _VERBS.isdisjoint(piece.words)
        content = _content_words(piece.words)
        repeats = content == question_words and (has_inner_verb or has_verb)
        exceeds = asks_existence and has_verb and content >= question_words
        if piece.denied:
            if repeats:
                claims.add("no")
        elif repeats or exceeds:
            claims.add("yes")
    return claims


def _content_words(words: Sequence[str]) -> set[str]:
    """Returns the base forms of the words that a claim is about."""
    return {lemma(word) for word in words if word not in _SILENT}
