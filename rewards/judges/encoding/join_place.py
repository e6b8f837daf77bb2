"""Finds the place at which a prompt can be divided so that its two parts, encoded separately, have
the same tokens as the whole prompt.

    place = find_join_place(tokenizer)       # None: this tokenizer has no such place
    end = place.cut("TEXT:\\nA red kite.\\n\\nIs it red?", description_end=17)     # 17, 19 or 0

Many questions share a long beginning, up to the empty line behind the description. The beginning
can be encoded once for all these questions, and then only the few tokens of each question. The
tokens must be the same as those of the whole prompt, because other tokens may change a rating.

The place depends on the tokenizer's pattern, which splits a text into words before the encoding.
GPT-2's pattern separates `.` from an empty line, so GPT-2's prompts are divided before the line.
The patterns of Qwen2 and Llama 3 keep `.` and the line in one word, so their prompts are divided
behind the line.

A place is safe for byte-pair encoding under two conditions. First, no token of the vocabulary
reaches across the place. Then no merge reaches across the place, and the tokens of each part do not
depend on the other part. Second, the tokenizer's normaliser and pattern treat each part as in the
whole prompt. `_joins_hard_texts` tries the second condition with characters of every Unicode
category on both sides of the place.
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
# A word that is put before the second part while the second part is encoded. Some tokenizers add a
# space before the first word of a text, and this word gets the space.
ANCHOR_WORD = "x"
# SentencePiece writes this sign for a space. The same sign in a text counts as a space too.
SPACE_SIGN = "\u2581"
# How a vocabulary spells white space (newline, space, tab, carriage return), by how it spells a
# newline. SentencePiece spells a newline as "\n". A byte-level vocabulary spells each of the four
# as a letter, such as "\u0120" for a space. In a vocabulary of SentencePiece, "\u0120" is only a
# letter.
SPACE_SIGNS = {
    "\n": frozenset(f"\n \t\r{SPACE_SIGN}"),
    "\u010a": frozenset("\u010a\u0120\u0109\u010d"),
}
TRIED_OF_A_CATEGORY = 2  # how many characters of each Unicode category are tried
# The printable signs of ASCII. Some patterns treat one sign, such as the slash, in a special way.
# So each sign is tried on one side of the line, with a few characters on the other side.
ASCII_SIGNS = tuple(map(chr, range(33, 127)))
ACROSS_FROM_SIGNS = ("a", ".", '"', "5")

# The id, and whether the token begins a word. Words are the pieces into which the tokenizer's
# pattern splits a text before the encoding.
Token = tuple[int, bool]


@dataclass(frozen=True, slots=True)
class JoinPlace:
    """A safe place to divide a prompt: before or behind the empty line after the description.

    Attributes:
        behind: whether the place is behind the empty line.
        anchor: the text that is put before the second part while the second part is encoded.
        anchor_tokens: how many tokens the anchor has. These tokens are dropped from the second
            part.
    """

    behind: bool
    anchor: str
    anchor_tokens: int

    def cut(self, content: str, description_end: int) -> int:
        """Returns the offset at which to divide a message, or 0 if the message cannot be divided.

        An empty line must follow the description. The characters before and behind the empty line
        must be visible, that is, no white space.
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
    """Returns a safe place to divide prompts for this tokenizer, or None.

    plain: the tokenizer, without a post-processor. Only byte-pair encodings have a safe place. A
    Unigram model chooses its pieces for the whole text, so the parts could have other pieces.
    """
    newline = _newline_sign(plain)
    if not isinstance(plain.model, BPE) or not newline:
        return None
    for behind in (False, True):
        anchor = ANCHOR_WORD + EMPTY_LINE if behind else ANCHOR_WORD
        encoding = plain.encode(anchor, add_special_tokens=False)
        place = JoinPlace(behind, anchor, len(encoding.ids))
        # The check of the vocabulary comes first, because it takes less time.
        is_crossed = _crossed_by_a_token(plain, newline, behind)
        if not is_crossed and _joins_hard_texts(plain, place):
            return place
    return None


def _is_visible(character: str) -> bool:
    """Returns whether the character is printable and no white space, also after Unicode
    normalisation (NFKC). "" stands for a missing character, at the beginning or end of a text.
    """
    if character in ("", SPACE_SIGN):
        return False
    normal = unicodedata.normalize("NFKC", character)
    return normal.isprintable() and not any(map(str.isspace, normal))


def _newline_sign(plain: Tokenizer) -> str:
    """Returns how the vocabulary spells a newline, a key of SPACE_SIGNS.

    Returns "" if the tokenizer drops newlines or turns newlines into spaces. Then no place is safe,
    because a token may hold several words with spaces between.
    """
    text = ANCHOR_WORD + EMPTY_LINE + ANCHOR_WORD
    if plain.normalizer is not None:
        text = plain.normalizer.normalize_str(text)
    if plain.pre_tokenizer is not None:
        pieces = plain.pre_tokenizer.pre_tokenize_str(text)
        text = "".join(piece for piece, _ in pieces)
    # `endswith`, because a tokenizer may add a space at the beginning of the text
    for newline in SPACE_SIGNS:
        if text.endswith(ANCHOR_WORD + 2 * newline + ANCHOR_WORD):
            return newline
    return ""


def _crossed_by_a_token(plain: Tokenizer, newline: str, behind: bool) -> bool:
    """Returns whether a token of the vocabulary has characters on both sides of the place at which
    a prompt would be divided: "\\nIs" for the place behind the empty line after the description,
    and ".\\n" for the place before this line.

    A character that is next to the empty line is no white space (`JoinPlace.cut`).

    newline: how the vocabulary spells a newline. behind: whether the place is behind the line.
    """
    vocabulary = plain.get_vocab(with_added_tokens=False)
    spaces = SPACE_SIGNS[newline]
    for token in vocabulary:
        if newline not in token:
            continue
        for first, second in pairwise(token):
            if behind:
                # the end of the empty line, and then the question: "\nIs"
                is_across = first == newline and second not in spaces
            else:
                # the description, and then the beginning of the empty line: ".\n"
                is_across = first not in spaces and second == newline
            if is_across:
                return True
    return False


def _joins_hard_texts(plain: Tokenizer, place: JoinPlace) -> bool:
    """Returns whether prompts with many kinds of characters next to the empty line have the same
    tokens in two parts as in one (`_has_equal_tokens`).

    Two kinds of characters are hard for a tokenizer: characters of rare Unicode categories, and
    ASCII signs that its pattern treats in a special way.
    """
    of_all_categories = hard_characters()
    # The characters to try before the line, and those to try behind it. All pairs of ASCII signs
    # would be too many, so each sign is tried with a few characters on the other side of the line.
    tried = (
        (of_all_categories, of_all_categories),
        (ASCII_SIGNS, ACROSS_FROM_SIGNS),
        (ACROSS_FROM_SIGNS, ASCII_SIGNS),
    )
    return all(_has_equal_tokens(plain, place, before, behind) for before, behind in tried)


def _has_equal_tokens(
    plain: Tokenizer,
    place: JoinPlace,
    before: Sequence[str],
    behind: Sequence[str],
) -> bool:
    """Returns whether prompts, divided at `place`, have the same tokens in two parts as in one. The
    place is before or behind the empty line after the description.

    before, behind: the characters to try directly before and behind the empty line. Every pair is
    tried.

    The words into which the tokenizer splits a text must also begin at the same tokens. A tokenizer
    joins characters to tokens only within a word. So if the parts are split into other words than
    the whole prompt, equal tokens of the tried texts are chance, and other texts could have
    different tokens.
    """
    # Each character of `before` ends a first part, alone or behind a letter. Each character of
    # `behind` begins a second part, before a letter or twice.
    endings = [f"cat {character}" for character in before]
    endings += [f"a{character}" for character in before]
    beginnings = [f"{character}s it" for character in behind]
    beginnings += [f"{character}{character} is it" for character in behind]
    firsts, seconds = _tokens_of_parts(plain, place, endings, beginnings)
    # Compare the tokens of each whole prompt with the tokens of its two parts.
    whole_texts = []
    for ending, beginning in product(endings, beginnings):
        whole_texts.append(ending + EMPTY_LINE + beginning)
    wholes = _encode_all(plain, whole_texts)
    pairs = product(firsts, seconds)
    for whole, (first, second) in zip(wholes, pairs, strict=True):
        # The second part always begins a word, and the whole prompt may have a word that goes on
        # across the place. This difference is harmless, because no token reaches across the place.
        # So the first token behind the place is marked as the beginning of a word in both.
        number_behind_place = len(first)
        if _begin_word(whole, number_behind_place) != first + second:
            return False
    return True


def _tokens_of_parts(
    plain: Tokenizer,
    place: JoinPlace,
    endings: list[str],
    beginnings: list[str],
) -> tuple[list[list[Token]], list[list[Token]]]:
    """Returns the tokens of each first part, and the tokens of each second part, of prompts that
    are divided at `place`. The first token of a second part is marked as the beginning of a word.

    Some tokenizers add a space before the first word of a text. In a prompt, a second part is not
    the beginning of the text and gets no space. So each second part is encoded behind the place's
    anchor, which gets the space, and then the tokens of the anchor are dropped.

    endings: the texts before the empty line. beginnings: the texts behind the empty line.
    """
    # The empty line belongs to the first part if the place is behind the line.
    if place.behind:
        first_texts = [ending + EMPTY_LINE for ending in endings]
        second_texts = beginnings
    else:
        first_texts = endings
        second_texts = [EMPTY_LINE + beginning for beginning in beginnings]
    firsts = _encode_all(plain, first_texts)
    anchored = [place.anchor + text for text in second_texts]
    seconds = []
    for tokens in _encode_all(plain, anchored):
        without_anchor = tokens[place.anchor_tokens :]
        seconds.append(_begin_word(without_anchor, 0))
    return firsts, seconds


def _encode_all(plain: Tokenizer, texts: list[str]) -> list[list[Token]]:
    """Returns the tokens of each text. Each token says whether it begins one of the words into
    which the tokenizer's pattern splits the text: "a kite" gives [(64, True), (479, True), (578,
    False)] if the tokens are "a", " k" and "ite".
    """
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
    """Returns the tokens, and marks the token with the index `place` as the beginning of a word. If
    no token has this index, the tokens are returned as they are.
    """
    changed = list(tokens)
    if place < len(changed):
        number, _ = changed[place]
        changed[place] = (number, True)
    return changed


@lru_cache(maxsize=1)
def hard_characters() -> tuple[str, ...]:
    """Returns two characters of every Unicode category, without white space and lone surrogates.

    Tokenizers never get lone surrogates (`chat.encodable_text`).
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
