"""How the spans' credit and a completion's scalar advantage become the advantages of its tokens.
Pure functions, of torch tensors in SpanGRPOTrainer and of numpy arrays in `group_advantages`: they
use only what both have, and import neither.

    std = credit_std(credit_moments(credit, covered))           # the moments are summed over ranks
    add_centred(advantages, scale_credit(credit, covered, std), mask, coefficient)          # (B, T)

advantages: (B,), the scalar of each completion. credit: (B, T), each token's credit less its
baseline, in standard deviations over the batch, 0 where no span is (training/grpo/credit.py). mask:
(B, T), True on the sampled tokens. coefficient: 0 or more; at 0 it is the scalar. Rows are
independent of each other, and a row without credit has its scalar on every token.
docs/evidence/credit.md has the measurements.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

Array = TypeVar("Array", "Tensor", "NDArray[Any]")

STD_FLOOR = 1e-4  # what TRL adds to a group's standard deviation


def add_centred(advantages: Array, credit: Array, mask: Array, coefficient: float) -> Array:
    """Returns A_i + c (z - mean of z over the row's tokens), (B, T) (docs/credit.md, step 3).

    A row keeps its mean: the scalar alone says whether it was good.

    advantages: (B,). credit: (B, T), z. mask: (B, T), the sampled tokens. coefficient: c.
    """
    return advantages[:, None] + coefficient * centred(credit, mask)


def centred(values: Array, mask: Array) -> Array:
    """Values (B, T), finite, less their row's mean over the tokens of `mask`; 0 elsewhere, and in
    rows without tokens.
    """
    masked = values * mask
    mean = masked.sum(1) / mask.sum(1).clip(1)  # 0 in a row without tokens
    return (masked - mean[:, None]) * mask


def credit_moments(credit: Array, covered: Array) -> tuple[Array, Array, Array]:
    """Returns (sum, sum of squares, count) of the covered tokens' credit, each without dimensions.

    Sums can be added over ranks, whereas standard deviations cannot.
    """
    values = credit[covered]
    return values.sum(), (values * values).sum(), covered.sum()


def credit_std(moments: Iterable[float]) -> float:
    """Returns the population standard deviation for summed `credit_moments`, plus STD_FLOOR."""
    total, squares, count = moments
    if count == 0:  # no span in the whole batch
        return STD_FLOOR
    variance = squares / count - (total / count) ** 2
    # equal values may have one just below 0, by rounding
    return max(variance, 0.0) ** 0.5 + STD_FLOOR


def scale_credit(credit: Array, covered: Array, std: float) -> Array:
    """Returns the credit in standard deviations on covered tokens, 0 elsewhere; all (B, T)
    (docs/credit.md).
    """
    return credit / std * covered
