"""What judging cost in a step and on which completions it failed, over all ranks: the metrics `judge/...`.

    usage = total_usage(judges).since(before)
    step = gather_step([(failed, looks_of(text, tokens, limit)) for ...], scored, usage, device)    # one collective
    step.failed                                    # (rows of all ranks that are scored,) bool
    step.metrics["judge/failed_fraction"]

The keys are always the same, and the values are the same on every rank, so that TRL's mean over ranks leaves them what
they are. TRL also takes their mean over the steps between two lines of the log: they are per step.

    failed_fraction                  of the completions, those that have no score through a judge's fault
    failed_fraction_long             of the completions longer than half of max_completion_length, in tokens
    failed_fraction_short            of the others
    failed_fraction_control_tokens   of those that spell a control token of some chat template: <|im_end|>, [INST], <s>
    questions, cached, prompt_tokens, retries, timeout, unparsed     sums over judges and ranks, see Usage
    seconds, wake_seconds, sleep_seconds                             of the slowest rank, summed over its judges
    peak_memory_gb                   the most that any judge held of its device since the run began, in 10^9 bytes

A fraction of no completions is NaN, which TRL leaves out of its mean, and logs as null where nothing else is there.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import torch
from accelerate.utils import gather

from rewards.judges import Judge
from rewards.judges.usage import Usage

SUMS = ("questions", "cached", "prompt_tokens", "retries", "timeouts", "unparsed")
MAXIMA = ("seconds", "wake_seconds", "sleep_seconds", "peak_memory_bytes")
LOOKS = ("long", "short", "control_tokens")
CONTROL_TOKEN = re.compile(r"<[|\uff5c]?/?[\w\u2581:-]+[|\uff5c]?>|\[/?[A-Z_]+\]")  # DeepSeek's bars are full width


@dataclass(frozen=True, slots=True)
class Step:
    """failed: (rows of all ranks that are scored,) bool, in TRL's order. metrics: by their whole keys."""

    failed: torch.Tensor
    metrics: dict[str, float]


def total_usage(judges: Iterable[Judge]) -> Usage:
    """What all of these judges have done so far; judges that do not count have done nothing."""
    return reduce(Usage.plus, (judge.usage for judge in judges), Usage())


def looks_of(completion: str, tokens: int, limit: int | None) -> frozenset[str]:
    """What the completion looks like, of LOOKS. limit: max_completion_length; without one nothing is long."""
    length = "long" if limit is not None and 2 * tokens > limit else "short"
    return frozenset({length, "control_tokens"} if CONTROL_TOKEN.search(completion) else {length})


def gather_step(
    judged: Sequence[tuple[bool, frozenset[str]]], scored: Sequence[bool], usage: Usage, device: torch.device | str
) -> Step:
    """Put the ranks' rows and counts together. One collective.

    judged: of each completion of this rank that was judged in the step, whether that failed, and its looks.
    scored: of each completion that is scored, whether its judging failed; as many on every rank. Dynamic sampling
    judges others too.
    """
    counts = [len(judged), sum(failed for failed, _ in judged)]
    for look in LOOKS:
        fails = [failed for failed, looks in judged if look in looks]
        counts += [len(fails), sum(fails)]
    used = [getattr(usage, name) for name in (*SUMS, *MAXIMA)]
    ranks = gather(torch.tensor([[*scored, *counts, *used]], dtype=torch.float32, device=device))
    return Step(ranks[:, : len(scored)].bool().flatten(), metrics_of(ranks[:, len(scored) :]))


def metrics_of(ranks: torch.Tensor) -> dict[str, float]:
    """From (ranks, 2 + 2 * looks + sums + maxima): rows and failures, of all and by look, then SUMS, then MAXIMA."""
    rows, sums, maxima = ranks.split([2 + 2 * len(LOOKS), len(SUMS), len(MAXIMA)], dim=1)
    found = rows.sum(dim=0).tolist()
    metrics = {
        f"judge/failed_fraction{look}": fails / count if count else math.nan
        for look, count, fails in zip(("", *(f"_{look}" for look in LOOKS)), found[::2], found[1::2], strict=True)
    }
    values = dict(zip((*SUMS, *MAXIMA), [*sums.sum(dim=0).tolist(), *maxima.amax(dim=0).tolist()], strict=True))
    peak = values.pop("peak_memory_bytes")
    metrics |= {f"judge/{name}": value for name, value in values.items() if name != "timeouts"}
    return metrics | {"judge/timeout": values["timeouts"], "judge/peak_memory_gb": peak / 1e9}
