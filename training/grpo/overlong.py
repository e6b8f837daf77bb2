"""Soft overlong: what a completion that comes near the length limit loses of its reward (DAPO, Yu
et al. 2025, arXiv 2503.14476, equation 13).

    rewards = punish_overlong(rewards, column, weights, size=None, group=8, by_itself=False)

TRL's `get_soft_overlong_punishment` gives each completion p, from -1 to 0. DAPO adds it to rewards
of -1 and 1. Beside a metric whose completions differ by .03 in a group, one p of -1 is nearly all
of the group's standard deviation, by which the advantages of all others are divided. So by default
the loss follows the group's own rewards. What a whole group shares teaches nothing, so q is the
group's max p less p, and a reward r becomes

    r + q (floor - r),    floor = min r - FLOOR_DEPTH std(r)

A completion with q = 1 is last in its group, and no reward is below the floor. docs/trainer.md says
how much of their differences the others keep.
"""

import math

import torch
from torch import Tensor

# Of a group's standard deviation. Beside one long completion the others keep 3/4 of their
# differences: in groups of up to 8 of those that they have where it is not punished, in groups of
# up to 16 of the smaller of these and of those that they have without it. Half a deviation would
# leave .70 in a group of 8.
FLOOR_DEPTH = 0.04
# Rewards of a group that differ by less tell little beside the 1e-4 that TRL adds to their
# standard deviation. There the long completion falls this much below the others.
CLOSE_REWARDS = 5e-4


def punish_overlong(
    rewards: Tensor,
    column: int,
    weights: Tensor,
    size: float | None,
    group: int,
    by_itself: bool,
) -> Tensor:
    """Returns the rewards, (rows, R), after the punishment, in the form that TRL sums.

    Args:
        rewards: NaN for none.
        column: the one that has p, from -1 to 0.
        weights: (R,), of the columns.
        size: of the punishment. None follows each group's own rewards.
        group: completions of a group, which are neighbours.
        by_itself: whether TRL normalises each column before it sums them ("normalize_then_sum").
            Then a punishment of .01 alone would move the policy as far as a metric does, so it is
            taken off each other column, and its own is 0.
    """
    if size is None and by_itself:
        return _from_each(rewards, column, weights, group)
    if size is None:
        return _from_sum(rewards, column, weights, group)
    if by_itself:
        # of every column, so that each is normalised with its part of the punishment
        punished = rewards + size * rewards[:, [column]]
        return _zero_column(punished, rewards, column)
    return rewards  # the column's weight is the size


def below_group(rewards: Tensor, punishments: Tensor, group: int) -> Tensor:
    """Returns the rewards, (rows,), each moved towards the floor of its group by its share q.

    punishments: (rows,), p. A row whose reward is NaN is left out of its group and stays NaN.
    """
    rows = rewards.reshape(-1, group)  # (groups, group)
    punishments = punishments.reshape(-1, group)
    absent = rows.isnan()
    # q: what a completion loses beyond the least punished one of its group
    least = punishments.masked_fill(absent, -math.inf).amax(1, keepdim=True)
    share = least - punishments
    # the floor, below the group's lowest reward; torch has no minimum that skips NaN
    lowest = rows.masked_fill(absent, math.inf).amin(1, keepdim=True)
    highest = rows.masked_fill(absent, -math.inf).amax(1, keepdim=True)
    deviations = rows - rows.nanmean(1, keepdim=True)
    variance = deviations.square().nanmean(1, keepdim=True)
    close = highest - lowest < CLOSE_REWARDS
    step = torch.where(close, CLOSE_REWARDS, FLOOR_DEPTH * variance.sqrt())
    floor = lowest - step
    return (rows + share * (floor - rows)).reshape(-1)


def _from_sum(rewards: Tensor, column: int, weights: Tensor, group: int) -> Tensor:
    """Puts into the column what the weighted sum of the others loses, (rows, R). A row that no
    other column with a weight scores is NaN in every column.
    """
    counts = weights != 0
    counts[column] = False
    other_rewards = rewards[:, counts]
    # as TRL sums them: a reward that is not there adds nothing
    total = (other_rewards * weights[counts]).nansum(1)
    total = total.masked_fill(other_rewards.isnan().all(1), math.nan)
    # without a reward of its own a row would be scored by its length alone
    punished = rewards.masked_fill(total.isnan().unsqueeze(1), math.nan)
    # TRL adds this column to the others, and so arrives at the punished sum
    punished[:, column] = below_group(total, punished[:, column], group) - total
    return punished


def _from_each(rewards: Tensor, column: int, weights: Tensor, group: int) -> Tensor:
    """Moves each other column with a weight towards its own floor, which with a weight below 0 is a
    ceiling.
    """
    punished = rewards.clone()
    for other, weight in enumerate(weights.tolist()):
        if other == column or weight == 0:
            continue
        # turned round for a weight below 0, a high reward counts as a low one
        sign = math.copysign(1.0, weight)
        lowered = below_group(sign * rewards[:, other], rewards[:, column], group)
        punished[:, other] = sign * lowered
    return _zero_column(punished, rewards, column)


def _zero_column(punished: Tensor, rewards: Tensor, column: int) -> Tensor:
    """Sets the column to 0, but in rows that are left out, whose NaN stays."""
    punished[:, column] = 0.0 * rewards[:, column]  # NaN times 0 is NaN
    return punished
