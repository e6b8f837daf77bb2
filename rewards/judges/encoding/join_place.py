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
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, product

from tokenizers import Tokenizer
from tokenizers.models import BPE

EMPTY_LINE = "\n\n"
# Stands before the second part while that is encoded: some tokenizers put a space before a text.
ANCHOR_WORD = "x"
# A newline in a vocabulary: itself or a byte in SentencePiece's, a letter in a byte-level one.
NEWLINE, NEWLINE_BYTE, NEWLINE_LETTER = "\n", "<0x0A>", "\u010a"
# White space of both: space, tab, carriage return.
SPACE_SIGNS = frozenset(" \t\r\u2581\u0120\u0109\u010d")
TRIED_OF_A_CATEGORY = 2  # characters


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
        before = content[description_end - 1 : description_end]
        after = content[line_end : line_end + 1]
        line = content[description_end:line_end]
        if line != EMPTY_LINE or not _is_visible(before) or not _is_visible(after):
            return 0
        return line_end if self.behind else description_end


def find_join_place(plain: Tokenizer) -> JoinPlace | None:
    """Returns a safe place, or None. plain: the tokenizer, without a post-processor.

    Only byte-pair encodings have one: the best pieces of a Unigram model depend on the whole text.
    """
    if not isinstance(plain.model, BPE):
        return None
    for behind in (False, True):
        anchor = ANCHOR_WORD + EMPTY_LINE if behind else ANCHOR_WORD
        anchor_tokens = len(plain.encode(anchor, add_special_tokens=False).ids)
        place = JoinPlace(behind, anchor, anchor_tokens)
        if not _crossed_by_a_token(plain, behind) and _joins_hard_texts(plain, place):
            return place
    return None


def _is_visible(character: str) -> bool:
    return character != "" and not character.isspace()


def _crossed_by_a_token(plain: Tokenizer, behind: bool) -> bool:
    """Returns whether a token has a character that is no white space next to a newline: before it,
    or behind it.
    """
    vocabulary = plain.get_vocab(with_added_tokens=False)
    newline = NEWLINE
    if NEWLINE not in vocabulary and NEWLINE_BYTE not in vocabulary:
        newline = NEWLINE_LETTER
    spaces = SPACE_SIGNS | {newline}
    for token in vocabulary:
        if newline in token:
            for left, right in pairwise(token):
                crosses = left == newline and right not in spaces
                if not behind:
                    crosses = right == newline and left not in spaces
                if crosses:
                    return True
    return False


def _joins_hard_texts(plain: Tokenizer, place: JoinPlace) -> bool:
    """Returns whether both parts have the tokens of the whole, for hard characters beside the
    line.
    """
    characters = hard_characters()
    endings = [f"cat {character}" for character in characters]
    endings += [f"a{character}" for character in characters]
    beginnings = [f"{character}s it" for character in characters]
    beginnings += [f"{character}{character} is it" for character in characters]
    line_of_first = EMPTY_LINE if place.behind else ""
    line_of_second = "" if place.behind else EMPTY_LINE
    firsts = _encode_all(plain, [ending + line_of_first for ending in endings])
    anchored = [place.anchor + line_of_second + beginning for beginning in beginnings]
    seconds = [ids[place.anchor_tokens :] for ids in _encode_all(plain, anchored)]
    wholes = [ending + EMPTY_LINE + beginning for ending, beginning in product(endings, beginnings)]
    for whole, (first, second) in zip(
        _encode_all(plain, wholes), product(firsts, seconds), strict=True
    ):
        if whole != first + second:
            return False
    return True


def _encode_all(plain: Tokenizer, texts: list[str]) -> list[list[int]]:
    encodings = plain.encode_batch_fast(texts, add_special_tokens=False)
    return [encoding.ids for encoding in encodings]


@lru_cache(maxsize=1)
def hard_characters() -> tuple[str, ...]:
    """Returns characters of every Unicode category but white space and lone surrogates, which no
    tokenizer is given.
    """
    by_category: dict[str, list[str]] = {}
    for number in range(sys.maxunicode + 1):
        character = chr(number)
        of_category = by_category.setdefault(unicodedata.category(character), [])
        if len(of_category) < TRIED_OF_A_CATEGORY and not character.isspace():
            of_category.append(character)
    del by_category["Cs"]
    return tuple(character for several in by_category.values() for character in several)
