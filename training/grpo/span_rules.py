"""Adds span credit to the scalar advantages of completions, which gives advantages of tokens.

    std = credit_std(credit_moments(credit, covered))
    add_centred(advantages, scale_credit(credit, covered, std), mask, coefficient)          # (B, T)

The arguments in this module, for B completions of at most T tokens:

- advantages: (B,), the scalar advantage of each completion.
- credit: (B, T), each token's credit less its baseline; 0 on tokens without a span
  (training/grpo/credit.py).
- covered: (B, T), True on the tokens of a span.
- mask: (B, T), True on the sampled tokens.
- coefficient: `span_coef`, 0 or more. With 0 every token gets the scalar advantage of its row.

A row without credit has its scalar advantage on every token. No row influences another row, apart
from std. The trainer sums the moments over all ranks before it computes std. SpanGRPOTrainer calls
these functions with torch tensors, and `group_advantages` calls them with numpy arrays. So they use
only methods that tensors and arrays share. docs/evidence/credit.md has measurements.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

Array = TypeVar("Array", "Tensor", "NDArray[Any]")

STD_FLOOR = 1e-4  # TRL adds the same number to a group's standard deviation


def add_centred(advantages: Array, credit: Array, mask: Array, coefficient: float) -> Array:
    """Returns the advantages of the tokens, (B, T): A + c (z - mean of z over the row's tokens).

    The mean over the tokens of a row stays A (docs/credit.md, step 3).

    advantages: (B,), A. credit: (B, T), z in standard deviations. mask: (B, T), True on the sampled
    tokens. coefficient: c.
    """
    return advantages[:, None] + coefficient * centred_values(credit, mask)


def centred_values(values: Array, mask: Array) -> Array:
    """Returns the values, (B, T), less the mean of their row over the tokens of `mask`.

    The result is 0 outside `mask`. values: (B, T), finite.
    """
    masked = values * mask
    mean = masked.sum(1) / mask.sum(1).clip(1)  # the mean of a row without tokens is 0
    return (masked - mean[:, None]) * mask


def credit_moments(credit: Array, covered: Array) -> tuple[Array, Array, Array]:
    """Returns the sum, the sum of squares, and the count of the covered tokens' credit.

    Each result is a scalar array. The results of several ranks can be added, whereas standard
    deviations cannot.
    """
    values = credit[covered]
    return values.sum(), (values * values).sum(), covered.sum()


def credit_std(moments: Iterable[float]) -> float:
    """Returns the population standard deviation of the credit, plus STD_FLOOR.

    moments: the results of `credit_moments`, summed over all ranks.
    """
    total, squares, count = moments
    if count == 0:  # the whole batch has no span
        return STD_FLOOR
    variance = squares / count - (total / count) ** 2
    # for equal values, rounding may give a variance just below 0
    return max(variance, 0.0) ** 0.5 + STD_FLOOR


def scale_credit(credit: Array, covered: Array, std: float) -> Array:
    """Returns the credit divided by `std` on covered tokens, and 0 on other tokens; (B, T)."""
    return credit / std * covered
