"""Reads whether an answer says yes or no to its question.

    binary_answer("Is there a lamp?", pieces_of("There is a lamp in the picture.", ()))
    # ("yes", ...)

The first piece with "yes" or "no" decides, unless a later piece contradicts it. An answer without
"yes" and "no" may repeat the question's words as a claim ("the lamp is red") or as a denial ("the
lamp is not red"). The claim may have further words only if the question asks whether something
exists: "There is a red lamp" answers "Is there a lamp?", but not "Is the lamp on?".
"""

from collections.abc import Sequence

from spanreward.rewards.judges.match.answer_pieces import (
    DENYING_WORDS,
    EVASIVE_WORDS,
    NO_WORDS,
    TAKING_BACK,
    YES_WORDS,
    Piece,
)
from spanreward.rewards.language.answer_tokens import tokens_of
from spanreward.rewards.language.lemmas import lemma_of_word
from spanreward.rewards.language.words import HEDGE_WORDS, PICTURE_NOUNS, word_set
from spanreward.rewards.text.filler import FUNCTION_WORDS

# Words that alone answer no. The other NO_WORDS, such as "not", deny the words beside them.
SAYING_NO = word_set("no nope nah false")
# words that leave the answer open
OPEN_WORDS = EVASIVE_WORDS | HEDGE_WORDS | word_set("might may could or if")
# Words without content, such as "the", "visible" and "picture". A claim is compared with the
# question without these words.
_WORDS_WITHOUT_CLAIM = (
    FUNCTION_WORDS
    | DENYING_WORDS
    | PICTURE_NOUNS
    | word_set("visible seen shown true clearly indeed")
)
_EXPLETIVE = "there"
_QUESTION_VERBS = word_set(
    "is are was were be has have had isn't aren't wasn't weren't hasn't haven't hadn't there's "
    "there're see shows contains depicts"
)
# A question that begins with such a word has its main verb later: "Does the man run?"
_AUXILIARY_VERBS = word_set("do does did can will")


def binary_answer(question: str, pieces: Sequence[Piece]) -> tuple[str, str]:
    """Returns ("yes", "") or ("no", ""), or "" with the reason why the answer is neither, such as
    "it does not commit itself".

    pieces: the pieces of the answer (`pieces_of`).
    """
    # An answer such as "or not" or "I am not sure" leaves the question open.
    for piece in pieces:
        if piece.words[0] == "or" or _has_word_of(EVASIVE_WORDS, piece):
            return "", "it does not commit itself"
    signs = [piece for piece in pieces if _has_word_of(YES_WORDS | DENYING_WORDS, piece)]
    claims = _answers_by_claims(question, pieces)
    # If the first sign is not "yes" or "no", a single claim is the answer: "There is a lamp".
    has_yes_or_no = bool(signs) and _has_word_of(YES_WORDS | SAYING_NO, signs[0])
    if len(claims) == 1 and not has_yes_or_no:
        is_open = any(_has_word_of(OPEN_WORDS, piece) for piece in pieces)
        if not is_open:
            return claims.pop(), ""
    if not signs:
        return "", "it does not commit itself"
    first = signs[0]
    # refuse a first sign with both words: "yes and no"
    says_no = _has_word_of(NO_WORDS, first)
    if says_no and _has_word_of(YES_WORDS, first):
        return "", "it must say yes or no, not both"
    # refuse a first sign that denies by another word than "no" or "not": "I doubt it"
    if first.denied and not says_no:
        return "", "it denies or doubts what it says"
    word = "no" if first.denied else "yes"
    # refuse an answer with a later piece that contradicts: "Yes, it is red. No, it is blue."
    is_taken_back = any(_says_otherwise(piece, word) for piece in signs[1:])
    if claims - {word} or is_taken_back:
        return "", "it must say yes or no, not both"
    return word, ""


def _has_word_of(words: frozenset[str], piece: Piece) -> bool:
    """Returns whether the piece has one of the words."""
    return not words.isdisjoint(piece.words)


def _says_otherwise(piece: Piece, word: str) -> bool:
    """Returns whether a later piece of an answer contradicts `word`, the answer so far ("yes" or
    "no").

    A piece that begins with "yes" contradicts "no". A piece that begins with "no" contradicts
    "yes", and so does a piece that takes the answer back, such as "that is wrong".
    """
    first_word = piece.words[0]
    if word == "no":
        return first_word in YES_WORDS
    # Two denying words cancel each other: "no doubt" is not denied, and does not contradict "yes".
    if not piece.denied:
        return False
    return first_word in SAYING_NO or TAKING_BACK.issuperset(piece.words)


def _answers_by_claims(question: str, pieces: Sequence[Piece]) -> set[str]:
    """Returns which answers the pieces give in the question's own words: a subset of {"yes", "no"}.

    A claim such as "the lamp is red" gives "yes" to "Is the lamp red?", and a denial gives "no". A
    piece without a verb, such as "red lamp", gives no answer. To a question such as "Does the man
    run?", a piece that repeats all of its words has the verb "run".
    """
    words = tokens_of(question)
    question_words = _content_words(words)
    if not question_words:
        return set()
    asks_existence = _EXPLETIVE in words[:3]  # "Is there a lamp?"
    # "Does the man run?" begins with an auxiliary verb, so its main verb is one of its other words
    has_inner_verb = bool(words) and words[0] in _AUXILIARY_VERBS
    claims: set[str] = set()
    for piece in pieces:
        has_verb = _has_word_of(_QUESTION_VERBS, piece)
        content = _content_words(piece.words)
        repeats = content == question_words and (has_inner_verb or has_verb)
        # "There is a red lamp on the table" for "Is there a lamp?"
        exceeds = asks_existence and has_verb and content >= question_words
        if piece.denied:
            # A denial with further words gives no answer: after "there is no red lamp" there may
            # still be a lamp.
            if repeats:
                claims.add("no")
        elif repeats or exceeds:
            claims.add("yes")
    return claims


def _content_words(words: Sequence[str]) -> set[str]:
    """Returns the base forms of the words with content: the words that are not in
    _WORDS_WITHOUT_CLAIM.
    """
    return {lemma_of_word(word) for word in words if word not in _WORDS_WITHOUT_CLAIM}
