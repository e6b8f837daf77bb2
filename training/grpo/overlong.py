"""Soft overlong punishment: a completion near the length limit loses some of its reward (DAPO, Yu
et al. 2025, arXiv 2503.14476, equation 13).

    after = punish_overlong(rewards, column, weights, size=None, group=8, normalises_columns=False)

TRL's reward function `get_soft_overlong_punishment` gives each completion a punishment p, from -1
to 0. DAPO adds p to rewards of -1 and 1. The scores of a metric may differ by only .03 within a
group. Then one p of -1 makes nearly all of the group's standard deviation. TRL divides every
advantage by that deviation, so that the differences of the other completions nearly vanish. So by
default the punishment adapts to the group's rewards. A punishment that all completions of a group
share teaches nothing. Let q be the greatest p of the group minus the completion's own p. The
reward r of the completion becomes

    r + q (floor - r),    floor = min r - FLOOR_DEPTH std(r)

A completion with q = 1 gets the lowest reward of its group, the floor. docs/trainer.md gives bounds
for how much of their differences the other completions keep.
"""

import copy
import math
from typing import Any

import torch
from torch import Tensor
from trl.rewards import get_soft_overlong_punishment

from spanreward.training.grpo.config import SpanGRPOConfig

# The floor is this share of the group's standard deviation below the lowest reward. With .04, the
# other completions of a group with one long completion keep at least 3/4 of the differences between
# their advantages. In groups of up to 8, the 3/4 are of the differences without the punishment. In
# groups of up to 16, the 3/4 are of the smaller of two differences: without the punishment, and
# without the long completion. A share of .5 would keep only .70 in a group of 8.
FLOOR_DEPTH = 0.04
# If the rewards of a group differ by less than this, the 1e-4 that TRL adds to their standard
# deviation hides the differences. Then the floor is this much below the lowest reward.
CLOSE_REWARDS = 5e-4


def with_punishment(args: SpanGRPOConfig, functions: list[Any]) -> SpanGRPOConfig:
    """Adds TRL's punishment of length to the reward functions, if soft_overlong_cache is set.
    Returns the settings, with a weight for the punishment.

    The result is a copy, so that the user's object keeps its weights. Without soft_overlong_cache,
    `args` is returned and nothing is added.

    functions: the trainer's reward functions. The punishment becomes the last function of this
    list.
    """
    cache = args.soft_overlong_cache
    if cache is None:
        return args
    longest = args.max_completion_length
    assert longest is not None  # SpanGRPOConfig checks this
    weights = args.reward_weights or [1.0] * len(functions)
    size = 1.0 if args.soft_overlong_size is None else args.soft_overlong_size
    args = copy.copy(args)
    args.reward_weights = [*weights, size]
    functions.append(get_soft_overlong_punishment(longest, cache))
    return args


def punish_overlong(
    rewards: Tensor,
    column: int,
    weights: Tensor,
    size: float | None,
    group: int,
    normalises_columns: bool,
) -> Tensor:
    """Returns the rewards, (rows, R), after the punishment. TRL then computes the weighted sum.

    Args:
        rewards: (rows, R), a column for each reward function; NaN for a missing reward.
        column: the number of the column with the punishments p, from -1 to 0.
        weights: (R,), the weight of each column.
        size: the factor of p. None: the punishment adapts to each group's rewards.
        group: the number of completions of a group. A group's rows follow each other.
        normalises_columns: True if TRL first divides each column by the column's own standard
            deviation and then adds the columns ("normalize_then_sum"). The division would make
            punishments of .01 as large as the scores of a metric. So the punishment is put into
            every other column instead, and the column of punishments becomes 0. False if TRL first
            adds the columns.
    """
    if size is None and normalises_columns:
        return _punish_each_column(rewards, column, weights, group)
    if size is None:
        return _punish_sum(rewards, column, weights, group)
    if normalises_columns:
        # add the punishment to every column, so that TRL normalises the columns with it
        punished = rewards + size * rewards[:, [column]]
        punished[:, column] = _zero_except_nan(rewards[:, column])
        return punished
    return rewards  # nothing to do: the trainer has made `size` the weight of the column


def below_group(rewards: Tensor, punishments: Tensor, group: int) -> Tensor:
    """Returns the rewards r, (rows,), after the punishment: r + q (floor - r).

    q, from 0 to 1, says how much harder a completion is punished than the completion with the
    mildest punishment of the group. Example: for the punishments 0, -.25 and -1, q is 0, .25 and 1.
    For -.5 and -.75, q is 0 and .25. So q = 0 keeps the reward, and q = 1 gives the floor.

    The floor is a little below the lowest reward of the group: by FLOOR_DEPTH standard deviations,
    or by CLOSE_REWARDS if all rewards of the group are close. A row whose reward is NaN stays NaN
    and does not count in its group.

    punishments: (rows,), from -1 (the hardest) to 0. group: the number of completions of a group.
    """
    groups = rewards.reshape(-1, group)  # (number of groups, completions of a group)
    punishments = punishments.reshape(-1, group)
    missing = groups.isnan()
    # the mildest punishment is the greatest, because punishments are below 0
    mildest = punishments.masked_fill(missing, -math.inf).amax(1, keepdim=True)
    share = mildest - punishments  # q
    # the floor; torch has no minimum and maximum that skip NaN
    lowest = groups.masked_fill(missing, math.inf).amin(1, keepdim=True)
    highest = groups.masked_fill(missing, -math.inf).amax(1, keepdim=True)
    deviations = groups - groups.nanmean(1, keepdim=True)
    variance = deviations.square().nanmean(1, keepdim=True)
    are_close = highest - lowest < CLOSE_REWARDS
    depth = torch.where(are_close, CLOSE_REWARDS, FLOOR_DEPTH * variance.sqrt())
    floor = lowest - depth
    return (groups + share * (floor - groups)).reshape(-1)


def _punish_sum(rewards: Tensor, column: int, weights: Tensor, group: int) -> Tensor:
    """Returns the rewards, (rows, R), with a new column `column`: how much the weighted sum of the
    other columns loses by the punishment (`below_group`).

    A row without a reward in any other column with a weight becomes NaN in every column. Otherwise
    the row's length alone would decide its reward.

    column: the index of the column with the punishments. weights: (R,). group: the number of
    completions of a group.
    """
    is_summed = weights != 0
    is_summed[column] = False
    other_rewards = rewards[:, is_summed]
    # sum like TRL: a missing reward adds nothing
    total = (other_rewards * weights[is_summed]).nansum(1)
    total = total.masked_fill(other_rewards.isnan().all(1), math.nan)
    # set rows without any other reward to NaN
    punished = rewards.masked_fill(total.isnan().unsqueeze(1), math.nan)
    # TRL adds the new column to `total` with the weight 1 (`with_punishment` sets it if size is
    # None), which gives the punished sum
    punished_total = below_group(total, punished[:, column], group)
    punished[:, column] = punished_total - total
    return punished


def _punish_each_column(rewards: Tensor, column: int, weights: Tensor, group: int) -> Tensor:
    """Returns the rewards, (rows, R), after each reward function's column was punished by itself.

    A punished reward lies nearer to the lowest reward of its group (`below_group`). In a column
    with a weight below 0, high rewards are bad, so that a punished reward lies nearer to the
    highest reward. Columns of weight 0 stay as they are. The column of the punishment itself
    becomes 0.

    column: the index of the column of the punishment. weights: (R,). group: the number of
    completions of a group.
    """
    punished = rewards.clone()
    for other, weight in enumerate(weights.tolist()):
        if other == column or weight == 0:
            continue
        # for a weight below 0, negate the column, so that the worst reward is the lowest
        sign = math.copysign(1.0, weight)
        lowered = below_group(sign * rewards[:, other], rewards[:, column], group)
        punished[:, other] = sign * lowered
    punished[:, column] = _zero_except_nan(rewards[:, column])
    return punished


def _zero_except_nan(values: Tensor) -> Tensor:
    """Returns 0 for each value, but NaN for NaN."""
    return 0.0 * values  # NaN times 0 is NaN
