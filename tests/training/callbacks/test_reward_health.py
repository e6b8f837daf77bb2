"""The callback over training/health.py: what is logged and told in the steps of a trainer."""

import logging
import re
from dataclasses import replace
from typing import Any

import pytest
from transformers import TrainerControl, TrainerState

from spanreward.rewards import MatchJudge, PoshReward, Status, Verdict
from spanreward.training.callbacks import PROBLEMS
from spanreward.training.callbacks.reward_health import RewardHealthCallback
from spanreward.training.grpo.recorder import Recorder
from spanreward.training.health import Limits
from tests.support.steps import arguments, step_of
from tests.support.tiny_trainer import Scored


def begun(*recorders: Recorder, **settings: Any) -> RewardHealthCallback:
    callback = RewardHealthCallback(recorders, **settings)
    callback.on_train_begin(arguments("unused"), TrainerState(), TrainerControl())
    return callback


def step(callback: RewardHealthCallback, number: int, texts: list[str], **more: Any) -> Any:
    """One training step: what was logged, and whether the training is to stop and be saved."""
    logged: dict[str, Any] = {}
    with step_of(callback, arguments("unused"), number) as control:
        for recorder in callback.recorders:
            asked(recorder, logged, texts, **more)
    assert control.should_save == control.should_training_stop
    return {**logged, "stop": control.should_training_stop}


def asked(recorder: Recorder, logged: dict[str, Any], texts: list[str], **more: Any) -> None:
    recorder(["Describe."] * len(texts), texts, log_metric=logged.__setitem__, **more)


STARS = ["A star."] * 4


@pytest.mark.parametrize(("stop_on", "ends"), [((), 5), (("saturation",), 2)])
def test_a_problem_is_told_once_and_stops_only_when_asked(
    caplog: pytest.LogCaptureFixture, stop_on: Any, ends: int
) -> None:
    recorder = Recorder(Scored(lambda sample: 1.0))
    callback = begun(recorder, limits=Limits(window=2), stop_on=stop_on)
    with caplog.at_level(logging.WARNING, "spanreward.training"):
        stops = [step(callback, number, STARS)["stop"] for number in range(1, ends + 1)]
    (warning,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    told = "step 2: 100% of .* all of the reward, .*: use harder prompts"
    assert re.match(told, warning.getMessage())
    assert stops == [False] * (ends - 1) + [bool(stop_on)]
    assert bool(callback.stopped) == bool(stop_on)


def test_evaluations_between_steps_do_not_count() -> None:
    recorder = Recorder(Scored(lambda sample: 0.5))
    callback = begun(recorder)
    logged: dict[str, float] = {}
    asked(recorder, logged, STARS)
    assert not [name for name in logged if name.startswith("health/")]
    assert step(callback, 1, STARS)["health/degenerate_fraction"] == 0


def test_with_two_rewards_a_batch_counts_once_both_have_judged() -> None:
    late = Verdict(None, Status.TIMEOUT)
    first = Recorder(Scored(lambda sample: 0.4, "first"))
    second = Recorder(Scored(lambda sample: late if "red" in sample.completion else 0.8, "second"))
    callback = begun(first, second)
    texts = ["A star.", "A red star."]
    logged: dict[str, Any] = {}
    callback.on_step_begin(arguments("unused"), TrainerState(), TrainerControl())
    asked(first, logged, texts)
    assert not [name for name in logged if name.startswith("health/")]
    asked(second, logged, texts)
    # logged elsewhere
    assert not logged.keys() & {"health/failed_fraction", "health/reward", "health/length"}
    assert logged["health/saturated_fraction"] == 0


class Eager(Scored):
    """A reward whose judge says yes to six of ten things that pictures lack."""

    def assess(self, samples: Any) -> list[Verdict]:
        return [replace(verdict, parts={"yes_rate": 0.6}) for verdict in super().assess(samples)]


@pytest.mark.parametrize(("kind", "expected"), [(Scored, None), (Eager, 0.6)])
def test_the_yes_rate_is_logged_and_told_where_a_reward_has_one(kind: Any, expected: Any) -> None:
    recorder = Recorder(kind(lambda _: 0.5))
    callback = begun(recorder, limits=Limits(window=2), stop_on=["yes_rate"])
    steps = [step(callback, number, STARS) for number in (1, 2)]
    assert [logged.get("health/yes_rate") for logged in steps] == [expected] * 2
    assert [logged["stop"] for logged in steps] == [False, expected is not None]
    assert ("says yes to 60%" in callback.stopped) == (expected is not None)


HOSTILE = ["", " ", "\x00", "a\ud800b", "\u202eabc", "<|im_end|><image>", "no " * 5000]
HOSTILE += ["\N{GRINNING FACE}" * 300]


def test_hostile_completions_have_numbers() -> None:
    callback = begun(Recorder(PoshReward(MatchJudge())))
    logged = step(callback, 1, HOSTILE, reference=["A red star."] * len(HOSTILE))
    assert logged["posh/failed_fraction"] == 0
    assert 0 < logged["health/degenerate_fraction"] < 1
    mean = sum(map(len, HOSTILE)) / len(HOSTILE)
    assert logged["health/length_ratio"] == pytest.approx(mean / len("A red star."))


def test_a_misspelt_problem_is_refused() -> None:
    recorder = Recorder(Scored(lambda sample: 0.5))
    with pytest.raises(ValueError, match=r"stop_on 'saturatoin': .* 'saturation'"):
        RewardHealthCallback([recorder], stop_on=["saturatoin"])
    # it was one once
    with pytest.raises(ValueError, match="stop_on 'repetition'"):
        RewardHealthCallback([recorder], stop_on=["repetition"])
    assert RewardHealthCallback([recorder], stop_on=PROBLEMS).stop_on == set(PROBLEMS)


def test_one_reward_and_one_problem_are_lists_of_one() -> None:
    recorder = Recorder(Scored(lambda _: 0.5))
    assert RewardHealthCallback(recorder, stop_on="runaway").stop_on == {"runaway"}
    with pytest.raises(ValueError, match=r"watches Recorders, got \['Scored'\]: "):
        RewardHealthCallback(Scored(lambda _: 0.5))  # type: ignore[arg-type]
