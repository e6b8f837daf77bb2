"""From spans on characters to advantages on tokens. Pure functions; the trainer only adds the ranks.

    special = special_ids(tokenizer)                       # once: some tokenizers have thousands of added tokens
    offsets = token_offsets(tokenizer, special, ids, text) # characters each sampled token wrote, or None
    mentions = first_mentions(spans)
    tokens = tokens_of(mentions, offsets)                  # those that wrote each mention
    phrases = phrases_of(mentions, text, group)            # per completion: what each phrase added to the score
    residuals = residual_credit(phrases_of_all_completions)   # less what phrases of its kind, place and picture add
    credit, covered = token_credit(residuals, tokens, count)  # those of one completion
    z = scale_credit(credit, covered, std)                 # of which span_rules.py makes advantages

A phrase is praised or blamed for what it adds beyond its baseline: that alone tells its words from others that could
have stood there. Credit as it is would also say whether to write on at all, which the completion's own advantage says
already, and where most phrases are wrong it would push probability away in every direction (docs/credit.md). Filler
(rewards/filler.py) has no baseline and is blamed for all that it costs, also where every completion is padded.

Offsets come from decoding the sampled ids one by one: the text is never tokenised again, because merges, emoji and CJK
would drift.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import torch
from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream

from rewards.filler import FILLER
from rewards.verdict import Span

MIN_COVERED_TOKENS = 2  # a row with fewer has nothing to tell its tokens apart
STD_FLOOR = 1e-4  # the same floor TRL adds to a group's standard deviation
SHRINK = 4  # a mean of others counts as if so many more phrases with a residual of 0 had been among them
SENTENCE_END = re.compile(r"[.!?\n]+")


@dataclass(frozen=True, slots=True)
class Phrase:
    """What one component of a verdict adds to the score, and what it may be compared with.

    kind: the span's. place: the number of the sentence in which its first mention begins, from 0. group: of the
    completions that answer one prompt.
    """

    credit: float
    kind: str
    place: int
    group: int


def special_ids(tokenizer: Tokenizer) -> frozenset[int]:
    """The ids that write nothing when special tokens are skipped."""
    return frozenset(id for id, token in tokenizer.get_added_tokens_decoder().items() if token.special)


def token_offsets(
    tokenizer: Tokenizer, special: Collection[int], ids: Sequence[int], text: str
) -> list[tuple[int, int]] | None:
    """Characters [start, end) of `text` that each token wrote; special tokens wrote none (start == end).

    special: the tokenizer's `special_ids`. Tokens that share one character (an emoji of several bytes) all get that
    character. None when the ids do not decode to `text`.
    """
    if tokenizer.decode(ids, skip_special_tokens=True) != text:
        return None
    stream = DecodeStream(skip_special_tokens=True)
    offsets: list[tuple[int, int]] = []
    written = 0
    context: list[int] = []  # the tokens that wrote last: some decoders treat the first token of a text differently
    group: list[int] = []  # tokens since then; more than one when bytes did not make a character yet
    for token in ids:
        group.append(token)
        try:
            piece = stream.step(tokenizer, token)
        except Exception:  # DecodeStream has no narrower one: this token changed characters that were already written
            return None
        if piece is not None:
            if not text.startswith(piece, written):
                return None
            offsets += group_offsets(tokenizer, special, context, group, piece, written)
            written += len(piece)
            context, group = group, []
    return offsets + group_offsets(tokenizer, special, context, group, text[written:], written)


def group_offsets(
    tokenizer: Tokenizer, special: Collection[int], context: list[int], group: list[int], piece: str, begin: int
) -> list[tuple[int, int]]:
    """Offsets of tokens that together wrote `piece`, which begins at character `begin`; `context` came before them."""
    if len(group) == 1:
        return [(begin, begin + len(piece))]
    before = len(tokenizer.decode(context, skip_special_tokens=True))
    offsets = []
    done = 0  # characters of the piece that are finished
    for count, token in enumerate(group, start=1):
        start, end = done, done
        if token not in special:
            now = piece
            if count < len(group):
                now = tokenizer.decode([*context, *group[:count]], skip_special_tokens=True)[before:]
            done = common_length(now, piece)
            end = min(done + (done < len(now)), len(piece))  # what differs from the piece is a character begun
            start = min(start, end - now.endswith("\ufffd"))  # one more byte of the same character
        offsets.append((begin + start, begin + end))
    return offsets


def common_length(a: str, b: str) -> int:
    """How many characters two texts have in common before they differ."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def first_mentions(spans: Sequence[Span]) -> list[Span]:
    """The first span of every component that was asked about, in the order in which `spans` has the components."""
    first: dict[int, Span] = {}
    for span in spans:
        if not span.asked:
            continue
        if span.component not in first or span.start < first[span.component].start:
            first[span.component] = span
    return list(first.values())


def phrases_of(mentions: Sequence[Span], text: str, group: int) -> list[Phrase]:
    """The phrases of one completion, as many as it has `mentions`."""
    ends = [match.end() for match in SENTENCE_END.finditer(text)]
    return [Phrase(span.credit, span.kind, bisect_right(ends, span.start), group) for span in mentions]


def baseline_credit(phrases: Sequence[Phrase]) -> list[float]:
    """What each phrase would be expected to add, judged by the others of its kind, of its place and of its group.

    From the mean of all, three steps: to a phrase's expectation the mean of what the other phrases of its kind add
    beyond theirs, then of its place, then of its group. The phrase itself is left out of every such mean, and SHRINK
    keeps the means of few near 0. Independent of the order of the phrases, up to rounding. Of filler
    nothing is expected, and it tells nothing of other phrases.
    """
    baselines = iter(_baselines([phrase for phrase in phrases if phrase.kind != FILLER]))
    return [0.0 if phrase.kind == FILLER else next(baselines) for phrase in phrases]


def residual_credit(phrases: Sequence[Phrase]) -> list[float]:
    """Each phrase's credit less its baseline: what its words are praised or blamed for."""
    return [phrase.credit - baseline for phrase, baseline in zip(phrases, baseline_credit(phrases), strict=True)]


def _baselines(phrases: Sequence[Phrase]) -> list[float]:
    credit = np.array([phrase.credit for phrase in phrases], dtype=np.float64)
    baseline = np.full(len(phrases), credit.mean() if len(phrases) else 0.0)
    keys: list[list[Hashable]] = [
        [phrase.kind for phrase in phrases],
        [phrase.place for phrase in phrases],
        [phrase.group for phrase in phrases],
    ]
    for key in keys:
        number = {value: index for index, value in enumerate(dict.fromkeys(key))}
        cell = np.array([number[value] for value in key], dtype=np.int64)
        residual = credit - baseline
        others = np.bincount(cell, residual)[cell] - residual
        baseline += others / (np.bincount(cell)[cell] - 1 + SHRINK)
    return [float(value) for value in baseline]


def tokens_of(mentions: Sequence[Span], offsets: Sequence[tuple[int, int]]) -> list[list[int]]:
    """For each mention, the tokens that wrote some of its characters; those that wrote nothing are in none."""
    ended = list(accumulate((end for _, end in offsets), max))
    begun = list(accumulate((start for start, _ in reversed(offsets)), min))[::-1]
    tokens = []
    for span in mentions:
        near = range(bisect_right(ended, span.start), bisect_left(begun, span.end))  # tokens elsewhere do not overlap
        tokens.append([i for i in near if max(offsets[i][0], span.start) < min(offsets[i][1], span.end)])
    return tokens


def token_credit(
    values: Sequence[float], tokens: Sequence[Sequence[int]], count: int
) -> tuple[list[float], list[bool]]:
    """Credit of each of `count` tokens and whether a phrase covers it.

    A phrase's value is shared equally by its tokens; a token of several phrases holds the sum (docs/credit.md).
    """
    credit = [0.0] * count
    covered = [False] * count
    for value, of_phrase in zip(values, tokens, strict=True):
        for i in of_phrase:
            credit[i] += value / len(of_phrase)
            covered[i] = True
    return credit, covered


def credit_moments(credit: torch.Tensor, covered: torch.Tensor) -> torch.Tensor:
    """(sum, sum of squares, count) of the covered tokens' credit, shape (3,), float64: what ranks add up."""
    values = credit[covered].double()
    return torch.stack([values.sum(), values.square().sum(), torch.tensor(float(values.numel()), device=values.device)])


def credit_std(moments: torch.Tensor) -> float:
    """Population standard deviation from summed `credit_moments`; STD_FLOOR at least."""
    total, squares, count = moments.tolist()
    if count == 0:
        return STD_FLOOR
    return max((squares / count - (total / count) ** 2), 0.0) ** 0.5 + STD_FLOOR


def scale_credit(credit: torch.Tensor, covered: torch.Tensor, std: float) -> torch.Tensor:
    """Credit in standard deviations on covered tokens, 0 elsewhere; all (B, T) (docs/credit.md)."""
    return torch.where(covered, credit / std, torch.zeros_like(credit))
