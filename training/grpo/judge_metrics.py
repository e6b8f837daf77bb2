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
from functools import reduce

import torch
from accelerate.utils import gather

from spanreward.rewards.judges import Judge
from spanreward.rewards.judges.usage import Usage

CASCADE = ("student", "teacher", "audited", "agreed", "audits_failed")
SUMS = (
    *("questions", "cached", "prompt_tokens", "retries", "timeouts", "unparsed", "written"),
    *CASCADE,
)
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
    return reduce(Usage.plus, (judge.usage for judge in judges), Usage())


@dataclass(frozen=True, slots=True)
class RankStep:
    """What a rank tells the others of a step.

    judged: for each completion that this rank judged in the step, whether a judge failed on it.
    scored: the same for the completions that TRL scores, equally many on every rank; dynamic
    sampling judges more than these. marks: of the rows of these (ranks/groups.py). silent: for each
    reward whether its judge answered nothing. usage: of the judges.
    """

    judged: Sequence[bool]
    scored: Sequence[bool]
    marks: Sequence[int]
    silent: Sequence[bool]
    usage: Usage


@dataclass(frozen=True, slots=True)
class GatheredStep:
    """What all ranks told, in TRL's order.

    failed: (B,), bool, `scored` of all ranks. marks: B numbers. silent: (ranks, rewards), bool.
    metrics: by their full keys.
    """

    failed: torch.Tensor
    marks: list[float]
    silent: torch.Tensor
    metrics: dict[str, float]


def gather_step(step: RankStep, device: torch.device | str) -> GatheredStep:
    """Returns what all ranks tell of a step, from one collective."""
    used = [getattr(step.usage, name) for name in (*SUMS, *MAXIMA)]
    numbers = [*step.scored, *step.marks, *step.silent, len(step.judged), sum(step.judged), *used]
    ranks = gather(torch.tensor([numbers], dtype=torch.float32, device=device))
    widths = [len(step.scored), len(step.marks), len(step.silent), 2 + len(used)]
    scored, marks, silent, counts = ranks.split(widths, dim=1)
    return GatheredStep(
        scored.bool().flatten(), marks.flatten().tolist(), silent.bool(), metrics_of(counts)
    )


def metrics_of(ranks: torch.Tensor) -> dict[str, float]:
    """Returns the metrics from (ranks, 2 + SUMS + MAXIMA): completions judged, failures, SUMS,
    MAXIMA.
    """
    rows, sums, maxima = ranks.split([2, len(SUMS), len(MAXIMA)], dim=1)
    count, failed = rows.sum(dim=0).tolist()
    values = dict(zip(SUMS, sums.sum(dim=0).tolist(), strict=True))
    values |= zip(MAXIMA, maxima.amax(dim=0).tolist(), strict=True)
    timeouts = values.pop("timeouts")
    peak = values.pop("peak_memory_bytes")
    written = values.pop("written")
    student, teacher, audited, agreed, audits_failed = (values.pop(name) for name in CASCADE)
    metrics = {"judge/failed_fraction": failed / count if count else math.nan}
    for name, value in values.items():
        metrics[f"judge/{name}"] = value
    metrics["judge/timeout"] = timeouts
    metrics["judge/peak_memory_gb"] = peak / 1e9
    if written:
        metrics["judge/written"] = written
    if student + teacher:
        metrics["judge/teacher_share"] = teacher / (student + teacher)
    if audited:
        metrics["judge/audit_agreement"] = agreed / audited
    if audits_failed:
        metrics["judge/audits_failed"] = audits_failed
    return metrics
