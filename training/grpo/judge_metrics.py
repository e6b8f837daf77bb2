"""What judging cost in a step and how often it failed, over all ranks: the metrics `judge/...`.

    usage = total_usage(judges).since(before)
    step = gather_step(RankStep(judged, scored, marks, silent, usage), device)  # one collective
    step.metrics["judge/failed_fraction"]

docs/logged_keys.md says what each key is. The values are equal on every rank, so that TRL's mean
does not change them.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from accelerate.utils import gather

from spanreward.rewards.judges import Judge
from spanreward.rewards.judges.usage import Usage

# counts of a cascade (rewards/experimental): who answered, and how the audits went
CASCADE = ("student", "teacher", "audited", "agreed", "audits_failed")
# fields of Usage that are added over ranks
SUMS = (
    *("questions", "cached", "prompt_tokens", "retries", "timeouts", "unparsed", "written"),
    *CASCADE,
)
# those of which the slowest, or fullest, rank's counts
MAXIMA = (
    "seconds",
    "cpu_seconds",
    "encode_seconds",
    "wake_seconds",
    "sleep_seconds",
    "peak_memory_bytes",
)


def total_usage(judges: Iterable[Judge]) -> Usage:
    """Returns the sum of what these judges have done so far."""
    total = Usage()
    for judge in judges:
        total = total.plus(judge.usage)
    return total


@dataclass(frozen=True, slots=True)
class RankStep:
    """What a rank tells the others of a step.

    Args:
        judged: for each completion that this rank judged in the step, whether a judge failed on it.
        scored: the same for the completions that TRL scores, equally many on every rank; dynamic
            sampling judges more than these.
        marks: of the rows of these (ranks/groups.py).
        silent: for each reward whether its judge answered nothing.
        usage: of the judges.
    """

    judged: Sequence[bool]
    scored: Sequence[bool]
    marks: Sequence[int]
    silent: Sequence[bool]
    usage: Usage


@dataclass(frozen=True, slots=True)
class GatheredStep:
    """What all ranks told, in TRL's order: rank by rank.

    Args:
        failed: (B,), bool, `scored` of all ranks.
        marks: B numbers.
        silent: (ranks, rewards), bool.
        metrics: by their full keys.
    """

    failed: torch.Tensor
    marks: list[float]
    silent: torch.Tensor
    metrics: dict[str, float]


def gather_step(step: RankStep, device: torch.device | str) -> GatheredStep:
    """Returns what all ranks tell of a step, from one collective.

    Every rank must call it, with as many completions, marks and rewards as the others.
    """
    # one row of numbers for each rank, cut into its parts again afterwards
    used = [getattr(step.usage, name) for name in (*SUMS, *MAXIMA)]
    counts_of_rank = [len(step.judged), sum(step.judged), *used]
    numbers = [*step.scored, *step.marks, *step.silent, *counts_of_rank]
    ranks = gather(torch.tensor([numbers], dtype=torch.float32, device=device))
    widths = [len(step.scored), len(step.marks), len(step.silent), len(counts_of_rank)]
    scored, marks, silent, counts = ranks.split(widths, dim=1)
    return GatheredStep(
        failed=scored.bool().flatten(),
        marks=marks.flatten().tolist(),
        silent=silent.bool(),
        metrics=metrics_of(counts),
    )


def metrics_of(ranks: torch.Tensor) -> dict[str, float]:
    """Returns the metrics of all ranks.

    ranks: (ranks, 2 + SUMS + MAXIMA), of each rank the completions judged, the failures, SUMS and
    MAXIMA.
    """
    rows, sums, maxima = ranks.split([2, len(SUMS), len(MAXIMA)], dim=1)
    count, failed = rows.sum(dim=0).tolist()
    totals = sums.sum(dim=0).tolist()
    largest = maxima.amax(dim=0).tolist()
    values = dict(zip(SUMS, totals, strict=True))
    values.update(zip(MAXIMA, largest, strict=True))
    # those that are logged under another name, or only where there are any
    timeouts = values.pop("timeouts")
    peak = values.pop("peak_memory_bytes")
    written = values.pop("written")
    student = values.pop("student")
    teacher = values.pop("teacher")
    audited = values.pop("audited")
    agreed = values.pop("agreed")
    audits_failed = values.pop("audits_failed")
    failed_fraction = failed / count if count else math.nan
    metrics = {"judge/failed_fraction": failed_fraction}
    for name, value in values.items():
        metrics[f"judge/{name}"] = value
    metrics["judge/timeout"] = timeouts
    metrics["judge/peak_memory_gb"] = peak / 1e9
    if written:
        metrics["judge/written"] = written
    if student + teacher:  # a cascade was asked
        metrics["judge/teacher_share"] = teacher / (student + teacher)
    if audited:
        metrics["judge/audit_agreement"] = agreed / audited
    if audits_failed:
        metrics["judge/audits_failed"] = audits_failed
    return metrics
