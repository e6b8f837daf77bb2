"""A rule that was measured and not kept: spans only take praise from the blamed tokens of a good
completion.

    withhold(advantages, credit, mask, 1.0)          # (B, T), from what add_centred takes

docs/evidence/credit.md has what it gave: in training nothing that add_centred does not give.
"""

from torch import Tensor

LARGEST = 0.5  # the fraction of its scalar that it may take from a token


def withhold(advantages: Tensor, credit: Tensor, mask: Tensor, coefficient: float) -> Tensor:
    """A_i (1 + m), m = clip(c z, -1/2, 0) where A_i > 0 and 0 elsewhere.

    No advantage changes its sign.
    """
    scalar = advantages.unsqueeze(1)
    return scalar * (1 + (coefficient * credit).clamp(-LARGEST, 0.0) * (scalar > 0))
