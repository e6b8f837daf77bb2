"""How the spans' credit and the scalar advantage of a completion become the advantages of its tokens. Pure functions.

    rule = SPAN_RULES["keep_sign"]
    rule(advantages, credit, mask, coefficient)          # (B, T)

Every rule takes `advantages` (B,), the scalar of each completion; `credit` (B, T), that of its tokens less what was to
be expected, in standard deviations over the batch, 0 where no span is (training/grpo/credit.py); `mask` (B, T), True on
the tokens that were sampled; and a coefficient from 0 up, at which every rule gives the scalar. Rows are independent of
each other, and a row without credit has its scalar on every token. docs/credit.md says what was measured.
"""

from collections.abc import Callable

import torch
from torch import Tensor

LARGEST = 0.5  # share of the scalar that a token may have more or less of under keep_sign and withhold


def add(advantages: Tensor, credit: Tensor, mask: Tensor, coefficient: float) -> Tensor:
    """A_i + c z. The credit may outweigh the scalar, and turn it round."""
    return advantages.unsqueeze(1) + coefficient * credit


def add_centred(advantages: Tensor, credit: Tensor, mask: Tensor, coefficient: float) -> Tensor:
    """A_i + c (z - mean of z over the row's tokens): a row's advantages go on adding up to what the scalar gives it."""
    return advantages.unsqueeze(1) + coefficient * centred(credit, mask)


def keep_sign(advantages: Tensor, credit: Tensor, mask: Tensor, coefficient: float) -> Tensor:
    """A_i (1 + m), m = clip(c sign(A_i) z, -1/2, 1/2) less its mean over the row's tokens.

    No push is turned round, as |m| <= 1, and a row's advantages add up to the scalar's: credit says which tokens move
    more, the scalar alone whether they are pushed up or down.
    """
    scalar = advantages.unsqueeze(1)
    change = (coefficient * scalar.sign() * credit).clamp(-LARGEST, LARGEST)
    return scalar * (1 + centred(change, mask))


def withhold(advantages: Tensor, credit: Tensor, mask: Tensor, coefficient: float) -> Tensor:
    """A_i (1 + m), m = clip(c z, -1/2, 0) where A_i > 0 and 0 elsewhere: a good completion's blamed tokens are praised
    less, and nothing else changes.
    """
    scalar = advantages.unsqueeze(1)
    return scalar * (1 + (coefficient * credit).clamp(-LARGEST, 0.0) * (scalar > 0))


def less_what_was_said(advantages: Tensor, credit: Tensor, mask: Tensor, coefficient: float) -> Tensor:
    """A_i - c (the sum of z over the row's earlier tokens): a token is not praised for what was said before it.

    What is taken away is known before the token is written, so that the expected gradient is the scalar's as far as a
    phrase's credit does not depend on what follows it (a control variate).
    """
    return advantages.unsqueeze(1) - coefficient * (credit.cumsum(dim=1) - credit)


def centred(values: Tensor, mask: Tensor) -> Tensor:
    """Values (B, T) less their row's mean over the tokens of `mask`; 0 elsewhere, and in rows without tokens."""
    kept = torch.where(mask, values, torch.zeros_like(values))
    mean = kept.sum(dim=1, keepdim=True) / mask.sum(dim=1, keepdim=True).clamp(min=1)
    return torch.where(mask, kept - mean, torch.zeros_like(values))


SPAN_RULES: dict[str, Callable[[Tensor, Tensor, Tensor, float], Tensor]] = {
    rule.__name__: rule for rule in (add, add_centred, keep_sign, withhold, less_what_was_said)
}
