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
    stream = DecodeStream(skip_special_tokens=True)
    offsets: list[tuple[int, int]] = []
    written, waiting = "", 0  # waiting: tokens whose bytes do not make a character yet
    for token in ids:
        piece = stream.step(tokenizer, token)
        if piece is None:
            offsets.append((len(written), len(written)))
            waiting += not_special(tokenizer, token)
            continue
        start, end = len(written), len(written) + len(piece)
        written += piece
        for back in range(len(offsets) - 1, -1, -1):
            if waiting == 0:
                break
            if not_special(tokenizer, ids[back]):
                offsets[back] = (start, end)
                waiting -= 1
        offsets.append((start, end))
    rest = text[len(written) :]
    complete = text.startswith(written) and set(rest) <= {"\ufffd"}  # a character cut off by the length limit
    return offsets if complete else None


def not_special(tokenizer: Tokenizer, token: int) -> bool:
    added = tokenizer.get_added_tokens_decoder().get(token)
    return added is None or not added.special


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
        tokens = [i for i, (start, end) in enumerate(offsets) if start < span.end and span.start < end]
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
