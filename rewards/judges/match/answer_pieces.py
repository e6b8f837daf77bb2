"""Cuts an answer into pieces at commas, full stops and "but", and finds the pieces that the answer
asserts.

pieces = pieces_of("It is red, not blue.", ())
[(piece.words, piece.denied) for piece in pieces]
# [(["it", "is", "red"], False), (["not", "blue"], True)]
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from spanreward.rewards.language.answer_text import NEGATED_VERBS
from spanreward.rewards.language.answer_tokens import Token, read_tokens
from spanreward.rewards.language.words import ARTICLES, HEDGE_WORDS, word_set

# Sets of words that decide about a piece.
YES_WORDS = word_set("yes yeah yep yup true")
NO_WORDS = NEGATED_VERBS | word_set("no nope nah not false never cannot")
EVASIVE_WORDS = word_set("sure unsure know maybe perhaps unknown unanswerable")
# an answer with such a word asserts nothing for certain
DOUBTING_WORDS = EVASIVE_WORDS | HEDGE_WORDS | {"or"}
# A piece with an odd number of these words is denied: "not blue".
DENYING_WORDS = NO_WORDS | word_set(
    "nor neither without doubt doubts doubted deny denies unlikely doubtful untrue wrong incorrect "
    "mistake mistaken impossible lie myth ruled unsure hardly scarcely supposedly allegedly if "
    "unless whether suppose assume unlike except fails failed far rather instead"
)
# A denied piece of only these words, such as "no way" or "that is wrong", takes back all earlier
# pieces.
TAKING_BACK = DENYING_WORDS | word_set(
    "way really is that this it can be clearly so was right true correct very or and"
)
_ALL_BUT = re.compile(r"\b(any(?:thing)?|every(?:thing)?|all|other) (but|than)\b", re.IGNORECASE)
# Marks that end a piece. A dash ends a piece only between spaces (`_ends_piece`).
_PIECE_ENDS = frozenset(",;:/|()[].\n\u3001\u3002\uff0c\uff1b\uff1a")
# Signs of denial in Chinese, Japanese and Korean. A denial is often no word of its own in these
# languages, so a word with such a sign is denied.
_DENYING_CJK = re.compile("[不没沒错錯]|ない|ません|아니|않")
_BEING_FORMS = word_set("is isn't was wasn't")
_JOINING_WORDS = word_set("and or nor plus & +")
_PIECE_STARTS = word_set("rather instead unlike except because")


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of an answer, such as "not a cup or a dog".

    Attributes:
        start, end: the piece is at the characters [start, end) of the answer.
        words: the tokens without articles and punctuation: ["not", "cup", "or", "dog"].
        items: the words divided at "and", "or" and the like: [["not", "cup"], ["dog"]]. An item may
            be empty.
        denied: whether the piece has an odd number of denying words.
    """

    start: int
    end: int
    words: list[str]
    items: list[list[str]]
    denied: bool


def pieces_of(answer: str, harmless: Collection[str]) -> list[Piece]:
    """Returns the pieces of an answer. A piece without words is left out.

    "It is red, not blue." gives the pieces "it is red" and "not blue".

    answer: plain text (`plain_answer`). harmless: words that do not count as a denial in this
    answer, such as the words of the question.
    """
    pieces = []
    for tokens in _cut_into_pieces(_with_plain_not(answer)):
        unmarked = [token for token in tokens if token.kind != "mark"]
        words = _without_articles(unmarked)
        if not words:
            continue
        texts = [word.text for word in words]
        denials = [text for text in texts if _is_denying(text) and text not in harmless]
        piece = Piece(
            start=unmarked[0].start,
            end=unmarked[-1].end,
            words=texts,
            items=_items_of_piece(tokens, words),
            # Two denials cancel each other: "not without a lamp" affirms. So an odd number denies:
            # "not without doubt" has three ("not", "without", "doubt").
            denied=len(denials) % 2 == 1,
        )
        pieces.append(piece)
    return pieces


def _items_of_piece(tokens: Sequence[Token], words: Sequence[Token]) -> list[list[str]]:
    """Returns the words of a piece divided at "and", "or" and the like: `[["not", "cup"], ["dog"]]`
    for "not a cup or a dog". Two such words in a row give an empty item.

    tokens: all tokens of the piece. words: the tokens without articles and punctuation.
    """
    word_starts = {word.start for word in words}
    items: list[list[str]] = [[]]
    for token in tokens:
        if token.text in _JOINING_WORDS:
            items.append([])
        elif token.start in word_starts:
            items[-1].append(token.text)
    return items


def asserted_pieces(pieces: Sequence[Piece]) -> list[Piece]:
    """Returns the pieces that the answer asserts: only "blue" of "Not red. Blue."

    A piece is not asserted if it is denied, if a later piece takes it back ("Red. No way."), or if
    it is the reason for an earlier piece ("because the lamp is blue").
    """
    statements: list[Piece] = []
    for piece in pieces:
        # "red, because the lamp is blue" asserts only "red"
        is_reason = bool(statements) and piece.words[0] == "because"
        if not piece.denied and not is_reason:
            statements.append(piece)
        elif piece.denied and TAKING_BACK.issuperset(piece.words):  # "Red. No way."
            statements = []
    return statements


def _without_articles(tokens: Sequence[Token]) -> list[Token]:
    """Returns the tokens without articles. The word "a" is the letter, and no article, if the
    tokens have no other word, or if a form of "be" follows, as in "A is wrong".
    """
    words = []
    for token, next_token in zip_longest(tokens, tokens[1:]):
        is_before_be = next_token is not None and next_token.text in _BEING_FORMS
        is_letter = token.text == "a" and is_before_be
        is_article = token.text in ARTICLES and not is_letter
        if not is_article:
            words.append(token)
    return words or list(tokens)  # "A" alone is the letter


def _is_denying(word: str) -> bool:
    """Returns whether a word denies. A word in Chinese, Japanese or Korean denies if a part of the
    word denies.
    """
    if word.isascii():
        return word in DENYING_WORDS
    return _DENYING_CJK.search(word) is not None


def _with_plain_not(answer: str) -> str:
    """Returns the answer with "not" in place of "anything but" and similar words. Spaces fill the
    place up, so that the offsets of all other characters stay the same.
    """
    return _ALL_BUT.sub(_padded_not, answer)


def _padded_not(match: re.Match[str]) -> str:
    """Returns "not", filled up with spaces to the length of the match."""
    return "not".ljust(len(match[0]))


def _cut_into_pieces(answer: str) -> list[list[Token]]:
    """Returns the tokens of each piece: the words of "red" and "blue" for "red, but blue". A piece
    may be empty.
    """
    pieces: list[list[Token]] = [[]]
    end = 0  # of the token before
    for token in read_tokens(answer):
        on_new_line = "\n" in answer[end : token.start]
        end = token.end
        # "because" and similar words begin a piece and belong to the piece. "but" and the marks
        # that end a piece belong to no piece.
        if on_new_line or token.text in _PIECE_STARTS:
            pieces.append([])
        is_end = token.kind == "mark" and _ends_piece(answer, token)
        if is_end or token.text == "but":
            pieces.append([])
        else:
            pieces[-1].append(token)
    return pieces


def _ends_piece(answer: str, mark: Token) -> bool:
    """Returns whether a mark of the answer ends a piece: the full stop of "red. No." does, and the
    full stop of "3.5" does not.
    """
    before = answer[max(mark.start - 1, 0) : mark.start]
    behind = answer[mark.end : mark.end + 1]
    if mark.text[0] == ".":
        # the full stop within "3.5" or "www.a_b.org" does not end a piece
        return not (behind.isalnum() or behind == "_")
    if mark.text == "-":
        return before.isspace() and behind.isspace()
    return mark.text[0] in _PIECE_ENDS
