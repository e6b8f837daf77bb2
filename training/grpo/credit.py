"""From spans on characters to credit on tokens, without torch. span_rules.py makes advantages of
it.

    # characters of each token, or None
    offsets = token_offsets(tokenizer, special_ids(tokenizer), ids, text)
    # first mentions, and what each adds
    tokens, phrases = phrases_on_tokens(verdict, text, offsets, group)
    credit, covered = on_tokens(residual_credit(phrases_of_all), {row: tokens}, (B, T))

A phrase gets its credit less a baseline: what other phrases of its kind, place and group add. Raw
credit would also say whether to write on at all. The completion's scalar advantage says that
already, and where most phrases are wrong, raw credit would push probability away in every direction
(docs/credit.md). Filler (rewards/text/filler.py) has no baseline: it is blamed for all that it
costs, even where every completion is padded.

Offsets come from decoding the sampled ids one by one. Tokenising the text again would drift on
merges, emoji and CJK.
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

MIN_COVERED_TOKENS = 2  # a row with fewer has no two tokens to tell apart
SHRINK = 4  # a mean of other phrases counts this many more with a residual of 0
Offsets = list[tuple[int, int]]  # of each token, the characters [start, end) that it wrote
SENTENCE_END = re.compile(r"[.!?\n]+")


@dataclass(frozen=True, slots=True)
class Phrase:
    """What one component of a verdict adds to the score, and what it may be compared with.

    Args:
        credit: in units of the score, below 0 where the phrase costs.
        kind: the span's, such as "entity".
        place: number of the sentence in which its first mention begins, from 0.
        group: number of the group of completions that answer the same prompt.
    """

    credit: float
    kind: str
    place: int
    group: int


def special_ids(tokenizer: Tokenizer) -> frozenset[int]:
    """Returns the ids that write nothing when special tokens are skipped."""
    ids = set()
    for id, token in tokenizer.get_added_tokens_decoder().items():
        if token.special:
            ids.add(id)
    return frozenset(ids)


def token_offsets(
    tokenizer: Tokenizer, special: Collection[int], ids: Sequence[int], text: str
) -> Offsets | None:
    """Returns the characters [start, end) of `text` that each token wrote. None when the ids do not
    decode to `text`.

    special: the tokenizer's `special_ids`, which write nothing (start == end). Tokens that share
    one character (an emoji of several bytes) all get that character. The tokens "A", " red" and the
    end of the turn have (0, 1), (1, 5) and (5, 5).
    """
    if tokenizer.decode(ids, skip_special_tokens=True) != text:
        return None
    stream = DecodeStream(skip_special_tokens=True)
    offsets: Offsets = []
    written = 0
    # the tokens that wrote last: some decoders treat the first token of a text differently
    context: list[int] = []
    # the tokens since then; more than one while bytes do not make a character yet
    group: list[int] = []
    for token in ids:
        group.append(token)
        try:
            piece = stream.step(tokenizer, token)
        except Exception:
            # DecodeStream has no narrower one: this token changed characters that were already
            # written
            return None
        # None while bytes are missing, and for a special token
        if piece is not None:
            if not text.startswith(piece, written):  # the stream decodes otherwise than the whole
                return None
            offsets += _group_offsets(tokenizer, special, context, group, piece, written)
            written += len(piece)
            context = group
            group = []
    # tokens after the last piece, such as the end of the turn, or bytes of no whole character
    return offsets + _group_offsets(tokenizer, special, context, group, text[written:], written)


def _group_offsets(
    tokenizer: Tokenizer,
    special: Collection[int],
    context: list[int],
    group: list[int],
    piece: str,
    begin: int,
) -> Offsets:
    """Returns the offsets of the tokens that together wrote `piece`, which begins at character
    `begin`, after `context`.

    The tokens are decoded as a prefix that grows by one. What the prefix has in common with the
    piece is finished; where they differ, a character has begun.
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
            # what the group's first `count` tokens write
            if count == len(group):
                now = piece
            else:
                prefix = [*context, *group[:count]]
                now = tokenizer.decode(prefix, skip_special_tokens=True)[before:]
            done = common_length(now, piece)
            end = done
            if done < len(now):  # where `now` differs from the piece, a character has begun
                end = min(done + 1, len(piece))
            last_start = end
            if now.endswith("\ufffd"):  # one more byte of a character that others began
                last_start = end - 1
            start = min(start, last_start)
        offsets.append((begin + start, begin + end))
    return offsets


def common_length(text: str, other: str) -> int:
    """Returns with how many equal characters the two begin."""
    length = 0
    for character, other_character in zip(text, other, strict=False):
        if character != other_character:
            break
        length += 1
    return length


def first_mentions(spans: Sequence[Span]) -> list[Span]:
    """Returns the first span of every component that was asked about, components in the order of
    `spans`.
    """
    first: dict[int, Span] = {}
    for span in spans:
        if not span.asked:  # its credit says nothing of its words (docs/credit.md)
            continue
        earlier = first.get(span.component)
        if earlier is None or span.start < earlier.start:
            first[span.component] = span
    return list(first.values())


def phrases_of(mentions: Sequence[Span], text: str, group: int) -> list[Phrase]:
    """Returns one phrase for each of a completion's mentions."""
    ends = [match.end() for match in SENTENCE_END.finditer(text)]
    phrases = []
    for span in mentions:
        place = bisect_right(ends, span.start)  # the sentences that end before it
        phrases.append(Phrase(span.credit, span.kind, place, group))
    return phrases


def phrases_on_tokens(
    verdict: Verdict, text: str, offsets: Offsets, group: int
) -> tuple[list[list[int]], list[Phrase]] | None:
    """Returns the tokens of each mention of a completion, and its phrases; None where too few
    tokens are covered.
    """
    mentions = first_mentions(verdict.spans)
    tokens = tokens_of(mentions, offsets)
    covered: set[int] = set().union(*tokens)
    if len(covered) < MIN_COVERED_TOKENS:
        return None
    return tokens, phrases_of(mentions, text, group)


def baseline_credit(phrases: Sequence[Phrase]) -> list[float]:
    """Returns what each phrase is expected to add, judged by the other phrases of its kind, place
    and group.

    The baseline begins at the mean credit of all phrases. Then, for kind, place and group in this
    order, it gains the mean residual of the other phrases in the same cell (docs/credit.md, step
    2). The phrase itself is left out of these means, and SHRINK keeps the means of few phrases near
    0. The phrases' order does not matter, up to rounding. Filler has the baseline 0 and counts in
    no mean.
    """
    # filler is blamed for all that it costs, and says nothing of other phrases
    claims = [phrase for phrase in phrases if phrase.kind != FILLER]
    credit = np.array([phrase.credit for phrase in claims], dtype=np.float64)
    baseline = np.full(len(claims), credit.mean() if claims else 0.0)
    for key in ("kind", "place", "group"):
        # phrases with equal keys share a cell; each phrase's is a number from 0
        keys = [getattr(phrase, key) for phrase in claims]
        _, cell = np.unique(keys, return_inverse=True)
        residual = credit - baseline
        # of its cell, without the phrase itself: its own credit is what the baseline is to judge
        others_sum = np.bincount(cell, residual)[cell] - residual
        others_count = np.bincount(cell)[cell] - 1
        baseline += others_sum / (others_count + SHRINK)
    # back to all phrases: filler's stays 0
    is_claim = np.array([phrase.kind != FILLER for phrase in phrases], dtype=np.bool_)
    baselines = np.zeros(len(phrases))
    baselines[is_claim] = baseline
    return baselines.tolist()


def residual_credit(phrases: Sequence[Phrase]) -> list[float]:
    """Returns each phrase's credit less its baseline: what its words are praised or blamed for."""
    baselines = baseline_credit(phrases)
    pairs = zip(phrases, baselines, strict=True)
    return [phrase.credit - baseline for phrase, baseline in pairs]


def tokens_of(mentions: Sequence[Span], offsets: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Returns for each mention the indices of the tokens that wrote some of its characters.

    Offsets may overlap, and a special token's are empty, so that neither starts nor ends need rise.
    Their running extremes do, which lets each mention be found by bisection.
    """
    starts = [start for start, _ in offsets]
    ends = [end for _, end in offsets]
    latest_end = list(accumulate(ends, max))  # of all tokens so far
    earliest_start = list(accumulate(reversed(starts), min))  # of all tokens from here on
    earliest_start.reverse()
    tokens = []
    for span in mentions:
        first = bisect_right(latest_end, span.start)
        stop = bisect_left(earliest_start, span.end)
        overlapping = []
        for token in range(first, stop):  # tokens elsewhere do not overlap
            begin = max(starts[token], span.start)
            end = min(ends[token], span.end)
            if begin < end:
                overlapping.append(token)
        tokens.append(overlapping)
    return tokens


def on_tokens(
    values: Iterable[float], tokens: Mapping[int, Sequence[Sequence[int]]], shape: tuple[int, int]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Returns each token's credit, (B, T), and whether a phrase covers it, (B, T)
    (docs/credit.md).

    Args:
        values: one for each phrase, in the order of `tokens`. The tokens of a phrase share it
            equally, and a token of several phrases gets the sum.
        tokens: by row, the indices of the tokens of each of its phrases.
        shape: (B, T).
    """
    credit = np.zeros(shape)
    covered = np.zeros(shape, dtype=np.bool_)
    phrases: list[tuple[int, Sequence[int]]] = []
    for row, tokens_of_row in tokens.items():
        phrases += [(row, tokens_of_phrase) for tokens_of_phrase in tokens_of_row]
    for value, (row, tokens_of_phrase) in zip(values, phrases, strict=True):
        # no two of a phrase's tokens are the same, so that `+=` leaves none out
        credit[row, tokens_of_phrase] += value / max(len(tokens_of_phrase), 1)
        covered[row, tokens_of_phrase] = True
    return credit, covered


def token_credit(
    verdict: Verdict, ids: Sequence[int], tokenizer: "PreTrainedTokenizerFast | Tokenizer"
) -> list[float]:
    """Returns what each sampled token of a completion adds to the verdict's score, below 0 where it
    costs.

        sample = Sample("Describe it.", text, references=("A red circle.",))
        verdict = PoshReward("match").assess([sample])[0]
        credit = token_credit(verdict, ids, tokenizer)        # len(ids) floats
        advantages = [advantage + 0.5 * (value - fmean(credit)) / deviation for value in credit]

    This is the credit of the metric, not yet less the baseline of the batch that SpanGRPOTrainer
    takes it against (docs/credit.md; `group_advantages` in by_group.py does that for one group).
    deviation: that of the batch's credit.

    Args:
        verdict: of the completion that the ids decode to without special tokens.
        ids: the tokens as they were sampled.
        tokenizer: a fast tokenizer of transformers, as `processor.tokenizer` is, or one of
            `tokenizers`.

    Raises:
        ValueError: where the ids decode to another text than the verdict's spans lie on, or cannot
            be lined up with it.
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
    # a batch of this one completion
    mentions = first_mentions(verdict.spans)
    tokens = {0: tokens_of(mentions, offsets)}
    values = [span.credit for span in mentions]
    credit, _ = on_tokens(values, tokens, (1, len(offsets)))
    return credit[0].tolist()
