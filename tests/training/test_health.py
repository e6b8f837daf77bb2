"""The health of a reward, without a trainer: numbers by hand, problems when they are one."""

import math
import re
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from spanreward.rewards import MatchJudge, PoshReward, Sample, Status, Verdict
from spanreward.training.callbacks import PROBLEMS
from spanreward.training.health import (
    CompletionRow,
    Judged,
    Limits,
    RewardHealth,
    agreement_interval,
    agreement_problem,
    completion_rows,
    find_problems,
    health_of_batch,
    yes_rate_problem,
)

ROW = CompletionRow(
    scores=(0.5,), failed=None, unscored=None, length=10, reference_length=0, degenerate=False,
)  # fmt: skip
STEADY = {
    "failed_fraction": 0.0, "unscored_fraction": 0.0, "saturated_fraction": 0.0, "reward": 0.5, "length": 100.0,
    "length_ratio": 1.0, "degenerate_fraction": 0.0,
}  # fmt: skip


def row(*scores: float | None, **changes: Any) -> CompletionRow:
    return replace(ROW, scores=scores, **changes)


def test_numbers_of_a_batch_by_hand() -> None:
    rows = [  # two groups of two, of which the second has no reference
        *(row(0.5, 1.0, length=length, reference_length=20) for length in (10, 20)),
        row(1.0, 1.0, length=30),
        row(0.2, 0.4, length=60, degenerate=True),
    ]
    numbers = health_of_batch(rows, group=2)
    assert numbers == {
        "failed_fraction": 0.0, "unscored_fraction": 0.0, "saturated_fraction": 0.25,
        "reward": pytest.approx((0.75 + 0.75 + 1.0 + 0.3) / 4), "length": 30.0,
        "length_ratio": 0.75, "degenerate_fraction": 0.25, "zero_variance_groups": 0.5,
    }  # fmt: skip
    assert "zero_variance_groups" not in health_of_batch(rows, group=1)


@pytest.mark.parametrize(
    ("rows", "failed", "saturated", "flat"),
    [
        # of the first group one score is left: it teaches nothing
        ([row(None, failed="late"), row(0.5), row(0.5), row(1.0)], 0.25, 1 / 3, 0.5),
        ([row(None, failed="late")] * 2, 1.0, math.nan, 1.0),
        # a reward that does not apply leaves the score to the others
        ([row(None, 1.0), row(None, 0.3), row(None, 0.7), row(None, 0.7)], 0.0, 0.25, 0.5),
    ],
)
def test_missing_scores(rows: Any, failed: float, saturated: float, flat: float) -> None:
    numbers = health_of_batch(rows, group=2)
    found = [
        numbers[name] for name in ("failed_fraction", "saturated_fraction", "zero_variance_groups")
    ]
    assert found == pytest.approx([failed, saturated, flat], nan_ok=True)


def told(changes: dict[str, list[float]]) -> set[str]:
    """The problems after twenty batches, steady but for the changes."""
    history = {name: [value] * 20 for name, value in STEADY.items()} | changes
    return set(find_problems(history, Limits(), {"failed": "late", "unscored": "no reference"}))


@pytest.mark.parametrize(
    ("problem", "changes"),
    [
        ("failed", {"failed_fraction": [0.0] * 19 + [0.6]}),
        ("unscored", {"unscored_fraction": [0.0] * 19 + [1.0]}),
        ("zero_variance", {"zero_variance_groups": [0.0] * 10 + [0.85] * 10}),
        ("saturation", {"saturated_fraction": [0.0] * 10 + [0.95] * 10}),
        ("length", {"length": [100.0] * 10 + [210.0] * 10}),
        ("length", {"length": [100.0] * 10 + [45.0] * 10}),
        ("length", {"length": [0.0] * 10 + [45.0] * 10}),
        ("degenerate", {"degenerate_fraction": [0.0] * 10 + [0.1] * 10}),
        (
            "runaway",
            {"length_ratio": [1.0] * 10 + [1.6] * 10, "length": [100.0] * 10 + [160.0] * 10},
        ),
        ("runaway", {"length_ratio": [math.nan] * 20, "length": [100.0] * 10 + [160.0] * 10}),
        ("runaway", {"truncated_fraction": [0.0] * 10 + [0.15] * 10}),
        ("yes_rate", {"yes_rate": [0.45] * 10 + [0.55] * 10}),
        ("yes_rate", {"yes_rate": [0.55] * 20}),
        ("yes_rate", {"yes_rate": [0.1] * 10 + [0.3] * 10}),
        ("yes_rate", {"yes_rate": [0.1] * 10 + [math.nan] * 9 + [0.3]}),
        # and what is no problem, or none yet
        ("", {}),
        ("", {"failed_fraction": [0.9] * 19 + [0.5]}),
        ("", {"zero_variance_groups": [0.0] * 19 + [1.0]}),
        ("", {"zero_variance_groups": [math.nan] * 20}),
        ("", {"length": [100.0] * 10 + [195.0] * 10}),
        # grows up to its references
        ("", {"length": [100.0] * 10 + [160.0] * 10, "length_ratio": [0.5] * 10 + [1.2] * 10}),
        # long, and no longer than before
        ("", {"length": [160.0] * 20, "length_ratio": [1.6] * 20}),
        ("", {"length": [100.0] * 10 + [160.0] * 10, "length_ratio": [1.6] * 20,
            "reward": [0.6] * 10 + [0.5] * 10}),
        ("", {"truncated_fraction": [0.3] * 10 + [0.2] * 10}),
        ("", {"truncated_fraction": [0.0] * 19 + [0.5]}),
        ("", {"degenerate_fraction": [0.0] * 19 + [0.5]}),
        ("", {"yes_rate": [0.1] * 19 + [0.9]}),
        ("", {"yes_rate": [0.36] * 10 + [0.5] * 10}),
        ("", {"yes_rate": [0.4] * 10 + [0.1] * 10}),
        ("", {"yes_rate": [math.nan] * 20}),
        ("", {"yes_rate": [0.1] * 10 + [math.nan] * 10}),
        ("", {"yes_rate": [0.9] * 9 + [0.1] * 11}),
    ],
)  # fmt: skip
def test_each_problem_is_told_past_its_limit(problem: str, changes: dict[str, list[float]]) -> None:
    assert told(changes) == {problem} - {""}


def test_the_sentence_on_a_yes_rate_has_both_numbers() -> None:
    said = yes_rate_problem(0.3, 0.1, Limits())
    assert re.match("the judge says yes to 30%.* start 10%, limit 15% more", said)
    assert "(at the start 58%, limit 50%)" in yes_rate_problem(0.6, 0.58, Limits())


def test_the_yes_rate_of_a_batch_is_the_mean_of_the_verdicts_that_have_one() -> None:
    reward = PoshReward(MatchJudge())
    watched = RewardHealth(limits=Limits(window=1))
    samples = [Sample("", REFERENCE, references=(REFERENCE,))] * 3
    plain = [Verdict(0.5)] * 3
    assert "yes_rate" not in watched.add(completion_rows(samples, [Judged(reward, plain)]))
    first = [Verdict(0.5, parts={"yes_rate": rate}) for rate in (0.1, 0.3)] + [Verdict(0.5)]
    second = [Verdict(0.5, parts={"yes_rate": 0.5}), *plain[1:]]
    judged = [Judged(reward, first), Judged(reward, second)]
    numbers = watched.add(completion_rows(samples, judged))
    assert numbers["yes_rate"] == pytest.approx((0.3 + 0.3) / 2)  # of two rows: (.1 + .5) / 2, .3
    assert "yes_rate" not in watched.problems()  # the first batch had none to compare with
    high = [Judged(reward, [Verdict(0.5, parts={"yes_rate": 0.7})] * 3)]
    watched.add(completion_rows(samples, high))
    assert re.search(r"yes to 70% .*\(at the start 30%", watched.problems()["yes_rate"])


def test_nothing_but_failures_is_told_before_the_window_is_full() -> None:
    high = ("saturated_fraction", "yes_rate", "degenerate_fraction", "reward", "length_ratio")
    bad = {name: [1.0] * 9 for name in (*high, "length")}
    assert told({"failed_fraction": [0.0] * 9, **bad}) == set()
    assert told({"failed_fraction": [1.0], "length": [1.0]}) == {"failed"}


def test_the_interval_is_wilsons() -> None:
    z = 1.959963984540054
    widened = 1 + z * z / 100
    middle, half = (0.9 + z * z / 200) / widened, z * (0.09 / 100 + (z / 200) ** 2) ** 0.5 / widened
    assert agreement_interval([(40, 30), (60, 60)]) == pytest.approx((middle - half, middle + half))
    assert [agreement_interval(few) for few in ([], [(0, 0)] * 3, [(29, 0)])] == [None] * 3


GOOD, BAD = [(40, 38)] * 10, [(40, 20)] * 10


@pytest.mark.parametrize(
    ("audits", "floor", "told"),
    [
        (GOOD + [(40, 38)] * 10, 0.5, ""),
        (GOOD + [(40, 36)] * 10, 0.5, ""),  # .87 to .93, after .93 to .97
        (GOOD + [(400, 356)] * 10, 0.5, ""),  # .88 to .90: below, and within the margin
        (GOOD + [(400, 344)] * 10, 0.5, "85% to 87%"),
        (GOOD + [(40, 30)] * 10, 0.5, "71% to 79%"),
        (GOOD + [(40, 40)] * 10, 0.5, ""),
        (GOOD + [(0, 0)] * 10, 0.5, ""),  # nothing is audited
        (GOOD + [(2, 0)] + [(3, 3)] * 9, 0.5, ""),  # few say little
        # the floor needs no start
        (BAD, 0.7, "limit 70%"),
        (BAD, 0.5, ""),
        (BAD[:9], 0.7, ""),  # the window is not full
        ([], 0.7, ""),
    ],
)
def test_a_fall_is_told_where_the_intervals_do_not_meet(
    audits: Any, floor: float, told: str
) -> None:
    sentence = agreement_problem(audits, window=10, floor=floor)
    assert bool(sentence) is bool(told)
    assert told in sentence


def test_chance_alone_seldom_raises_it() -> None:
    """Runs of 100 steps whose agreement stays at .9: at most one in twenty."""
    random = np.random.default_rng(0)
    runs = 0
    for _ in range(60):
        audits = [(30, int(agreed)) for agreed in random.binomial(30, 0.9, size=100)]
        runs += any(agreement_problem(audits[:step], 10, 0.7) for step in range(10, 101, 5))
    assert runs <= 3


REFERENCE = "A red star."


def test_a_row_is_read_off_the_verdicts_of_all_rewards() -> None:
    reward = PoshReward(MatchJudge())
    samples = [Sample("", text, references=(REFERENCE,)) for text in ("A star.", "no " * 99, "a")]
    late = Verdict(None, Status.TIMEOUT, note="no answer")
    absent = Verdict(None, Status.NOT_APPLICABLE, note="no reference")
    judged = [
        Judged(reward, [Verdict(0.5), late, absent]),
        Judged(reward, [late, Verdict(1.0), Verdict(1.0)], decides=False),
    ]
    first, second, third = completion_rows(samples, judged)
    assert first == CompletionRow((0.5, None), None, None, 7, len(REFERENCE), False)
    assert (second.failed, second.unscored, second.degenerate) == ("no answer", None, True)
    assert third.failed is None
    assert third.unscored == reward.unscored([absent])


def test_a_trainer_that_is_not_trl_hears_of_each_problem() -> None:
    reward = PoshReward(MatchJudge())
    watched = RewardHealth(group=2, limits=Limits(window=1))
    samples = [Sample("", REFERENCE, references=(REFERENCE,))] * 4
    numbers = watched.add(completion_rows(samples, [Judged(reward, reward.assess(samples))]))
    assert numbers["saturated_fraction"] == numbers["zero_variance_groups"] == 1.0
    assert set(watched.problems()) == {"zero_variance", "saturation"}
    longer = [Sample("", f"{REFERENCE} " * 5, references=(REFERENCE,))] * 4
    watched.add(completion_rows(longer, [Judged(reward, [Verdict(1.0)] * 4)]))
    assert "5.5 times as long" in watched.problems()["runaway"]
    assert set(watched.problems()) <= set(PROBLEMS)
    failed = [Verdict(None, Status.TIMEOUT, note="no answer")] * 4
    watched.add(completion_rows(samples, [Judged(reward, failed)]))
    assert ": no answer" in watched.problems()["failed"]


def test_audits_and_cut_completions_are_counted() -> None:
    watched = RewardHealth(limits=Limits(window=2))
    assert "audit_low" not in watched.add([], audited=20, agreed=5)
    numbers = watched.add([], audited=20, agreed=5)
    assert (numbers["audit_low"], numbers["audit_high"]) == agreement_interval([(20, 5)] * 2)
    assert "limit 70%" in watched.problems()["audit"]
    watched = RewardHealth(limits=Limits(window=1))
    for fraction in (0.0, 0.2):
        watched.add([row(0.5)])
        watched.add_truncated(fraction)
    assert "20% of the completions" in watched.problems()["runaway"]


def test_it_needs_no_trainer() -> None:
    script = """
import sys
for name in ("torch", "transformers", "trl", "accelerate"):
    sys.modules[name] = None
from spanreward.training.health import RewardHealth
"""
    subprocess.run([sys.executable, "-c", script], check=True)
