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
from spanreward.rewards.text.filler import FILLER

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

MIN_COVERED_TOKENS = 2  # a completion with fewer covered tokens has no two tokens to compare
SHRINK = 4  # each mean residual is computed as if there were 4 more phrases with residual 0
Offsets = list[tuple[int, int]]  # for each token, the characters [start, end) that it wrote
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
    tokenizer: Tokenizer, special: Collection[int], ids: Sequence[int], text: str
) -> Offsets | None:
    """Returns for each token the characters [start, end) of `text` that the token wrote.

    The tokens "A", " red" and the end of the turn give (0, 1), (1, 5) and (5, 5). Tokens that share
    one character, such as an emoji of several bytes, all get that character. The function returns
    None if the ids do not decode to `text`.

    special: the tokenizer's `special_ids`. Such tokens write nothing, so that start == end.
    """
    if tokenizer.decode(ids, skip_special_tokens=True) != text:
        return None
    stream = DecodeStream(skip_special_tokens=True)
    offsets: Offsets = []
    written = 0
    # the tokens of the piece before: some decoders treat the first token of a text differently
    context: list[int] = []
    # the tokens since that piece; several if their bytes do not yet make a whole character
    group: list[int] = []
    for token in ids:
        group.append(token)
        try:
            piece = stream.step(tokenizer, token)
        except Exception:
            # This token changed characters that were already written. DecodeStream has no narrower
            # class of error for this case.
            return None
        # piece is None if bytes of a character are missing, or if the token is special
        if piece is not None:
            # the stream and `decode` may differ: then no offset is known
            if not text.startswith(piece, written):
                return None
            offsets += _group_offsets(tokenizer, special, context, group, piece, written)
            written += len(piece)
            context = group
            group = []
    # add the tokens after the last piece: the end of the turn, or bytes of an unfinished character
    return offsets + _group_offsets(tokenizer, special, context, group, text[written:], written)


def _group_offsets(
    tokenizer: Tokenizer,
    special: Collection[int],
    context: list[int],
    group: list[int],
    piece: str,
    begin: int,
) -> Offsets:
    """Returns the offsets of the tokens of `group`, which together wrote `piece`.

    The function decodes the first token, the first two tokens, and so on. The characters that a
    prefix has in common with the piece are finished. If the prefix and the piece differ at a
    character, that character has begun and lacks bytes.

    Args:
        context: the tokens before the group, which are decoded together with the group.
        group: the tokens of the piece.
        piece: the text of the group, such as one emoji.
        begin: the index of the piece's first character in the completion's text.
    """
    if len(group) == 1:
        return [(begin, begin + len(piece))]
    before = len(tokenizer.decode(context, skip_special_tokens=True))
    offsets = []
    done = 0  # characters of the piece that are finished
    for count, token in enumerate(group, start=1):
        start = done
        end = done
        if token not in special:
            # decode the group's first `count` tokens
            if count == len(group):
                now = piece
            else:
                prefix = [*context, *group[:count]]
                now = tokenizer.decode(prefix, skip_special_tokens=True)[before:]
            done = common_length(now, piece)
            end = done
            if done < len(now):  # the character at `done` has begun and lacks bytes
                end = min(done + 1, len(piece))
            last_start = end
            if now.endswith("\ufffd"):  # the token wrote one byte of a character of several tokens
                last_start = end - 1
            start = min(start, last_start)
        offsets.append((begin + start, begin + end))
    return offsets


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

    The components keep their order in `spans`.
    """
    first: dict[int, Span] = {}
    for span in spans:
        # skip "red" of "a red hat" if there is no hat: the judge was not asked about its colour
        if not span.asked:
            continue
        earlier = first.get(span.component)
        if earlier is None or span.start < earlier.start:
            first[span.component] = span
    return list(first.values())


def phrases_of(mentions: Sequence[Span], text: str, group: int) -> list[Phrase]:
    """Returns a phrase for each mention of a completion.

    mentions: the completion's `first_mentions`. group: the number of the completion's group.
    """
    ends = [match.end() for match in SENTENCE_END.finditer(text)]
    phrases = []
    for span in mentions:
        place = bisect_right(ends, span.start)  # how many sentences end before the mention
        phrases.append(Phrase(span.credit, span.kind, place, group))
    return phrases


def phrases_on_tokens(
    verdict: Verdict, text: str, offsets: Offsets, group: int
) -> tuple[list[list[int]], list[Phrase]] | None:
    """Returns the token indices of each first mention of a completion, and a phrase for each.

    The function returns None if the mentions cover fewer than MIN_COVERED_TOKENS tokens.

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

    The baseline starts at the mean credit of all phrases. A residual is a phrase's credit less its
    baseline so far. First, a phrase's baseline gains the mean residual of the other phrases of the
    same kind. Then it gains the mean of the same place, and at last that of the same group
    (docs/credit.md, step 2). SHRINK keeps the mean of few phrases near 0. Apart from rounding, the
    order of the phrases has no effect. Filler has the baseline 0 and enters no mean.
    """
    # leave out filler: its baseline is 0
    claims = [phrase for phrase in phrases if phrase.kind != FILLER]
    credit = np.array([phrase.credit for phrase in claims], dtype=np.float64)
    baseline = np.full(len(claims), credit.mean() if claims else 0.0)
    for key in ("kind", "place", "group"):
        # number the cells: phrases with an equal key are in one cell
        keys = [getattr(phrase, key) for phrase in claims]
        _, cell = np.unique(keys, return_inverse=True)
        residual = credit - baseline
        # sum and count the other phrases of each phrase's cell
        others_sum = np.bincount(cell, residual)[cell] - residual
        others_count = np.bincount(cell)[cell] - 1
        baseline += others_sum / (others_count + SHRINK)
    # put filler back among the phrases, with the baseline 0
    is_claim = np.array([phrase.kind != FILLER for phrase in phrases], dtype=np.bool_)
    baselines = np.zeros(len(phrases))
    baselines[is_claim] = baseline
    return baselines.tolist()


def residual_credit(phrases: Sequence[Phrase]) -> list[float]:
    """Returns each phrase's credit less its baseline. Above 0 the phrase's words are praised, and
    below 0 they are blamed.
    """
    baselines = baseline_credit(phrases)
    pairs = zip(phrases, baselines, strict=True)
    return [phrase.credit - baseline for phrase, baseline in pairs]


def tokens_of(mentions: Sequence[Span], offsets: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Returns for each mention the indices of the tokens that wrote some of its characters.

    The starts of the tokens need not rise from token to token, and the ends need not either,
    because tokens can share a character. The greatest end up to a token and the least start from a
    token on never fall. So bisection in these two lists bounds the tokens of a mention.
    """
    starts = [start for start, _ in offsets]
    ends = [end for _, end in offsets]
    latest_end = list(accumulate(ends, max))  # the greatest end up to each token
    earliest_start = list(accumulate(reversed(starts), min))  # the least start from each token on
    earliest_start.reverse()
    tokens = []
    for span in mentions:
        first = bisect_right(latest_end, span.start)
        stop = bisect_left(earliest_start, span.end)
        overlapping = []
        for token in range(first, stop):  # no token outside this range overlaps the mention
            begin = max(starts[token], span.start)
            end = min(ends[token], span.end)
            if begin < end:
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
    last = max((span.end for span in verdict.spans), default=0)
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
