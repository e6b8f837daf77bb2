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
    MAXIMAL_FIELDS,
    SUMMED_FIELDS,
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


def counting(**counts: float) -> FakeJudge:
    judge = FakeJudge()
    judge.usage = Usage(**counts)
    return judge


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


@pytest.mark.parametrize(
    ("judged", "scored", "fraction"),
    [
        ([False, False], [False, False], 0.0),
        ([True, True], [True, True], 1.0),
        ([True, True, False], [False, True], 2 / 3),  # not all that was judged is scored
        ([], [], math.nan),
    ],
)
def test_keys_are_always_the_same(judged: Any, scored: Any, fraction: float) -> None:
    step = gathered(Usage(), judged, scored)
    assert step.metrics.keys() == {f"judge/{key}" for key in KEYS}
    assert step.failed.tolist() == scored
    assert step.metrics["judge/failed_fraction"] == pytest.approx(fraction, nan_ok=True)


def test_counts_of_ranks_are_summed_and_times_are_the_slowest_ranks() -> None:
    table = []
    for completions, values in (
        ((5, 1), {"questions": 5, "timeouts": 1, "seconds": 2.0, "peak_memory_bytes": 2e9}),
        ((3, 3), {"questions": 7, "seconds": 3.5, "wake_seconds": 0.5, "peak_memory_bytes": 3e9}),
    ):
        table.append(
            [*completions, *(values.get(name, 0) for name in (*SUMMED_FIELDS, *MAXIMAL_FIELDS))]
        )
    metrics = metrics_of(torch.tensor(table, dtype=torch.float32))
    expected = {"failed_fraction": 1 / 2, "questions": 12, "timeout": 1, "cached": 0}
    expected |= {"seconds": 3.5, "wake_seconds": 0.5, "sleep_seconds": 0, "peak_memory_gb": 3}
    assert {name: metrics[f"judge/{name}"] for name in expected} == pytest.approx(expected)


def test_a_cascade_has_two_more_and_written_ratings_one() -> None:
    usage = Usage(questions=10, student=6, teacher=2, audited=4, agreed=3)  # 2 by another judge
    metrics = gathered(usage).metrics
    assert metrics.keys() == {f"judge/{key}" for key in (*KEYS, "teacher_share", "audit_agreement")}
    assert (metrics["judge/teacher_share"], metrics["judge/audit_agreement"]) == (0.25, 0.75)
    usage = Usage(student=6, teacher=2, audits_failed=3)
    assert gathered(usage).metrics["judge/audits_failed"] == 3
    unaudited = gathered(Usage(student=3)).metrics
    assert unaudited["judge/teacher_share"] == 0
    assert "judge/audit_agreement" not in unaudited
    assert gathered(Usage(questions=8, written=5)).metrics["judge/written"] == 5


def test_usage_of_several_judges(tmp_path: Path) -> None:
    one = counting(questions=3, seconds=1.0, peak_memory_bytes=7)
    total = Usage(questions=7, retries=2, seconds=1.0, peak_memory_bytes=7)
    assert total_usage([one, FakeJudge(), counting(questions=4, retries=2)]) == total
    assert total_usage([FakeJudge()]) == total_usage([]) == Usage()
    cached = CachedJudge(one, tmp_path / "ratings.sqlite")
    before = total_usage([cached])
    one.usage.prompt_tokens += 5
    assert total_usage([cached]).since(before) == Usage(prompt_tokens=5, peak_memory_bytes=7)
    assert total_usage([MatchJudge()]) == Usage()
