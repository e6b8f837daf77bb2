"""The metrics `judge/...` of a step over all ranks: the cost of judging, and how often it failed.

    usage = total_usage(judges).since(before)
    rank_step = RankStep(failed_with_drafts, failed, marks, silent, usage)
    step = gather_step(rank_step, device)  # one collective call
    step.metrics["judge/failed_fraction"]

docs/logged_keys.md explains each key. TRL logs the mean of a metric over the ranks. The metrics
here are equal on every rank, so that TRL's mean does not change a value.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from accelerate.utils import gather

from spanreward.rewards.judges import Judge
from spanreward.rewards.judges.usage import Usage

# counts of a cascade of two judges (rewards/experimental): answers by each judge, and audits
CASCADE_COUNTS = ("student", "teacher", "audited", "agreed", "audits_failed")
# fields of Usage whose metric is the sum over the ranks
SUMMED_FIELDS = (
    *("questions", "cached", "prompt_tokens", "retries", "timeouts", "unparsed", "written"),
    *CASCADE_COUNTS,
)
# fields of Usage whose metric is the largest value of a rank
MAXIMAL_FIELDS = (
    "seconds",
    "cpu_seconds",
    "encode_seconds",
    "wake_seconds",
    "sleep_seconds",
    "peak_memory_bytes",
)


# fields of Usage whose metric has another key, or is logged only if it is not 0
OTHERWISE_LOGGED_FIELDS = ("timeouts", "peak_memory_bytes", "written", *CASCADE_COUNTS)


def total_usage(judges: Iterable[Judge]) -> Usage:
    """Returns the counts of all these judges together, since each judge was made."""
    total = Usage()
    for judge in judges:
        total = total.plus(judge.usage)
    return total


@dataclass(frozen=True, slots=True)
class RankStep:
    """The numbers of a step that one rank sends to the other ranks.

    Args:
        failed_with_drafts: for each completion that this rank judged in the step, whether a judge
            failed on it. With dynamic sampling, these are more completions than TRL scores.
        failed: for each completion that TRL scores, whether a judge failed on it. Every rank has
            equally many such completions.
        marks: the number of the row of each scored completion; equal rows have equal numbers
            (`mark_of` in ranks/groups.py).
        silent: for each reward whether its judge failed and answered nothing in the step.
        usage: the counts of the rank's judges in the step.
    """

    failed_with_drafts: Sequence[bool]
    failed: Sequence[bool]
    marks: Sequence[int]
    silent: Sequence[bool]
    usage: Usage


@dataclass(frozen=True, slots=True)
class GatheredStep:
    """The numbers of a step from all ranks. The rows of rank 0 come first, then those of rank 1.

    B is the number of scored completions of all ranks.

    Args:
        failed: (B,), bool, `RankStep.failed` of all ranks.
        marks: B numbers, `RankStep.marks` of all ranks.
        silent: (ranks, rewards), bool, `RankStep.silent` of all ranks.
        metrics: the metrics to log, by their full keys, such as "judge/failed_fraction".
    """

    failed: torch.Tensor
    marks: list[float]
    silent: torch.Tensor
    metrics: dict[str, float]


def gather_step(step: RankStep, device: torch.device | str) -> GatheredStep:
    """Returns the numbers of a step from all ranks. Makes one collective call.

    Every rank must call this function, with equally many scored completions, marks and rewards.

    step: this rank's numbers. device: where the collective runs, such as `accelerator.device`.
    """
    # send the numbers of each rank as one row, and cut the gathered rows into their parts
    used = [getattr(step.usage, name) for name in (*SUMMED_FIELDS, *MAXIMAL_FIELDS)]
    judged_count = len(step.failed_with_drafts)
    failed_count = sum(step.failed_with_drafts)
    counts_of_rank = [judged_count, failed_count, *used]
    numbers = [*step.failed, *step.marks, *step.silent, *counts_of_rank]
    ranks = gather(torch.tensor([numbers], dtype=torch.float32, device=device))
    widths = [len(step.failed), len(step.marks), len(step.silent), len(counts_of_rank)]
    failed, marks, silent, counts = ranks.split(widths, dim=1)
    return GatheredStep(
        failed=failed.bool().flatten(),
        marks=marks.flatten().tolist(),
        silent=silent.bool(),
        metrics=metrics_of(counts),
    )


def metrics_of(ranks: torch.Tensor) -> dict[str, float]:
    """Returns the metrics over all ranks, by their full keys.

    ranks: a row for each rank. The columns of a row are the number of judged completions, the
    number of failures, the fields of SUMMED_FIELDS and the fields of MAXIMAL_FIELDS.
    """
    rows, sums, maxima = ranks.split([2, len(SUMMED_FIELDS), len(MAXIMAL_FIELDS)], dim=1)
    judged, failed = rows.sum(dim=0).tolist()
    totals = sums.sum(dim=0).tolist()
    largest = maxima.amax(dim=0).tolist()
    values = dict(zip(SUMMED_FIELDS, totals, strict=True))
    values.update(zip(MAXIMAL_FIELDS, largest, strict=True))
    failed_fraction = failed / judged if judged else math.nan
    metrics = {"judge/failed_fraction": failed_fraction}
    for name, value in values.items():
        if name not in OTHERWISE_LOGGED_FIELDS:
            metrics[f"judge/{name}"] = value
    metrics["judge/timeout"] = values["timeouts"]
    metrics["judge/peak_memory_gb"] = values["peak_memory_bytes"] / 1e9
    if values["written"]:
        metrics["judge/written"] = values["written"]
    # the counts of a cascade of two judges
    answered = values["student"] + values["teacher"]
    if answered:
        metrics["judge/teacher_share"] = values["teacher"] / answered
    if values["audited"]:
        metrics["judge/audit_agreement"] = values["agreed"] / values["audited"]
    if values["audits_failed"]:
        metrics["judge/audits_failed"] = values["audits_failed"]
    return metrics
