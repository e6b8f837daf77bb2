"""From spans on characters to credit on tokens, without torch. span_rules.py makes advantages of
it.

    offsets = token_offsets(tokenizer, special_ids(tokenizer), ids, text)
    # characters of each token, or None
    tokens, phrases = phrases_on_tokens(verdict, text, offsets, group)
    # first mentions, and what each adds
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

    kind: the span's. place: number of the sentence in which its first mention begins, from 0.
    group: number of the group of completions that answer the same prompt.
    """

    credit: float
    kind: str
    place: int
    group: int


def special_ids(tokenizer: Tokenizer) -> frozenset[int]:
    """Returns the ids that write nothing when special tokens are skipped."""
    return frozenset(
        id for id, token in tokenizer.get_added_tokens_decoder().items() if token.special
    )


def token_offsets(
    tokenizer: Tokenizer, special: Collection[int], ids: Sequence[int], text: str
) -> Offsets | None:
    """Returns the characters [start, end) of `text` that each token wrote. None when the ids do not
    decode to `text`.

    special: the tokenizer's `special_ids`, which write nothing (start == end). Tokens that share
    one character (an emoji of several bytes) all get that character.
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
        if piece is not None:
            if not text.startswith(piece, written):
                return None
            offsets += _group_offsets(tokenizer, special, context, group, piece, written)
            written += len(piece)
            context = group
            group = []
    return offsets + _group_offsets(tokenizer, special, context, group, text[written:], written)


def _group_offsets(
    tokenizer: Tokenizer,
    special: Collection[int],
    context: list[int],
    group: list[int],
    piece: str,
    begin: int,
) -> Offsets:
    """Offsets of the tokens that together wrote `piece`, which begins at character `begin`, after
    `context`.
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
            if count == len(group):
                now = piece
            else:
                now = tokenizer.decode([*context, *group[:count]], skip_special_tokens=True)
                now = now[before:]
            done = common_length(now, piece)
            end = done
            if done < len(now):  # where `now` differs from the piece, a character has begun
                end = min(done + 1, len(piece))
            unfinished = now.endswith("\ufffd")  # one more byte of the same character
            start = min(start, end - 1 if unfinished else end)
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
        if span.asked and (span.component not in first or span.start < first[span.component].start):
            first[span.component] = span
    return list(first.values())


def phrases_of(mentions: Sequence[Span], text: str, group: int) -> list[Phrase]:
    """Returns one phrase for each of a completion's mentions."""
    ends = [match.end() for match in SENTENCE_END.finditer(text)]
    return [
        Phrase(span.credit, span.kind, bisect_right(ends, span.start), group) for span in mentions
    ]


def phrases_on_tokens(
    verdict: Verdict, text: str, offsets: Offsets, group: int
) -> tuple[list[list[int]], list[Phrase]] | None:
    """Returns the tokens of each mention of a completion, and its phrases; None where too few
    tokens are covered.
    """
    mentions = first_mentions(verdict.spans)
    tokens = tokens_of(mentions, offsets)
    if len(set().union(*tokens)) < MIN_COVERED_TOKENS:
        return None
    return tokens, phrases_of(mentions, text, group)


def baseline_credit(phrases: Sequence[Phrase]) -> list[float]:
    """Returns what each phrase is expected to add, judged by the other phrases of its kind, place
    and group.

    The baseline begins at the mean credit of all phrases. Then, for kind, place and group in this
    order, it gains the mean residual of the other phrases in the same cell. The phrase itself is
    left out of these means, and SHRINK keeps the means of few phrases near 0. The phrases' order
    does not matter, up to rounding. Filler has the baseline 0 and counts in no mean.
    """
    claims = [phrase for phrase in phrases if phrase.kind != FILLER]
    credit = np.array([phrase.credit for phrase in claims], dtype=np.float64)
    baseline = np.full(len(claims), credit.mean() if claims else 0.0)
    for key in ("kind", "place", "group"):
        _, cell = np.unique([getattr(phrase, key) for phrase in claims], return_inverse=True)
        residual = credit - baseline
        rest_mean_sum = np.bincount(cell, residual)[cell] - residual
        baseline += rest_mean_sum / (np.bincount(cell)[cell] - 1 + SHRINK)
    is_claim = np.array([phrase.kind != FILLER for phrase in phrases], dtype=np.bool_)
    baselines = np.zeros(len(phrases))
    baselines[is_claim] = baseline
    return baselines.tolist()


def residual_credit(phrases: Sequence[Phrase]) -> list[float]:
    """Returns each phrase's credit less its baseline: what its words are praised or blamed for."""
    return [
        phrase.credit - baseline
        for phrase, baseline in zip(phrases, baseline_credit(phrases), strict=True)
    ]


def tokens_of(mentions: Sequence[Span], offsets: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Returns for each mention the indices of the tokens that wrote some of its characters."""
    latest_end = list(accumulate((end for _, end in offsets), max))  # of all tokens so far
    backwards = accumulate((start for start, _ in reversed(offsets)), min)
    earliest_start = list(backwards)[::-1]  # of all tokens from here on
    tokens = []
    for span in mentions:
        first = bisect_right(latest_end, span.start)
        stop = bisect_left(earliest_start, span.end)
        near = range(first, stop)  # tokens elsewhere do not overlap
        tokens.append(
            [i for i in near if max(offsets[i][0], span.start) < min(offsets[i][1], span.end)]
        )
    return tokens


def on_tokens(
    values: Iterable[float], tokens: Mapping[int, Sequence[Sequence[int]]], shape: tuple[int, int]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Returns each token's credit, (B, T), and whether a phrase covers it (docs/credit.md). tokens:
    of each row's phrases, which share their value equally. values: of these in the same order. A
    token of several gets the sum.
    """
    credit = np.zeros(shape)
    covered = np.zeros(shape, dtype=np.bool_)
    phrases: list[tuple[int, Sequence[int]]] = []
    for row, tokens_of_row in tokens.items():
        phrases += [(row, tokens_of_phrase) for tokens_of_phrase in tokens_of_row]
    for value, (row, tokens_of_phrase) in zip(values, phrases, strict=True):
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
    mentions = first_mentions(verdict.spans)
    tokens = {0: tokens_of(mentions, offsets)}
    values = [span.credit for span in mentions]
    credit, _ = on_tokens(values, tokens, (1, len(offsets)))
    return credit[0].tolist()
