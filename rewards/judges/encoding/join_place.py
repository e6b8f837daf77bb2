"""Where a prompt can be parted so that its two parts, encoded apart, have the tokens of the whole.

    place = find_join_place(tokenizer)                 # None: this tokenizer has no such place
    end = place.cut("TEXT:\\nA red kite.\\n\\nIs it red?", description_end=17)     # 17, 19 or 0

Many questions share a long beginning, up to the empty line behind the description. If the beginning
is encoded once, a question costs its own few tokens. For this the tokens must be the same as those
of the whole prompt, because a judge may rate otherwise after other tokens. GPT-2's pattern parts
`.` from an empty line, so its prompts are parted before the line. The patterns of Qwen2 and Llama 3
keep `.` and the line together, so theirs are parted behind it.

Two facts make a place safe for byte-pair encoding. No token of the vocabulary reaches across it, so
no merge does either, and each side is merged as if it were alone. And the tokenizer's normaliser
and pattern treat both sides as they treat the whole, which is tried with characters of every
Unicode category on both sides.
"""

import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise, product

from tokenizers import Tokenizer
from tokenizers.models import BPE

EMPTY_LINE = "\n\n"
# Stands before the second part while that is encoded: some tokenizers put a space before a text.
ANCHOR_WORD = "x"
SPACE_SIGN = "\u2581"  # SentencePiece's: a text's own is a space too
# White space in a vocabulary, by its newline: itself in SentencePiece's, where the letters of the
# other are letters, and a letter in a byte-level one. Each has space, tab and carriage return.
SPACE_SIGNS = {
    "\n": frozenset(f"\n \t\r{SPACE_SIGN}"),
    "\u010a": frozenset("\u010a\u0120\u0109\u010d"),
}
TRIED_OF_A_CATEGORY = 2  # characters
# Some patterns name signs, such as the slash: each is tried beside the line, with a few across it.
SIGNS = tuple(map(chr, range(33, 127)))
ACROSS_FROM_SIGNS = ("a", ".", '"', "5")

Token = tuple[int, bool]  # its id, and whether a word of the pattern begins with it


@dataclass(frozen=True, slots=True)
class JoinPlace:
    """A safe place to part a prompt: before or behind an empty line.

    Attributes:
        behind: whether it is behind the line.
        anchor: the text to encode before the second part.
        anchor_tokens: how many tokens the anchor has. They are dropped.
    """

    behind: bool
    anchor: str
    anchor_tokens: int

    def cut(self, content: str, description_end: int) -> int:
        """Returns the offset at which to part a message, or 0 where it cannot be parted.

        The description must end in a character that is no white space, and an empty line and
        another such character must follow it.
        """
        line_end = description_end + len(EMPTY_LINE)
        if content[description_end:line_end] != EMPTY_LINE:
            return 0
        before = content[description_end - 1 : description_end]
        after = content[line_end : line_end + 1]
        if not _is_visible(before) or not _is_visible(after):
            return 0
        return line_end if self.behind else description_end


def find_join_place(plain: Tokenizer) -> JoinPlace | None:
    """Returns a safe place, or None. plain: the tokenizer, without a post-processor.

    Only byte-pair encodings have one: the best pieces of a Unigram model depend on the whole text.
    """
    newline = _newline_sign(plain)
    if not isinstance(plain.model, BPE) or not newline:
        return None
    for behind in (False, True):
        anchor = ANCHOR_WORD + EMPTY_LINE if behind else ANCHOR_WORD
        encoding = plain.encode(anchor, add_special_tokens=False)
        place = JoinPlace(behind, anchor, len(encoding.ids))
        # the look through the vocabulary first, because it takes less time
        if _crossed_by_a_token(plain, newline, behind):
            continue
        if _joins_hard_texts(plain, place):
            return place
    return None


def _is_visible(character: str) -> bool:
    """Returns whether no normaliser of Unicode makes white space of it, or removes it."""
    if character in ("", SPACE_SIGN):  # "" at an end of the text
        return False
    normal = unicodedata.normalize("NFKC", character)
    return normal.isprintable() and not any(map(str.isspace, normal))


def _newline_sign(plain: Tokenizer) -> str:
    """Returns what the vocabulary has for a newline. "" where the tokenizer drops it, or makes a
    space of it, which tokens of several words may hold.
    """
    text = ANCHOR_WORD + EMPTY_LINE + ANCHOR_WORD
    if plain.normalizer is not None:
        text = plain.normalizer.normalize_str(text)
    if plain.pre_tokenizer is not None:
        pieces = plain.pre_tokenizer.pre_tokenize_str(text)
        text = "".join(piece for piece, _ in pieces)
    # by the end, because a tokenizer may put a space before the text
    for newline in SPACE_SIGNS:
        if text.endswith(ANCHOR_WORD + 2 * newline + ANCHOR_WORD):
            return newline
    return ""


def _crossed_by_a_token(plain: Tokenizer, newline: str, behind: bool) -> bool:
    """Returns whether a token has a character that is no white space next to a newline: behind it
    if `behind`, else before it.
    """
    vocabulary = plain.get_vocab(with_added_tokens=False)
    spaces = SPACE_SIGNS[newline]
    for token in vocabulary:
        if newline not in token:
            continue
        for left, right in pairwise(token):
            line, beside = (left, right) if behind else (right, left)
            if line == newline and beside not in spaces:
                return True
    return False


def _joins_hard_texts(plain: Tokenizer, place: JoinPlace) -> bool:
    """Returns whether both parts have the tokens of the whole, for hard characters beside the
    line.
    """
    hard = hard_characters()
    tried = (
        (hard, hard),
        (SIGNS, ACROSS_FROM_SIGNS),
        (ACROSS_FROM_SIGNS, SIGNS),
    )
    return all(_joins(plain, place, before, behind) for before, behind in tried)


def _joins(
    plain: Tokenizer,
    place: JoinPlace,
    before: Sequence[str],
    behind: Sequence[str],
) -> bool:
    """Returns whether both parts have the tokens of the whole. before, behind: the characters
    beside the line, each with each.

    Each part must also have the words of the pattern that it has in the whole: which tokens a
    wrong word has depends on the vocabulary.
    """
    # An ending has its character alone or behind a letter. A beginning has it before a letter, or
    # twice.
    endings = [f"cat {character}" for character in before]
    endings += [f"a{character}" for character in before]
    beginnings = [f"{character}s it" for character in behind]
    beginnings += [f"{character}{character} is it" for character in behind]
    # The empty line belongs to the first part or to the second.
    line_of_first = EMPTY_LINE if place.behind else ""
    line_of_second = "" if place.behind else EMPTY_LINE
    firsts = _encode_all(plain, [ending + line_of_first for ending in endings])
    # The second part without its anchor. Whether a word begins at the join itself is not compared:
    # no token crosses it in either case.
    anchored = [place.anchor + line_of_second + beginning for beginning in beginnings]
    seconds = []
    for tokens in _encode_all(plain, anchored):
        seconds.append(_begin_word(tokens[place.anchor_tokens :], 0))
    # Every pair, whole and as the two parts one after the other.
    whole_texts = []
    for ending, beginning in product(endings, beginnings):
        whole_texts.append(ending + EMPTY_LINE + beginning)
    wholes = _encode_all(plain, whole_texts)
    pairs = product(firsts, seconds)
    for whole, (first, second) in zip(wholes, pairs, strict=True):
        if _begin_word(whole, len(first)) != first + second:
            return False
    return True


def _encode_all(plain: Tokenizer, texts: list[str]) -> list[list[Token]]:
    """Returns the tokens of each text."""
    tokens_of_texts = []
    for encoding in plain.encode_batch(texts, add_special_tokens=False):
        tokens: list[Token] = []
        word_before = None
        for number, word in zip(encoding.ids, encoding.word_ids, strict=True):
            begins_word = not tokens or word != word_before
            tokens.append((number, begins_word))
            word_before = word
        tokens_of_texts.append(tokens)
    return tokens_of_texts


def _begin_word(tokens: list[Token], place: int) -> list[Token]:
    """Returns the tokens. The one at this place, if there is one, now begins a word."""
    changed = list(tokens)
    if place < len(changed):
        number, _ = changed[place]
        changed[place] = (number, True)
    return changed


@lru_cache(maxsize=1)
def hard_characters() -> tuple[str, ...]:
    """Returns characters of every Unicode category but white space and lone surrogates, which no
    tokenizer is given.
    """
    by_category: dict[str, list[str]] = {}
    for number in range(sys.maxunicode + 1):
        character = chr(number)
        category = unicodedata.category(character)
        of_category = by_category.setdefault(category, [])
        if len(of_category) < TRIED_OF_A_CATEGORY and not character.isspace():
            of_category.append(character)
    del by_category["Cs"]  # the surrogates
    return tuple(chain.from_iterable(by_category.values()))
