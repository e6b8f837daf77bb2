"""How the spans' credit and a completion's scalar advantage become the advantages of its tokens.
Pure functions.

    std = credit_std(credit_moments(credit, covered))           # the moments are summed over ranks
    add_centred(advantages, scale_credit(credit, covered, std), mask, coefficient)          # (B, T)

advantages: (B,), the scalar of each completion. credit: (B, T), each token's credit less its
baseline, in standard deviations over the batch, 0 where no span is (training/grpo/credit.py). mask:
(B, T), True on the sampled tokens. coefficient: 0 or more; at 0 it is the scalar. Rows are
independent of each other, and a row without credit has its scalar on every token.
docs/evidence/credit.md has the measurements.
"""

import torch
from torch import Tensor

STD_FLOOR = 1e-4  # what TRL adds to a group's standard deviation


def add_centred(advantages: Tensor, credit: Tensor, mask: Tensor, coefficient: float) -> Tensor:
    """A_i + c (z - mean of z over the row's tokens).

    A row keeps its sum: the scalar alone says whether it was good.
    """
    return advantages.unsqueeze(1) + coefficient * centred(credit, mask)


def centred(values: Tensor, mask: Tensor) -> Tensor:
    """Values (B, T) less their row's mean over the tokens of `mask`; 0 elsewhere, and in rows
    without tokens.
    """
    kept = torch.where(mask, values, torch.zeros_like(values))
    mean = kept.sum(dim=1, keepdim=True) / mask.sum(dim=1, keepdim=True).clamp(min=1)
    return torch.where(mask, kept - mean, torch.zeros_like(values))


def credit_moments(credit: Tensor, covered: Tensor) -> Tensor:
    """Returns (sum, sum of squares, count) of the covered tokens' credit, (3,) float64, to be
    summed over ranks.
    """
    values = credit[covered].double()
    return torch.stack(
        [
            values.sum(),
            values.square().sum(),
            torch.tensor(float(values.numel()), device=values.device),
        ]
    )


def credit_std(moments: Tensor) -> float:
    """Returns the population standard deviation for summed `credit_moments`, plus STD_FLOOR."""
    total, squares, count = moments.tolist()
    if count == 0:
        return STD_FLOOR
    return max((squares / count - (total / count) ** 2), 0.0) ** 0.5 + STD_FLOOR


def scale_credit(credit: Tensor, covered: Tensor, std: float) -> Tensor:
    """Returns the credit in standard deviations on covered tokens, 0 elsewhere; all (B, T)
    (docs/credit.md).
    """
    return torch.where(covered, credit / std, torch.zeros_like(credit))
