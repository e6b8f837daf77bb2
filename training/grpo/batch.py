"""Batch: the data that SpanGRPOTrainer collects about the completions of one step."""

from dataclasses import dataclass, field
from typing import Any

import torch

from spanreward.training.grpo.credit import TokenOffsets
from spanreward.training.grpo.dynamic_sampling import Rollout
from spanreward.training.grpo.reasoning import Parts


@dataclass(slots=True)
class Batch:
    """This rank's completions of the current step. The trainer fills in the fields in turn.

    B is the number of this rank's completions, and R the number of reward functions.

    Args:
        rows: the dataset's row of each completion.
        marks: a number for each row; equal rows have equal numbers (`mark_of` in ranks/groups.py).
        drafting: True while dynamic sampling only samples and judges completions. The trainer then
            throws away TRL's other results.
        drafted: the rollouts of an earlier draft, which TRL now scores; None without a draft.
        ids: the token ids of each completion, as sampled.
        logprobs: the sampler's log-probability of each id; None if the sampler gives none.
        parts: for each completion the part that is judged, such as the answer after the reasoning.
            None if every completion is judged as a whole.
        failed: for each completion whether a judge failed on it.
        offsets: by row, the characters [start, end) of each sampled token. Only rows that can have
            span credit are present.
        pictured: the numbers of the rows whose completion has a token that stands for a picture.
        too_large: (B,), bool, True for a row with a reward that is infinite or huge.
        rewards: (B, R), the rewards that TRL sums; NaN for a missing reward.
    """

    rows: list[dict[str, Any]]
    marks: list[int] = field(default_factory=list)
    drafting: bool = False
    drafted: list[Rollout] | None = None
    ids: list[list[int]] = field(default_factory=list)
    logprobs: list[list[float]] | None = None
    parts: list[Parts] | None = None
    failed: list[bool] = field(default_factory=list)
    offsets: dict[int, TokenOffsets] = field(default_factory=dict)
    pictured: list[int] = field(default_factory=list)
    too_large: torch.Tensor = field(default_factory=lambda: torch.zeros(0, dtype=torch.bool))
    rewards: torch.Tensor = field(default_factory=lambda: torch.zeros(0, 0))
