"""The metrics judge/...: by hand on tables of two ranks, and alone."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from rewards.judges import CachedJudge, MatchJudge
from rewards.judges.usage import Usage
from tests.support.fakes import FakeJudge
from training.grpo.judge_metrics import LOOKS, MAXIMA, SUMS, gather_step, looks_of, metrics_of, total_usage

KEYS = {
    *("failed_fraction", "failed_fraction_long", "failed_fraction_short", "failed_fraction_control_tokens"),
    *("questions", "cached", "prompt_tokens", "retries", "timeout", "unparsed"),
    *("seconds", "wake_seconds", "sleep_seconds", "peak_memory_gb"),
}
SHORT = frozenset({"short"})


class CountingJudge(FakeJudge):
    def __init__(self, **counts: float) -> None:
        super().__init__()
        self.usage = Usage(**counts)


@pytest.mark.parametrize("failed", [[False, False], [True, True]])
def test_the_keys_are_always_the_same(failed: Any) -> None:
    step = gather_step([(fails, SHORT) for fails in failed], failed, Usage(), "cpu")
    assert step.metrics.keys() == {f"judge/{key}" for key in KEYS}
    assert step.failed.tolist() == failed
    assert step.metrics["judge/failed_fraction"] == step.metrics["judge/failed_fraction_short"] == failed[0]
    assert math.isnan(step.metrics["judge/failed_fraction_long"])
    assert math.isnan(step.metrics["judge/failed_fraction_control_tokens"])


def test_counts_of_ranks_are_summed_and_times_are_the_slowest_ranks() -> None:
    looks = (
        {"": (5, 1), "long": (2, 1), "short": (3, 0), "control_tokens": (1, 1)},
        {"": (3, 3), "long": (2, 2), "short": (1, 1), "control_tokens": (0, 0)},
    )
    used = ({"questions": 5, "timeouts": 1, "seconds": 2.0}, {"questions": 7, "seconds": 3.5, "wake_seconds": 0.5})
    memory = (2_000_000_000, 3_000_000_000)
    rows = []
    for of_look, usage, peak in zip(looks, used, memory, strict=True):
        counts = [count for look in ("", *LOOKS) for count in of_look[look]]
        values = {**usage, "peak_memory_bytes": peak}
        rows.append([*counts, *(values.get(name, 0) for name in (*SUMS, *MAXIMA))])
    metrics = metrics_of(torch.tensor(rows, dtype=torch.float32))
    assert metrics["judge/failed_fraction"] == 1 / 2
    assert metrics["judge/failed_fraction_long"] == 3 / 4
    assert metrics["judge/failed_fraction_short"] == 1 / 4
    assert metrics["judge/failed_fraction_control_tokens"] == 1
    assert (metrics["judge/questions"], metrics["judge/timeout"], metrics["judge/cached"]) == (12, 1, 0)
    assert (metrics["judge/seconds"], metrics["judge/wake_seconds"], metrics["judge/sleep_seconds"]) == (3.5, 0.5, 0)
    assert metrics["judge/peak_memory_gb"] == pytest.approx(3)


def test_failures_by_look() -> None:
    looks = [frozenset({"long", "control_tokens"}), frozenset({"long"}), frozenset({"short"}), frozenset({"short"})]
    judged = list(zip([True, False, True, True], looks, strict=True))
    metrics = gather_step(judged, [True], Usage(), "cpu").metrics
    fractions = [metrics[f"judge/failed_fraction{look}"] for look in ("", "_long", "_short", "_control_tokens")]
    assert fractions == [0.75, 0.5, 1, 1]


@pytest.mark.parametrize(
    "text",
    [
        *("<|im_end|>", "a <|im_start|>user", "[INST] rate 5", "[/INST]", "</s>", "<s>", "<image>", "<end_of_turn>"),
        *("<\uff5cUser\uff5c>", "<\uff5cend\u2581of\u2581sentence\uff5c>", "[AVAILABLE_TOOLS]", "<|vision_start|>"),
    ],
)
def test_texts_that_spell_a_control_token(text: str) -> None:
    assert looks_of(text, 3, 10) == {"short", "control_tokens"}


@pytest.mark.parametrize("text", ["", "1 < 2 > 0", "a [b] c", "<3", "x < y|z >", "[1]", "\x00", "\ud800"])
def test_texts_that_do_not(text: str) -> None:
    assert looks_of(text, 3, 10) == {"short"}


@pytest.mark.parametrize(("tokens", "limit", "look"), [(5, 10, "short"), (6, 10, "long"), (0, 0, "short")])
def test_long_is_more_than_half_of_what_is_allowed(tokens: int, limit: int, look: str) -> None:
    assert looks_of("a", tokens, limit) == {look}
    assert looks_of("a", tokens, None) == {"short"}


def test_usage_of_several_judges(tmp_path: Path) -> None:
    one, other = CountingJudge(questions=3, seconds=1.0, peak_memory_bytes=7), CountingJudge(questions=4, retries=2)
    assert total_usage([one, FakeJudge(), other]) == Usage(questions=7, retries=2, seconds=1.0, peak_memory_bytes=7)
    assert total_usage([FakeJudge()]) == total_usage([]) == Usage()
    cached = CachedJudge(one, tmp_path / "ratings.sqlite")
    before = total_usage([cached])
    one.usage.prompt_tokens += 5
    assert total_usage([cached]).since(before) == Usage(prompt_tokens=5, peak_memory_bytes=7)
    assert total_usage([MatchJudge()]) == Usage()


def test_rows_that_are_scored_are_not_all_that_were_judged() -> None:
    step = gather_step([(True, SHORT), (True, SHORT), (False, SHORT)], [False, True], Usage(), "cpu")
    assert step.failed.tolist() == [False, True]
    assert step.metrics["judge/failed_fraction"] == pytest.approx(2 / 3)
