"""Soft overlong that follows the group: the long completion is last, and the others still differ."""

from typing import Any

import pytest
import torch
from hypothesis import example, given, settings, strategies as st

from spanreward.rewards import Status, Verdict
from spanreward.training.grpo.dynamic_sampling import reward_of
from spanreward.training.grpo.overlong import CLOSE_REWARDS, below_group, punish_overlong
from tests.support.batches import batch_of
from tests.support.tiny_trainer import Scored

LONG = torch.tensor([-1.0])
SPREAD = st.floats(min_value=1e-3, max_value=1.0)
SHAPE = st.lists(st.floats(min_value=0.0, max_value=1.0), min_size=4, max_size=16)


def normalised(rewards: torch.Tensor) -> torch.Tensor:
    return (rewards - rewards.mean()) / (rewards.std() + 1e-4)


def punishments(count: int) -> torch.Tensor:
    """Of a group whose first completion is as long as can be."""
    return torch.cat([LONG, torch.zeros(count - 1)]).double()


@given(SHAPE, SPREAD)
@example([0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0], 1e-3)  # another one is far below the rest
@example([0.8, *[1.0] * 14, 0.0], 1.0)
@example([0.0, 1.0, 1.0, 1.0], 1.0)  # the long one is the worst already
@example([1.0, 0.0, 0.02, 0.01, 0.0, 0.01, 0.02, 0.0], 0.5)  # the best by far
@settings(max_examples=400)
def test_the_others_keep_three_quarters(shape: list[float], spread: float) -> None:
    """By the unit of an advantage, the group's deviation; the long completion is the first."""
    values = torch.tensor(shape, dtype=torch.float64)
    width = values.max() - values.min()
    if width < 1e-3:
        return
    rewards = values / width * spread
    after = below_group(rewards, punishments(len(rewards)), len(rewards))
    others = after[1:]
    assert torch.equal(others, rewards[1:])
    assert after[0] < rewards.min()
    unpunished = rewards.std() + 1e-4
    alone = others.std() + 1e-4
    unit = after.std() + 1e-4
    assert max(unpunished, alone) / unit >= 0.75
    assert unpunished / unit >= 0.72
    if len(rewards) <= 8:
        assert unpunished / unit >= 0.75


@given(SHAPE, SPREAD, st.floats(min_value=0.0, max_value=1.0))
def test_a_share_of_the_punishment(shape: list[float], spread: float, share: float) -> None:
    rewards = torch.tensor(shape, dtype=torch.float64) * spread
    whole = below_group(rewards, punishments(len(rewards)), len(rewards))
    part = below_group(rewards, share * punishments(len(rewards)), len(rewards))
    between = (1 - share) * rewards[0] + share * whole[0]
    assert float(part[0]) == pytest.approx(float(between), abs=1e-12)
    assert part.min() >= whole.min() - 1e-12


def test_the_numbers_of_the_issue() -> None:
    """Fixed at 1, a punishment of .6 leaves the others an eighth of their differences."""
    rewards = torch.tensor([0.5, 0.45, 0.47, 0.48, 0.5, 0.51, 0.52, 0.535])
    unit = rewards.std()
    assert float(unit) == pytest.approx(0.028, abs=1e-3)
    kept = []
    for share in (0.6, 1.0):
        punishment = share * punishments(8).float()
        followed = below_group(rewards, punishment, 8)
        fixed = rewards + punishment
        kept += [float(unit / fixed.std()), float(unit / followed.std())]
    assert kept == pytest.approx([0.13, 0.95, 0.08, 0.86], abs=0.01)
    assert float(normalised(followed)[0]) == pytest.approx(-1.25, abs=0.01)


def test_equal_rewards_leave_the_long_one_last() -> None:
    advantages = normalised(below_group(torch.full((8,), 0.5), punishments(8).float(), 8))
    assert CLOSE_REWARDS == 5e-4
    assert float(advantages[0]) == pytest.approx(-1.58, abs=0.02)
    assert advantages[1:].tolist() == pytest.approx([0.226] * 7, abs=0.01)


def test_what_a_whole_group_shares_is_no_punishment() -> None:
    rewards = torch.rand(8, generator=torch.Generator().manual_seed(0))
    assert torch.equal(below_group(rewards, LONG.expand(8), 4), rewards)
    uneven = torch.tensor([-0.75, -0.5, -0.5, -0.5])
    least = below_group(rewards[:4], uneven, 4)
    assert torch.equal(least[1:], rewards[1:4])
    lowest = rewards[:4].min() - 0.04 * rewards[:4].std(correction=0)
    assert least[0] == pytest.approx(float(rewards[0] + 0.25 * (lowest - rewards[0])))


def test_a_row_without_a_reward_is_left_out() -> None:
    rewards = torch.tensor([torch.nan, 0.4, 0.5, 0.6])
    after = below_group(rewards, torch.tensor([0.0, -1.0, -1.0, -1.0]), 4)
    assert after[0].isnan()
    assert torch.equal(after[1:], rewards[1:])  # all that count are as long
    assert below_group(torch.full((4,), torch.nan), torch.zeros(4), 4).isnan().all()


def test_the_rewards_that_are_summed_are_those_that_dynamic_sampling_compares() -> None:
    weights = {"a": 0.5, "b": 2.0, "overlong": 1.0, "watched": 0.0}
    scores = [(0.2, 0.4), (0.3, None), (None, None), (0.9, 0.1)]
    expected = []
    for first, second in scores:
        verdicts = {"a": verdict_of(first), "b": verdict_of(second), "watched": verdict_of(0.7)}
        expected.append(reward_of(verdicts, weights))
    columns = [[first or torch.nan, second or torch.nan, 0.0, 0.7] for first, second in scores]
    of_columns = torch.tensor([*weights.values()])
    rewards = punish_overlong(torch.tensor(columns), 2, of_columns, None, 4, False)
    summed = (rewards * of_columns).nansum(1).tolist()
    assert [*summed[:2], summed[3]] == pytest.approx([*expected[:2], expected[3]])
    assert expected[2] is None
    assert rewards[2].isnan().all()  # TRL gives it the advantage 0


def verdict_of(score: float | None) -> Verdict:
    return Verdict(score, Status.OK if score is not None else Status.NOT_APPLICABLE)


def test_each_reward_has_its_own_floor_where_each_is_normalised() -> None:
    columns = torch.tensor([[0.9, -5.0, -1.0], [0.5, 5.0, 0.0], [0.6, 0.0, 0.0], [0.7, 1.0, 0.0]])
    after = punish_overlong(columns, 2, torch.tensor([1.0, -1.0, 1.0]), None, 4, True)
    assert after[0, 0] < 0.5
    assert after[0, 1] > 5.0  # a reward that costs
    assert torch.equal(after[1:, :2], columns[1:, :2])
    assert after[:, 2].tolist() == [0.0] * 4
    fixed = punish_overlong(columns, 2, torch.tensor([1.0, -1.0, 1.0]), 0.5, 4, True)
    assert fixed[:, 0].tolist() == pytest.approx([0.4, 0.5, 0.6, 0.7])


TEXTS = ["A star.", "A red star.", "A blue star.", "A square and a red star."]


@pytest.mark.parametrize("aggregation", ["sum_then_normalize", "normalize_then_sum"])
def test_a_trainer_ranks_the_long_one_last(make: Any, aggregation: str) -> None:
    """The longest text has the best score. Fixed at 1, the punishment leaves the others nothing."""
    reward = Scored(lambda sample: 0.5 + len(sample.completion) / 1000)
    settings = {"multi_objective_aggregation": aggregation, "max_completion_length": 8}
    differences = []
    for size in (None, 1.0):
        trainer = make(reward, soft_overlong_cache=2, soft_overlong_size=size, **settings)
        advantages = batch_of(trainer, TEXTS * 2)["advantages"][:4]
        logged = list(trainer._logs["rewards"]["soft_overlong_punishment_reward"])
        assert advantages.argmin() == 3
        differences.append((advantages[2] - advantages[0]).item())
    assert min(logged) == (-1.0 if aggregation == "sum_then_normalize" else 0.0)
    assert differences[0] > 1.5
    assert differences[1] < 0.1
