"""The metrics judge/...: by hand on tables of two ranks, and alone."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from spanreward.rewards.judges import CachedJudge, MatchJudge
from spanreward.rewards.judges.usage import Usage
from spanreward.training.grpo.judge_metrics import (
    MAXIMA,
    SUMS,
    GatheredStep,
    RankStep,
    gather_step,
    metrics_of,
    total_usage,
)
from tests.support.fakes import FakeJudge

KEYS = {
    *("failed_fraction", "questions", "cached", "prompt_tokens", "retries", "timeout", "unparsed"),
    *("seconds", "cpu_seconds", "encode_seconds", "wake_seconds", "sleep_seconds"),
    "peak_memory_gb",
}


class CountingJudge(FakeJudge):
    def __init__(self, **counts: float) -> None:
        super().__init__()
        self.usage = Usage(**counts)


def gathered(
    usage: Usage, judged: Sequence[bool] = (False,), scored: Sequence[bool] = (False,)
) -> GatheredStep:
    step = RankStep(judged, scored, marks=[0] * len(scored), silent=[False], usage=usage)
    return gather_step(step, "cpu")


def test_marks_and_silent_judges_travel_unchanged() -> None:
    marks = [2**24 - 1, 2**24 - 2]
    step = RankStep([True] * 3, [True, False], marks, silent=[False, True], usage=Usage())
    gathered_step = gather_step(step, "cpu")
    assert gathered_step.marks == marks
    assert gathered_step.silent.tolist() == [[False, True]]
    assert gathered_step.failed.tolist() == [True, False]


@pytest.mark.parametrize("failed", [[False, False], [True, True]])
def test_the_keys_are_always_the_same(failed: Any) -> None:
    step = gathered(Usage(), failed, failed)
    assert step.metrics.keys() == {f"judge/{key}" for key in KEYS}
    assert step.failed.tolist() == failed
    assert step.metrics["judge/failed_fraction"] == failed[0]


def test_a_step_without_completions_has_no_fraction() -> None:
    assert math.isnan(gathered(Usage(), [], []).metrics["judge/failed_fraction"])


def test_counts_of_ranks_are_summed_and_times_are_the_slowest_ranks() -> None:
    counts = ((5, 1), (3, 3))
    used = (
        {"questions": 5, "timeouts": 1, "seconds": 2.0},
        {"questions": 7, "seconds": 3.5, "wake_seconds": 0.5},
    )
    memory = (2_000_000_000, 3_000_000_000)
    rows = []
    for completions, usage, peak in zip(counts, used, memory, strict=True):
        values = {**usage, "peak_memory_bytes": peak}
        rows.append([*completions, *(values.get(name, 0) for name in (*SUMS, *MAXIMA))])
    metrics = metrics_of(torch.tensor(rows, dtype=torch.float32))
    assert metrics["judge/failed_fraction"] == 1 / 2
    assert (metrics["judge/questions"], metrics["judge/timeout"], metrics["judge/cached"]) == (
        12,
        1,
        0,
    )
    assert (
        metrics["judge/seconds"],
        metrics["judge/wake_seconds"],
        metrics["judge/sleep_seconds"],
    ) == (3.5, 0.5, 0)
    assert metrics["judge/peak_memory_gb"] == pytest.approx(3)


def test_a_cascade_has_two_more() -> None:
    usage = Usage(questions=10, student=6, teacher=2, audited=4, agreed=3)  # 2 by another judge
    metrics = gathered(usage).metrics
    assert metrics.keys() == {f"judge/{key}" for key in (*KEYS, "teacher_share", "audit_agreement")}
    assert (metrics["judge/teacher_share"], metrics["judge/audit_agreement"]) == (0.25, 0.75)
    usage = Usage(student=6, teacher=2, audits_failed=3)
    assert gathered(usage).metrics["judge/audits_failed"] == 3
    unaudited = gathered(Usage(student=3)).metrics
    assert unaudited["judge/teacher_share"] == 0
    assert "judge/audit_agreement" not in unaudited


def test_written_ratings_are_counted_where_there_are_any() -> None:
    metrics = gathered(Usage(questions=8, written=5)).metrics
    assert metrics["judge/written"] == 5


def test_usage_of_several_judges(tmp_path: Path) -> None:
    one, other = (
        CountingJudge(questions=3, seconds=1.0, peak_memory_bytes=7),
        CountingJudge(questions=4, retries=2),
    )
    assert total_usage([one, FakeJudge(), other]) == Usage(
        questions=7, retries=2, seconds=1.0, peak_memory_bytes=7
    )
    assert total_usage([FakeJudge()]) == total_usage([]) == Usage()
    cached = CachedJudge(one, tmp_path / "ratings.sqlite")
    before = total_usage([cached])
    one.usage.prompt_tokens += 5
    assert total_usage([cached]).since(before) == Usage(prompt_tokens=5, peak_memory_bytes=7)
    assert total_usage([MatchJudge()]) == Usage()


def test_rows_that_are_scored_are_not_all_that_were_judged() -> None:
    step = gathered(Usage(), [True, True, False], [False, True])
    assert step.failed.tolist() == [False, True]
    assert step.metrics["judge/failed_fraction"] == pytest.approx(2 / 3)
