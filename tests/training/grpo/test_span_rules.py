"""What the rule promises, over random batches; and by hand."""

import pytest
import torch
from hypothesis import given, strategies as st
from torch import Tensor

from spanreward.training.grpo.span_rules import add_centred, centred

ADVANTAGES = torch.tensor([2.0, -1.0])
# the first row's last token is padding
CREDIT = torch.tensor([[1.0, 0.0, -3.0, 9.0], [-1.0, 1.0, 0.0, 0.0]])
MASK = torch.tensor([[True, True, True, False], [True, True, False, False]])

Drawn = tuple[Tensor, Tensor, Tensor, float]


@st.composite
def batches(draw: st.DrawFn) -> tuple[Tensor, Tensor, Tensor, float]:
    rows, width = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    numbers = st.floats(-5, 5, width=32)
    advantages = torch.tensor([draw(numbers) for _ in range(rows)])
    lengths = torch.tensor([draw(st.integers(0, width)) for _ in range(rows)])
    mask = torch.arange(width).unsqueeze(0) < lengths.unsqueeze(1)
    credit = torch.tensor([[draw(numbers) for _ in range(width)] for _ in range(rows)]) * mask
    return advantages, credit, mask, draw(st.floats(0, 2, width=32))


def test_by_hand() -> None:
    first, second = add_centred(ADVANTAGES, CREDIT, MASK, 0.5).tolist()
    third = 2 / 3
    expected = [2 + 0.5 * (1 + third), 2 + 0.5 * third, 2 + 0.5 * (third - 3)]
    assert first[:3] == pytest.approx(expected)
    assert second[:2] == [-1.5, -0.5]


@given(batch=batches())
def test_the_scalar_at_coefficient_0_and_without_credit(batch: Drawn) -> None:
    advantages, credit, mask, coefficient = batch
    scalar = advantages.unsqueeze(1).expand(credit.shape)
    assert torch.equal(add_centred(advantages, credit, mask, 0.0), scalar)
    assert torch.equal(add_centred(advantages, torch.zeros_like(credit), mask, coefficient), scalar)


@given(batch=batches())
def test_rows_are_independent_and_finite(batch: Drawn) -> None:
    advantages, credit, mask, coefficient = batch
    found = add_centred(*batch)
    assert found.shape == credit.shape
    assert torch.isfinite(found).all()
    back = [part.flip(0) for part in (advantages, credit, mask)]
    assert torch.equal(add_centred(*back, coefficient), found.flip(0))


@given(batch=batches())
def test_a_row_adds_up_to_the_scalars(batch: Drawn) -> None:
    advantages, _, mask, _ = batch
    sums = torch.where(mask, add_centred(*batch), torch.zeros_like(batch[1])).sum(dim=1)
    torch.testing.assert_close(sums, advantages * mask.sum(dim=1), rtol=1e-4, atol=1e-3)


@given(batch=batches(), level=st.floats(-3, 3, width=32))
def test_credit_that_is_the_same_on_all_tokens_changes_nothing(batch: Drawn, level: float) -> None:
    advantages, credit, mask, coefficient = batch
    found = add_centred(advantages, torch.full_like(credit, level) * mask, mask, coefficient)
    scalar = advantages.unsqueeze(1).expand(credit.shape)
    torch.testing.assert_close(found, scalar, rtol=1e-4, atol=1e-4)


def test_the_centre_of_an_empty_row_is_0() -> None:
    assert centred(CREDIT, torch.zeros_like(MASK)).tolist() == [[0.0] * 4] * 2
