"""The callback over training/health.py: what is logged and told in the steps of a trainer."""

import logging
import re
from dataclasses import replace
from typing import Any

import pytest
from transformers import TrainerControl, TrainerState, TrainingArguments

from spanreward.rewards import MatchJudge, PoshReward, Status, Verdict
from spanreward.training.callbacks import PROBLEMS
from spanreward.training.callbacks.reward_health import RewardHealthCallback
from spanreward.training.grpo.recorder import Recorder
from spanreward.training.health import Limits
from tests.support.tiny_trainer import Scored


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
        (warning,) = [
            record.getMessage() for record in caplog.records if record.levelno == logging.WARNING
        ]
        assert re.match("step 2: 100% of .* all of the reward, .*: use harder prompts", warning)
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


class Eager(Scored):
    """A reward whose judge says yes to six of ten things that pictures lack."""

    def assess(self, samples: Any) -> list[Verdict]:
        return [replace(verdict, parts={"yes_rate": 0.6}) for verdict in super().assess(samples)]


def test_the_yes_rate_is_logged_and_told_where_a_reward_has_one(args: TrainingArguments) -> None:
    for reward, expected in ((Scored(lambda _: 0.5), None), (Eager(lambda _: 0.5), 0.6)):
        recorder = Recorder(reward)
        callback = RewardHealthCallback([recorder], limits=Limits(window=2), stop_on=["yes_rate"])
        callback.on_train_begin(args, TrainerState(), TrainerControl())
        steps = [step(callback, recorder, ["A star."] * 4, number, args) for number in (1, 2)]
        assert [logged.get("health/yes_rate") for logged in steps] == [expected] * 2
        assert [logged["stop"] for logged in steps] == [False, expected is not None]
        assert ("says yes to 60%" in callback.stopped) == (expected is not None)


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
    with pytest.raises(ValueError, match=r"stop_on 'saturatoin': did you mean 'saturation'\?"):
        RewardHealthCallback([recorder], stop_on=["saturatoin"])
    # it was one once
    with pytest.raises(ValueError, match="stop_on 'repetition'"):
        RewardHealthCallback([recorder], stop_on=["repetition"])
    assert RewardHealthCallback([recorder], stop_on=PROBLEMS).stop_on == set(PROBLEMS)
