"""The pieces of an answer, and which of them it asserts.

pieces = pieces_of("It is red, not blue.", ())
[(piece.words, piece.denied) for piece in pieces]
# [(["it", "is", "red"], False), (["not", "blue"], True)]
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from spanreward.rewards.language.answer_text import NEGATED
from spanreward.rewards.language.answer_tokens import Token, read_tokens
from spanreward.rewards.language.words import ARTICLES, HEDGES, word_set

# Sets of words for an answer's pieces. DENYING: with one of them a piece is denied. TAKING_BACK: a
# denied piece with no other words takes back what stands before it, as "no way, that is wrong".
YES = word_set("yes yeah yep yup true")
NO = NEGATED | word_set("no nope nah not false never cannot")
EVASIVE = word_set("sure unsure know maybe perhaps unknown unanswerable")
DOUBTING = EVASIVE | HEDGES | {"or"}  # an answer with one of these commits itself to nothing
DENYING = NO | word_set(
    "nor neither without doubt doubts doubted deny denies unlikely doubtful untrue wrong incorrect "
    "mistake mistaken impossible lie myth ruled unsure hardly scarcely supposedly allegedly if "
    "unless whether suppose assume unlike except fails failed far rather instead"
)
TAKING_BACK = DENYING | word_set(
    "way really is that this it can be clearly so was right true correct very or and"
)
_ALL_BUT = re.compile(r"\b(any(?:thing)?|every(?:thing)?|all|other) (but|than)\b", re.IGNORECASE)
# marks that end a piece; a dash does between spaces
_PIECE_ENDS = frozenset(",;:/|()[].\n\u3001\u3002\uff0c\uff1b\uff1a")
# of Chinese, Japanese and Korean, which are written without spaces or join the denial to its verb
_DENYING_CJK = re.compile("[不没沒错錯]|ない|ません|아니|않")
_BEING = word_set("is isn't was wasn't")
_LINKS = word_set("and or nor plus & +")
_PIECE_STARTS = word_set("rather instead unlike except because")


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of an answer.

    Attributes:
        start, end: the characters [start, end) of it in the answer.
        words: its tokens without articles and marks, "and" and "or" among them.
        items: the words between "and", "or" and the like, some of them maybe empty.
        denied: whether an odd number of the words denies.
    """

    start: int
    end: int
    words: list[str]
    items: list[list[str]]
    denied: bool


def pieces_of(answer: str, harmless: Collection[str]) -> list[Piece]:
    """Returns the pieces of a plain answer that have words. "Without doubt" affirms. harmless:
    words that deny nothing, as the question's and the references' are.
    """
    pieces = []
    for tokens in _cut_into_pieces(_with_plain_not(answer)):
        unmarked = [token for token in tokens if token.kind != "mark"]
        words = _without_articles(unmarked)
        if not words:
            continue
        # "and" and "or" begin an item. Articles and marks belong to none.
        starts = {word.start for word in words}
        items: list[list[str]] = [[]]
        for token in tokens:
            if token.text in _LINKS:
                items.append([])
            elif token.start in starts:
                items[-1].append(token.text)
        # "not without doubt" is three denials
        texts = [word.text for word in words]
        denials = 0
        for text in texts:
            if _denies(text) and text not in harmless:
                denials += 1
        piece = Piece(
            start=unmarked[0].start,
            end=unmarked[-1].end,
            words=texts,
            items=items,
            denied=denials % 2 == 1,
        )
        pieces.append(piece)
    return pieces


def asserted(pieces: Sequence[Piece]) -> list[Piece]:
    """Returns the pieces that are neither denied, nor taken back by a later one, nor a reason for
    one.
    """
    statements: list[Piece] = []
    for piece in pieces:
        # "red, because the lamp is blue" asserts "red" alone
        is_reason = bool(statements) and piece.words[0] == "because"
        if not piece.denied and not is_reason:
            statements.append(piece)
        elif piece.denied and TAKING_BACK.issuperset(piece.words):  # "Red. No way."
            statements = []
    return statements


def _without_articles(tokens: Sequence[Token]) -> list[Token]:
    """Returns the tokens without articles. The letter "A" is none where it is all, or where it is
    something: "A is wrong".
    """
    words = []
    for token, behind in zip_longest(tokens, tokens[1:]):
        is_letter = token.text == "a" and behind is not None and behind.text in _BEING
        if is_letter or token.text not in ARTICLES:
            words.append(token)
    return words or list(tokens)  # "A" alone is the letter


def _denies(word: str) -> bool:
    """Returns whether a word denies. In Chinese, Japanese and Korean a part of it may."""
    if word.isascii():
        return word in DENYING
    return _DENYING_CJK.search(word) is not None


def _with_plain_not(answer: str) -> str:
    """Returns the answer with "not" for "anything but" and the like, of the same length."""
    return _ALL_BUT.sub(_padded_not, answer)


def _padded_not(match: re.Match[str]) -> str:
    return "not".ljust(len(match[0]))


def _cut_into_pieces(answer: str) -> list[list[Token]]:
    """Returns the tokens of each piece."""
    pieces: list[list[Token]] = [[]]
    end = 0
    for token in read_tokens(answer):
        on_new_line = "\n" in answer[end : token.start]
        end = token.end
        # "because" and the like stand in the piece that they begin; "but" and marks in none
        if on_new_line or token.text in _PIECE_STARTS:
            pieces.append([])
        is_end = token.kind == "mark" and _ends_piece(answer, token)
        if is_end or token.text == "but":
            pieces.append([])
        else:
            pieces[-1].append(token)
    return pieces


def _ends_piece(answer: str, mark: Token) -> bool:
    """Returns whether a mark of the answer ends a piece."""
    before = answer[max(mark.start - 1, 0) : mark.start]
    behind = answer[mark.end : mark.end + 1]
    if mark.text[0] == ".":
        # within "3.5" and "www.a_b.org" it ends nothing
        return not (behind.isalnum() or behind == "_")
    if mark.text == "-":
        return before.isspace() and behind.isspace()
    return mark.text[0] in _PIECE_ENDS
