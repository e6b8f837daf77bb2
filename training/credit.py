"""From spans on characters to advantages on tokens. Pure functions; the trainer only adds the ranks.

    offsets = token_offsets(tokenizer, ids, text)          # characters each sampled token wrote, or None
    credit, covered = token_credit(spans, offsets)         # what each token added to the verdict's score
    advantages = advantages.unsqueeze(1) + span_coef * scale_credit(credit, covered, std)

Offsets come from decoding the sampled ids one by one: the text is never tokenised again, because merges, emoji and CJK
would drift.
"""

from collections.abc import Sequence

import torch
from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream

from rewards.verdict import Span

MIN_COVERED_TOKENS = 2  # a row with fewer has nothing to tell its tokens apart
STD_FLOOR = 1e-4  # the same floor TRL adds to a group's standard deviation


def token_offsets(tokenizer: Tokenizer, ids: Sequence[int], text: str) -> list[tuple[int, int]] | None:
    """Characters [start, end) of `text` that each token wrote; special tokens wrote none (start == end).

    Tokens that share one character (an emoji of several bytes) all get that character. None when the ids do not decode
    to `text`.
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
            offsets += group_offsets(tokenizer, context, group, piece, written)
            written += len(piece)
            context, group = group, []
    return offsets + group_offsets(tokenizer, context, group, text[written:], written)


def group_offsets(
    tokenizer: Tokenizer, context: list[int], group: list[int], piece: str, begin: int
) -> list[tuple[int, int]]:
    """Offsets of tokens that together wrote `piece`, which begins at character `begin`; `context` came before them."""
    if len(group) == 1:
        return [(begin, begin + len(piece))]
    before = tokenizer.decode(context, skip_special_tokens=True)
    offsets = []
    done = 0  # characters of the piece that are finished
    for count, token in enumerate(group, start=1):
        start, end = done, done
        if tokenizer.decode([*context, token], skip_special_tokens=True) != before:  # else special: it wrote nothing
            now = tokenizer.decode([*context, *group[:count]], skip_special_tokens=True)[len(before) :]
            done = common_length(now, piece)
            end = min(done + (done < len(now)), len(piece))  # what differs from the piece is a character begun
            start = min(start, end - now.endswith("\ufffd"))  # one more byte of the same character
        offsets.append((begin + start, begin + end))
    return offsets


def common_length(a: str, b: str) -> int:
    """How many characters two texts have in common before they differ."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def token_credit(spans: Sequence[Span], offsets: Sequence[tuple[int, int]]) -> tuple[list[float], list[bool]]:
    """Credit of each token and whether a span covers it, both of length len(offsets).

    A component's credit is shared equally by the tokens of its first mention (its first span); a token may be covered
    by several components and then holds the sum (DESIGN section 5).
    """
    credit = [0.0] * len(offsets)
    covered = [False] * len(offsets)
    first: dict[int, Span] = {}
    for span in spans:
        if span.component not in first or span.start < first[span.component].start:
            first[span.component] = span
    for span in first.values():
        tokens = [i for i, (start, end) in enumerate(offsets) if max(start, span.start) < min(end, span.end)]
        for i in tokens:
            credit[i] += span.credit / len(tokens)
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
    """Credit in standard deviations on covered tokens, 0 elsewhere; all (B, T) (DESIGN section 5)."""
    return torch.where(covered, credit / std, torch.zeros_like(credit))
