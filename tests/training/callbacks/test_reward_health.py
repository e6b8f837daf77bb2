"""The health of a reward: every number by hand, every problem told when it is one, and only
then.
"""

import logging
import math
from dataclasses import replace
from typing import Any

import pytest
from transformers import TrainerControl, TrainerState, TrainingArguments

from spanreward.rewards import MatchJudge, PoshReward, Status, Verdict
from spanreward.training.callbacks import PROBLEMS
from spanreward.training.callbacks.reward_health import (
    CompletionRow,
    Limits,
    RewardHealthCallback,
    health,
    problems,
)
from spanreward.training.grpo.recorder import Recorder
from tests.support.tiny_trainer import Scored

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
    rows = [row(0.5, 1.0), row(0.5, 1.0), row(1.0, 1.0), row(0.2, 0.4)]  # two groups of two
    rows = [
        replace(each, length=length) for each, length in zip(rows, (10, 20, 30, 60), strict=True)
    ]
    rows[3] = replace(rows[3], degenerate=True)
    # the others have no reference
    rows[:2] = [replace(each, reference_length=20) for each in rows[:2]]
    numbers = health(rows, group=2)
    assert numbers == {
        "failed_fraction": 0.0,
        "unscored_fraction": 0.0,
        "saturated_fraction": 0.25,
        "reward": pytest.approx((0.75 + 0.75 + 1.0 + 0.3) / 4),
        "length": 30.0,
        "length_ratio": 0.75,
        "degenerate_fraction": 0.25,
        "zero_variance_groups": 0.5,
    }
    assert "zero_variance_groups" not in health(rows, group=1)


def test_failed_completions_are_no_scores() -> None:
    rows = [row(None, failed="late"), row(0.5), row(0.5), row(1.0)]
    numbers = health(rows, group=2)
    assert numbers["failed_fraction"] == 0.25
    assert numbers["saturated_fraction"] == pytest.approx(1 / 3)
    # of the first group one score is left: it teaches nothing
    assert numbers["zero_variance_groups"] == 0.5
    nothing = health([row(None, failed="late")] * 2, group=2)
    assert nothing["failed_fraction"] == 1
    assert math.isnan(nothing["saturated_fraction"])


def test_rows_to_which_a_reward_does_not_apply_are_judged_by_the_others() -> None:
    numbers = health([row(None, 1.0), row(None, 0.3), row(None, 0.7), row(None, 0.7)], group=2)
    assert numbers["failed_fraction"] == 0
    assert numbers["saturated_fraction"] == 0.25
    assert numbers["zero_variance_groups"] == 0.5


def told(
    changes: dict[str, list[float]], limits: Limits | None = None, batches: int = 20
) -> set[str]:
    """The problems after some batches, steady but for the changes."""
    history = {name: [value] * batches for name, value in STEADY.items()} | changes
    return set(
        problems(history, limits or Limits(), {"failed": "late", "unscored": "no reference"})
    )


def test_steady_numbers_are_no_problem() -> None:
    assert told({}) == set()


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
    ],
)
def test_each_problem_is_told_past_its_limit(problem: str, changes: dict[str, list[float]]) -> None:
    assert told(changes) == {problem}


@pytest.mark.parametrize(
    "changes",
    [
        {"failed_fraction": [0.9] * 19 + [0.5]},
        {"zero_variance_groups": [0.0] * 19 + [1.0]},
        {"zero_variance_groups": [math.nan] * 20},
        {"length": [100.0] * 10 + [195.0] * 10},
        # grows up to its references
        {"length": [100.0] * 10 + [160.0] * 10, "length_ratio": [0.5] * 10 + [1.2] * 10},
        {"length": [160.0] * 20, "length_ratio": [1.6] * 20},  # long, and no longer than before
        {
            "length": [100.0] * 10 + [160.0] * 10,
            "length_ratio": [1.6] * 20,
            "reward": [0.6] * 10 + [0.5] * 10,
        },
        {"truncated_fraction": [0.3] * 10 + [0.2] * 10},
        {"truncated_fraction": [0.0] * 19 + [0.5]},
        {"degenerate_fraction": [0.0] * 19 + [0.5]},
    ],
)
def test_one_bad_batch_is_no_problem_yet(changes: dict[str, list[float]]) -> None:
    assert told(changes) == set()


def test_nothing_but_failures_is_told_before_the_window_is_full() -> None:
    bad = {"saturated_fraction": [1.0] * 9, "length": [1.0] * 9}
    bad |= {"degenerate_fraction": [1.0] * 9, "reward": [0.5] * 9, "length_ratio": [9.0] * 9}
    assert told({"failed_fraction": [0.0] * 9, **bad}) == set()
    assert told({"failed_fraction": [1.0], "length": [1.0]}) == {"failed"}


def step(
    callback: RewardHealthCallback, recorder: Recorder, texts: list[str], number: int, args: Any
) -> dict[str, Any]:
    """One training step, as a trainer makes it: what was logged, and whether the training is to
    stop.
    """
    state, control = TrainerState(global_step=number), TrainerControl()
    logged: dict[str, Any] = {}
    callback.on_step_begin(args, state, control)
    recorder(["Describe."] * len(texts), texts, log_metric=logged.__setitem__)
    callback.on_step_end(args, state, control)
    return {**logged, "stop": control.should_training_stop}


@pytest.fixture
def args(tmp_path: Any) -> TrainingArguments:
    return TrainingArguments(output_dir=str(tmp_path), use_cpu=True, bf16=False)


def test_a_problem_is_told_once_and_stops_only_when_asked(
    args: TrainingArguments, caplog: pytest.LogCaptureFixture
) -> None:
    limits = Limits(window=2)
    for stop_on, ends in (((), 5), (("saturation",), 2)):
        recorder = Recorder(Scored(lambda sample: 1.0))
        callback = RewardHealthCallback([recorder], limits=limits, stop_on=stop_on)
        callback.on_train_begin(args, TrainerState(), TrainerControl())
        caplog.clear()
        with caplog.at_level(logging.WARNING, "spanreward.training"):
            stops = [
                step(callback, recorder, ["A star."] * 4, number, args)["stop"]
                for number in range(1, ends + 1)
            ]
        warnings = [
            record.getMessage() for record in caplog.records if record.levelno == logging.WARNING
        ]
        assert warnings == [
            "step 2: 100% of the completions have all of the reward, which has no more to teach: "
            "use harder prompts or a stricter reward, or end the training here."
        ]
        assert stops == [False] * (ends - 1) + [bool(stop_on)]
        assert bool(callback.stopped) == bool(stop_on)


def test_evaluations_between_steps_do_not_count(args: TrainingArguments) -> None:
    recorder = Recorder(Scored(lambda sample: 0.5))
    callback = RewardHealthCallback([recorder])
    callback.on_train_begin(args, TrainerState(), TrainerControl())
    logged: dict[str, float] = {}
    recorder(["Describe."], ["A star."], log_metric=logged.__setitem__)
    assert not [name for name in logged if name.startswith("health/")]
    assert step(callback, recorder, ["A star."], 1, args)["health/degenerate_fraction"] == 0


def test_with_two_rewards_a_batch_counts_once_both_have_judged(args: TrainingArguments) -> None:
    late = Verdict(None, Status.TIMEOUT)
    first = Recorder(Scored(lambda sample: 0.4, "first"))
    second = Recorder(Scored(lambda sample: late if "red" in sample.completion else 0.8, "second"))
    callback = RewardHealthCallback([first, second])
    callback.on_train_begin(args, TrainerState(), TrainerControl())
    texts = ["A star.", "A red star."]
    logged: dict[str, Any] = {}
    callback.on_step_begin(args, TrainerState(), TrainerControl())
    first(["Describe."] * 2, texts, log_metric=logged.__setitem__)
    assert not [name for name in logged if name.startswith("health/")]
    second(["Describe."] * 2, texts, log_metric=logged.__setitem__)
    # logged elsewhere
    assert not logged.keys() & {"health/failed_fraction", "health/reward", "health/length"}
    assert logged["health/saturated_fraction"] == 0


HOSTILE = [
    "",
    " ",
    "\x00",
    "a\ud800b",
    "\u202eabc",
    "<|im_end|><image>",
    "no " * 5000,
    "\N{GRINNING FACE}" * 300,
]


def test_hostile_completions_have_numbers(args: TrainingArguments) -> None:
    recorder = Recorder(PoshReward(MatchJudge()))
    callback = RewardHealthCallback([recorder])
    callback.on_train_begin(args, TrainerState(), TrainerControl())
    state, control = TrainerState(global_step=1), TrainerControl()
    logged: dict[str, Any] = {}
    callback.on_step_begin(args, state, control)
    references = ["A red star."] * len(HOSTILE)
    recorder(
        ["Describe."] * len(HOSTILE), HOSTILE, reference=references, log_metric=logged.__setitem__
    )
    callback.on_step_end(args, state, control)
    assert logged["posh/failed_fraction"] == 0
    assert 0 < logged["health/degenerate_fraction"] < 1
    assert logged["health/length_ratio"] == pytest.approx(
        sum(map(len, HOSTILE)) / len(HOSTILE) / len("A red star.")
    )


def test_a_misspelt_problem_is_refused() -> None:
    recorder = Recorder(Scored(lambda sample: 0.5))
    with pytest.raises(
        ValueError, match=r"unknown problem in stop_on 'saturatoin': did you mean 'saturation'\?"
    ):
        RewardHealthCallback([recorder], stop_on=["saturatoin"])
    # it was one once
    with pytest.raises(ValueError, match="unknown problem in stop_on 'repetition'"):
        RewardHealthCallback([recorder], stop_on=["repetition"])
    assert RewardHealthCallback([recorder], stop_on=PROBLEMS).stop_on == set(PROBLEMS)
