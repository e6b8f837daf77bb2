"""Turns a verdict's spans, which index characters, into credit of single tokens, without torch.

    # for each token the characters that it wrote; None if the ids do not decode to the text
    offsets = token_offsets(tokenizer, special_ids(tokenizer), ids, text)
    # the tokens of each first mention, and its phrase
    tokens, phrases = phrases_on_tokens(verdict, text, offsets, group)
    credit, covered = on_tokens(residual_credit(phrases_of_all), {row: tokens}, (B, T))

span_rules.py turns the credit into advantages. A phrase is a component of the verdict with its
credit. The tokens of a phrase get the phrase's credit less a baseline: the credit of other phrases
of its kind, place and group. Without a baseline, credit would also reward or punish writing on at
all, which the completion's scalar advantage already does. If most phrases are wrong, credit without
a baseline would lower the probability of all words and raise none (docs/credit.md). Filler
(rewards/text/filler.py) has no baseline: it is blamed for its whole cost, even if every completion
of a batch is padded.

The offsets of tokens come from decoding the sampled ids one by one. Tokenising the text again would
give other tokens for some merges, emoji and CJK characters.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream

from spanreward.rewards.base.verdict import Span, Verdict
from spanreward.rewards.text.filler import FILLER_PART

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

MIN_COVERED_TOKENS = 2  # a completion with fewer covered tokens has no two tokens to compare
# each mean residual is computed as if there were 4 more phrases with residual 0
SHRINKING_PHRASES = 4
TokenOffsets = list[tuple[int, int]]  # for each token, the characters [start, end) that it wrote
SENTENCE_END = re.compile(r"[.!?\n]+")


@dataclass(frozen=True, slots=True)
class Phrase:
    """One component of a verdict with its credit. Comparable phrases share a kind, place or group.

    Args:
        credit: how much the phrase adds to the score; below 0 if the phrase lowers the score.
        kind: the kind of the component's span, such as "entity".
        place: the number of the sentence in which the phrase's first mention begins, from 0.
        group: the number of the group of completions that answer the same prompt.
    """

    credit: float
    kind: str
    place: int
    group: int


def special_ids(tokenizer: Tokenizer) -> frozenset[int]:
    """Returns the ids of special tokens, which a decoder that skips special tokens leaves out."""
    ids = set()
    for id, token in tokenizer.get_added_tokens_decoder().items():
        if token.special:
            ids.add(id)
    return frozenset(ids)


def token_offsets(
    tokenizer: Tokenizer,
    special: Collection[int],
    ids: Sequence[int],
    text: str,
) -> TokenOffsets | None:
    """Returns for each token the characters [start, end) of `text` that the token wrote, or None if
    the ids do not decode to `text`.

    The tokens "A", " red" and the end of the turn give (0, 1), (1, 5) and (5, 5). Tokens that share
    one character, such as an emoji of several bytes, all get that character.

    special: the tokenizer's `special_ids`. Such tokens write nothing, so that start == end. ids:
    the token ids of a completion, as sampled.
    """
    if tokenizer.decode(ids, skip_special_tokens=True) != text:
        return None
    stream = DecodeStream(skip_special_tokens=True)
    offsets: TokenOffsets = []
    # The stream decodes token by token, and gives a piece of text once it has whole characters. So
    # several tokens may write one piece.
    piece_start = 0  # the index in `text` at which the next piece begins
    earlier_tokens: list[int] = []  # the tokens of the piece before
    tokens: list[int] = []  # the tokens since that piece
    for token in ids:
        tokens.append(token)
        try:
            piece = stream.step(tokenizer, token)
        except Exception:
            # This token changed characters that were already written. DecodeStream has no narrower
            # class of error for this case.
            return None
        if piece is None:  # bytes of a character are missing, or the token is special
            continue
        # the stream and `decode` may differ: then no offset is known
        if not text.startswith(piece, piece_start):
            return None
        offsets += _offsets_in_piece(tokenizer, special, earlier_tokens, tokens, piece, piece_start)
        piece_start += len(piece)
        earlier_tokens = tokens
        tokens = []
    # add the tokens after the last piece: the end of the turn, or bytes of an unfinished character
    rest = text[piece_start:]
    offsets += _offsets_in_piece(tokenizer, special, earlier_tokens, tokens, rest, piece_start)
    return offsets


def _offsets_in_piece(
    tokenizer: Tokenizer,
    special: Collection[int],
    earlier_tokens: list[int],
    tokens: list[int],
    piece: str,
    piece_start: int,
) -> TokenOffsets:
    """Returns for each of `tokens`, which together wrote `piece`, the characters [start, end) of
    the completion's text that the token wrote.

    Example: if three tokens wrote the emoji at the character 5, the result is [(5, 6)] * 3, because
    each token wrote some bytes of the emoji.

    The function decodes the first token, the first two tokens, and so on, and compares each result
    with the piece. Up to the first difference, the characters are whole. A character that differs
    has begun, and lacks bytes: it is decoded as the replacement character U+FFFD.

    Args:
        special: the tokenizer's `special_ids`.
        earlier_tokens: the tokens of the piece before. They are decoded too, because some decoders
            treat the first token of a text differently.
        tokens: the tokens of the piece.
        piece: the text that the tokens wrote.
        piece_start: the index of the piece's first character in the completion's text.
    """
    if len(tokens) == 1:
        return [(piece_start, piece_start + len(piece))]
    offsets = []
    whole = 0  # how many characters of the piece are whole, after the tokens so far
    for count, token in enumerate(tokens, start=1):
        whole_before = whole
        if token in special:  # a special token writes nothing
            offsets.append((piece_start + whole_before, piece_start + whole_before))
            continue
        written = piece  # the text of the piece's first `count` tokens
        if count < len(tokens):
            written = _text_after(tokenizer, earlier_tokens, tokens[:count])
        whole = common_length(written, piece)
        end = whole
        if whole < len(written):  # the next character has begun, and this token is part of it
            end = min(whole + 1, len(piece))
        # The token begins after the characters that were whole before. But if the text ends with a
        # replacement character, the token wrote bytes of it. The piece itself may have such a
        # character, which then counted as whole after its first byte.
        last_possible_start = end
        if written.endswith("\ufffd"):
            last_possible_start = end - 1
        start = min(whole_before, last_possible_start)
        offsets.append((piece_start + start, piece_start + end))
    return offsets


def _text_after(tokenizer: Tokenizer, earlier_tokens: list[int], tokens: list[int]) -> str:
    """Returns the text that the tokens write after the earlier tokens.

    Example: after "A", the token " red" writes " red". At the beginning of a text, some decoders
    would drop the space.
    """
    earlier_text = tokenizer.decode(earlier_tokens, skip_special_tokens=True)
    text = tokenizer.decode([*earlier_tokens, *tokens], skip_special_tokens=True)
    return text[len(earlier_text) :]


def common_length(text: str, other: str) -> int:
    """Returns the length of the common beginning of two texts: 3 for "a red" and "a rose"."""
    length = 0
    for character, other_character in zip(text, other, strict=False):
        if character != other_character:
            break
        length += 1
    return length


def first_mentions(spans: Sequence[Span]) -> list[Span]:
    """Returns the first span of every component that the judge was asked about.

    Example: if "cup" and "It" in "A cup. It is red." are spans of one component, the span of "cup"
    is returned. Only the first mention of a component gets the component's credit (docs/credit.md).
    The components keep their order in `spans`.
    """
    first: dict[int, Span] = {}  # by the component's number
    for span in spans:
        # skip "red" of "a red hat" if there is no hat: the judge was not asked about its colour
        if not span.asked:
            continue
        earlier = first.get(span.component)
        if earlier is None or span.start < earlier.start:
            first[span.component] = span
    return list(first.values())


def phrases_of(mentions: Sequence[Span], text: str, group: int) -> list[Phrase]:
    """Returns a Phrase for each mention: its credit, its kind, the number of its sentence, and the
    number of its completion's group.

    Example: in the text "A cup. A red hat.", the mention "red hat" is in sentence 1. The baseline
    compares phrases that are equal in kind, sentence number or group.

    mentions: the completion's `first_mentions`. group: the number of the completion's group.
    """
    sentence_ends = [match.end() for match in SENTENCE_END.finditer(text)]
    phrases = []
    for span in mentions:
        # the number of the mention's sentence: how many sentences end before the mention
        sentence = bisect_right(sentence_ends, span.start)
        phrases.append(Phrase(span.credit, span.kind, sentence, group))
    return phrases


def phrases_on_tokens(
    verdict: Verdict, text: str, offsets: TokenOffsets, group: int
) -> tuple[list[list[int]], list[Phrase]] | None:
    """Returns for each first mention of a completion the indices of its tokens and its phrase, in
    two lists; None if the mentions cover fewer than MIN_COVERED_TOKENS tokens.

    Example: the mentions "cup" and "red hat" may give [[3], [6, 7]] and two phrases.

    offsets: the `token_offsets` of the completion. group: the number of the completion's group.
    """
    mentions = first_mentions(verdict.spans)
    tokens = tokens_of(mentions, offsets)
    covered: set[int] = set().union(*tokens)
    if len(covered) < MIN_COVERED_TOKENS:
        return None
    return tokens, phrases_of(mentions, text, group)


def baseline_credit(phrases: Sequence[Phrase]) -> list[float]:
    """Returns the baseline of each phrase: the credit that one expects from comparable phrases.

    The baseline of every phrase starts at the mean credit of all phrases. Three rounds then correct
    the baselines (docs/credit.md, step 2). Phrases are comparable in the first round if they are of
    the same kind, such as "entity". In the second round, their sentences have the same number. In
    the third round, their completions answer the same prompt.

    Each round computes for every phrase the residual, which is the credit less the baseline so far.
    Then a phrase's baseline grows by the mean residual of the comparable phrases, without the
    phrase itself. The mean is computed as if there were SHRINKING_PHRASES more phrases with the
    residual 0, so that the mean of few phrases stays near 0.

    Apart from rounding, the order of the phrases has no effect. Filler has the baseline 0 and
    enters no mean.
    """
    # leave out filler: its baseline is 0
    claims = [phrase for phrase in phrases if phrase.kind != FILLER_PART]
    credit = np.array([phrase.credit for phrase in claims], dtype=np.float64)
    baseline = np.full(len(claims), credit.mean() if claims else 0.0)
    for attribute in ("kind", "place", "group"):  # place: the number of the phrase's sentence
        # give comparable phrases one number: set_of_phrase is [0, 1, 0] for the kinds a, b, a
        values = [getattr(phrase, attribute) for phrase in claims]
        _, set_of_phrase = np.unique(values, return_inverse=True)
        baseline += _mean_of_others(credit - baseline, set_of_phrase)
    # put filler back among the phrases, with the baseline 0
    is_claim = np.array([phrase.kind != FILLER_PART for phrase in phrases], dtype=np.bool_)
    baselines = np.zeros(len(phrases))
    baselines[is_claim] = baseline
    return baselines.tolist()


def _mean_of_others(
    residuals: NDArray[np.float64], set_of_phrase: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Returns for each phrase the mean residual of the other phrases of its set, as if there were
    SHRINKING_PHRASES more phrases with the residual 0.

    Example: for the residuals [1, 2, 9] and the sets [0, 0, 1], the results are 2 / (1 + 4),
    1 / (1 + 4) and 0 / (0 + 4).

    residuals: (n,). set_of_phrase: (n,), the number of each phrase's set, from 0.
    """
    sums = np.bincount(set_of_phrase, residuals)  # one sum for each set
    counts = np.bincount(set_of_phrase)
    # leave each phrase out of its own mean
    sums_of_others = sums[set_of_phrase] - residuals
    counts_of_others = counts[set_of_phrase] - 1
    return sums_of_others / (counts_of_others + SHRINKING_PHRASES)


def residual_credit(phrases: Sequence[Phrase]) -> list[float]:
    """Returns each phrase's credit less its baseline. Above 0 the phrase's words are praised, and
    below 0 they are blamed.
    """
    baselines = baseline_credit(phrases)
    residuals = []
    for phrase, baseline in zip(phrases, baselines, strict=True):
        residuals.append(phrase.credit - baseline)
    return residuals


def tokens_of(mentions: Sequence[Span], offsets: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Returns for each mention the indices of the tokens that wrote some of its characters.

    Example: with the offsets [(0, 1), (1, 5), (5, 9)] of "A red cup", the mention "red cup" at the
    characters [2, 9) has the tokens [1, 2].

    A completion may have thousands of tokens and a hundred mentions. So two bisections first find
    a range of tokens that has all tokens of a mention, and maybe a few others. Then each token of
    the range is compared with the mention.

    offsets: the `token_offsets` of the completion.
    """
    starts = [start for start, _ in offsets]
    ends = [end for _, end in offsets]
    # Bisection needs a sorted list. The ends and starts are not always sorted, because tokens can
    # share a character. These two lists are sorted:
    # the greatest end up to each token: the ends 1, 5, 4 give 1, 5, 5
    greatest_ends = list(accumulate(ends, max))
    # the least start from each token on: the starts 0, 4, 3 give 0, 3, 3
    least_starts = list(accumulate(reversed(starts), min))
    least_starts.reverse()
    tokens = []
    for span in mentions:
        # the greatest end before the token `first` is at most span.start, and so are all ends there
        first = bisect_right(greatest_ends, span.start)
        # the least start from the token `stop` on is at least span.end, and so are all starts there
        stop = bisect_left(least_starts, span.end)
        overlapping = []
        for token in range(first, stop):
            overlap_start = max(starts[token], span.start)
            overlap_end = min(ends[token], span.end)
            if overlap_start < overlap_end:
                overlapping.append(token)
        tokens.append(overlapping)
    return tokens


def on_tokens(
    values: Iterable[float], tokens: Mapping[int, Sequence[Sequence[int]]], shape: tuple[int, int]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Returns the credit of each token, (B, T), and whether a phrase covers the token, (B, T).

    The tokens of a phrase share the phrase's value equally. A token of several phrases gets the sum
    of its shares (docs/credit.md).

    Args:
        values: the value of each phrase, in the order of the phrases in `tokens`.
        tokens: by row number, a list of token indices for each phrase of the row.
        shape: (B, T), the number of rows and the number of tokens of the longest row.
    """
    credit = np.zeros(shape)
    covered = np.zeros(shape, dtype=np.bool_)
    # list (row, tokens) of each phrase, in the order of `values`
    phrases: list[tuple[int, Sequence[int]]] = []
    for row, tokens_of_row in tokens.items():
        phrases += [(row, tokens_of_phrase) for tokens_of_phrase in tokens_of_row]
    for value, (row, tokens_of_phrase) in zip(values, phrases, strict=True):
        # numpy's `+=` adds only once at a repeated index, and a phrase never repeats a token
        credit[row, tokens_of_phrase] += value / max(len(tokens_of_phrase), 1)
        covered[row, tokens_of_phrase] = True
    return credit, covered


def token_credit(
    verdict: Verdict, ids: Sequence[int], tokenizer: "PreTrainedTokenizerFast | Tokenizer"
) -> list[float]:
    """Returns how much each sampled token adds to the verdict's score; below 0 if it lowers the
    score.

        sample = Sample("Describe it.", text, references=("A red circle.",))
        verdict = PoshReward("match").assess([sample])[0]
        credit = token_credit(verdict, ids, tokenizer)        # len(ids) floats
        advantages = [advantage + 0.5 * (value - fmean(credit)) / deviation for value in credit]

    In the example, `deviation` is the standard deviation of the batch's credit. No baseline is
    subtracted from the returned credit. SpanGRPOTrainer subtracts a baseline of the batch
    (docs/credit.md), and `group_advantages` in by_group.py subtracts a baseline of one group.

    Args:
        verdict: the verdict of the text to which the ids decode without special tokens.
        ids: the token ids of the completion, as sampled.
        tokenizer: a fast tokenizer of transformers, such as `processor.tokenizer`, or a tokenizer
            of the package `tokenizers`.

    Raises:
        ValueError: if a span of the verdict ends after the decoded text, or if the tokens cannot be
            aligned with the characters of the text.
    """
    backend = tokenizer if isinstance(tokenizer, Tokenizer) else tokenizer.backend_tokenizer
    text = backend.decode(list(ids), skip_special_tokens=True)
    last = max((span.end for span in verdict.spans), default=0)  # where the last span ends
    offsets = token_offsets(backend, special_ids(backend), ids, text)
    if offsets is None or last > len(text):
        apart = " that do not line up with them" if offsets is None else ""
        raise ValueError(
            f"the verdict's spans end at character {last}, and the {len(ids)} ids decode to "
            f"{len(text)} characters{apart}: give the ids of the completion judged."
        )
    # compute the credit as for a batch of one completion
    mentions = first_mentions(verdict.spans)
    tokens = {0: tokens_of(mentions, offsets)}
    values = [span.credit for span in mentions]
    credit, _ = on_tokens(values, tokens, (1, len(offsets)))
    return credit[0].tolist()
