"""What every rule promises, over random batches; and each by hand."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, strategies as st
from torch import Tensor

from spanreward.training.grpo.config import SpanGRPOConfig
from spanreward.training.grpo.span_rules import SPAN_RULES, add_centred, centred, withhold

ADVANTAGES = torch.tensor([2.0, -1.0])
CREDIT = torch.tensor([[1.0, 0.0, -3.0, 9.0], [-1.0, 1.0, 0.0, 0.0]])  # the first row's last token is padding
MASK = torch.tensor([[True, True, True, False], [True, True, False, False]])

every_rule = pytest.mark.parametrize("rule", SPAN_RULES.values(), ids=SPAN_RULES)
Rule = Callable[[Tensor, Tensor, Tensor, float], Tensor]


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
    def rows(rule: Rule, coefficient: float) -> list[list[float]]:
        found = rule(ADVANTAGES, CREDIT, MASK, coefficient)
        return [row[mask].tolist() for row, mask in zip(found, MASK, strict=True)]

    third = 2 / 3
    assert rows(add_centred, 0.5)[0] == pytest.approx([2 + 0.5 * (1 + third), 2 + 0.5 * third, 2 + 0.5 * (third - 3)])
    assert rows(withhold, 0.25) == [[2.0, 2.0, 1.0], [-1.0, -1.0]]


@every_rule
@given(batch=batches())
def test_the_scalar_at_coefficient_0_and_without_credit(rule: Rule, batch: Drawn) -> None:
    advantages, credit, mask, coefficient = batch
    scalar = advantages.unsqueeze(1).expand(credit.shape)
    assert torch.equal(rule(advantages, credit, mask, 0.0), scalar)
    assert torch.equal(rule(advantages, torch.zeros_like(credit), mask, coefficient), scalar)


@every_rule
@given(batch=batches())
def test_rows_are_independent_and_finite(rule: Rule, batch: Drawn) -> None:
    advantages, credit, mask, coefficient = batch
    found = rule(*batch)
    assert found.shape == credit.shape
    assert torch.isfinite(found).all()
    order = torch.arange(len(advantages) - 1, -1, -1)
    assert torch.equal(rule(advantages[order], credit[order], mask[order], coefficient), found[order])


@given(batch=batches())
def test_a_row_adds_up_to_the_scalars(batch: Drawn) -> None:
    advantages, _, mask, _ = batch
    sums = torch.where(mask, add_centred(*batch), torch.zeros_like(batch[1])).sum(dim=1)
    torch.testing.assert_close(sums, advantages * mask.sum(dim=1), rtol=1e-4, atol=1e-3)


@given(batch=batches(), level=st.floats(-3, 3, width=32))
def test_credit_that_is_the_same_on_all_tokens_changes_nothing(batch: Drawn, level: float) -> None:
    advantages, credit, mask, coefficient = batch
    found = add_centred(advantages, torch.full_like(credit, level) * mask, mask, coefficient)
    torch.testing.assert_close(found, advantages.unsqueeze(1).expand(credit.shape), rtol=1e-4, atol=1e-4)


@given(batch=batches())
def test_withhold_takes_only_praise_and_only_some(batch: Drawn) -> None:
    found, scalar = withhold(*batch), batch[0].unsqueeze(1).expand(batch[1].shape)
    assert (found <= scalar + 1e-6).all()
    assert (found * scalar >= 0).all()  # no push is turned round
    assert (found.abs() >= scalar.abs() / 2 - 1e-6).all()
    assert torch.equal(found[batch[0] <= 0], scalar[batch[0] <= 0])


def test_the_centre_of_an_empty_row_is_0() -> None:
    assert centred(CREDIT, torch.zeros_like(MASK)).tolist() == [[0.0] * 4] * 2


def test_an_unknown_rule_is_named(tmp_path: object) -> None:
    with pytest.raises(ValueError, match="unknown span_rule 'add_centered': did you mean 'add_centred'"):
        SpanGRPOConfig(str(tmp_path), span_rule="add_centered", bf16=False, use_cpu=True)
