"""Batch: what a step of SpanGRPOTrainer knows of its completions, filled in as the step goes on."""

from dataclasses import dataclass, field
from typing import Any

import torch

from spanreward.training.grpo.credit import Offsets
from spanreward.training.grpo.dynamic_sampling import Rollout
from spanreward.training.grpo.reasoning import Parts


@dataclass(slots=True)
class Batch:
    """This rank's completions of the current step.

    Args:
        rows: of the dataset, one for each completion.
        marks: of the rows, equal for equal rows (ranks/groups.py).
        drafting: the completions are only sampled and judged; other results of TRL are thrown away.
        drafted: completions that were sampled and judged before and that TRL now scores.
        ids: of each completion, as sampled.
        logprobs: of these ids, None where the sampler gives none.
        parts: of completions that are more than an answer (reasoning, several turns); None where
            all of each completion is judged.
        failed: for each completion whether a judge failed on it.
        offsets: by row, the characters of each sampled token; only of rows that can have span
            credit.
        pictured: rows with a picture's token.
        unusable: (B,), bool, which rows have a reward that is infinite or huge.
        rewards: (B, R), what TRL sums, NaN for none.
    """

    rows: list[dict[str, Any]]
    marks: list[int] = field(default_factory=list)
    drafting: bool = False
    drafted: list[Rollout] | None = None
    ids: list[list[int]] = field(default_factory=list)
    logprobs: list[list[float]] | None = None
    parts: list[Parts] | None = None
    failed: list[bool] = field(default_factory=list)
    offsets: dict[int, Offsets] = field(default_factory=dict)
    pictured: list[int] = field(default_factory=list)
    unusable: torch.Tensor = field(default_factory=lambda: torch.zeros(0, dtype=torch.bool))
    rewards: torch.Tensor = field(default_factory=lambda: torch.zeros(0, 0))
