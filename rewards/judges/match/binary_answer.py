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

# answers no by itself; the other words of NO, such as "not", deny what stands beside them
SAYING_NO = word_set("no nope nah false")
OPEN = EVASIVE | HEDGES | word_set("might may could or if")  # words of what is left open
# says nothing of what a claim is about
_SILENT = FUNCTION_WORDS | DENYING | PICTURES | word_set("visible seen shown true clearly indeed")
_THERE = "there"
_VERBS = word_set(
    "is are was were be has have had isn't aren't wasn't weren't hasn't haven't hadn't there's "
    "there're see shows contains depicts"
)
_DOING = word_set("do does did can will")  # a question that begins so has its verb within


def binary_answer(question: str, pieces: Sequence[Piece]) -> tuple[str, str]:
    """Returns "yes" or "no", or "" with the reason why it is neither, a clause about the answer.

    pieces: of the answer (`pieces_of`).
    """
    # "or not", "I am not sure"
    for piece in pieces:
        if piece.words[0] == "or" or _has_word_of(EVASIVE, piece):
            return "", "it does not commit itself"
    # "There is a lamp" and "the lamp is not red": a claim counts where no word says yes or no
    signs = [piece for piece in pieces if _has_word_of(YES | DENYING, piece)]
    claims = _claims(question, pieces)
    says_word = bool(signs) and _has_word_of(YES | SAYING_NO, signs[0])
    is_open = any(_has_word_of(OPEN, piece) for piece in pieces)
    if not says_word and len(claims) == 1 and not is_open:
        return claims.pop(), ""
    if not signs:
        return "", "it does not commit itself"
    # "yes and no"
    first = signs[0]
    says_no = _has_word_of(NO, first)
    if says_no and _has_word_of(YES, first):
        return "", "it must say yes or no, not both"
    # "I doubt it"
    if first.denied and not says_no:
        return "", "it denies or doubts what it says"
    word = "no" if first.denied else "yes"
    # "Yes, it is red. No, it is blue."
    is_taken_back = any(_says_otherwise(piece, word) for piece in signs[1:])
    if claims - {word} or is_taken_back:
        return "", "it must say yes or no, not both"
    return word, ""


def _has_word_of(words: frozenset[str], piece: Piece) -> bool:
    return not words.isdisjoint(piece.words)


def _says_otherwise(piece: Piece, word: str) -> bool:
    """Returns whether a later piece says the other of yes and no than `word`, or takes it back."""
    first_word = piece.words[0]
    if word == "no":
        return first_word in YES
    if not piece.denied:
        return False
    return first_word in SAYING_NO or TAKING_BACK.issuperset(piece.words)


def _claims(question: str, pieces: Sequence[Piece]) -> set[str]:
    """Returns "yes" where a piece claims what the question asks, and "no" where one denies it. A
    piece without a verb claims nothing.
    """
    words = tokens_of(question)
    question_words = _content_words(words)
    if not question_words:
        return set()
    asks_existence = _THERE in words[:3]  # "Is there a lamp?"
    # "Does the man run?": the verb is among the words that a claim repeats
    has_inner_verb = bool(words) and words[0] in _DOING
    claims: set[str] = set()
    for piece in pieces:
        has_verb = _has_word_of(_VERBS, piece)
        content = _content_words(piece.words)
        repeats = content == question_words and (has_inner_verb or has_verb)
        # "There is a red lamp on the table" for "Is there a lamp?"
        exceeds = asks_existence and has_verb and content >= question_words
        if piece.denied:
            # not where it exceeds: "there is no red lamp" leaves open whether there is a lamp
            if repeats:
                claims.add("no")
        elif repeats or exceeds:
            claims.add("yes")
    return claims


def _content_words(words: Sequence[str]) -> set[str]:
    """Returns the base forms of the words that a claim is about."""
    return {lemma(word) for word in words if word not in _SILENT}
