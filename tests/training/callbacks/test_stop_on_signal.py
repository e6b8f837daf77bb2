"""SIGTERM by its moments: before the training, in it, once more, at its last step, and after it."""

import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from accelerate import PartialState
from transformers import TrainerControl, TrainerState

from spanreward.training.callbacks import stop_on_signal as stopping
from spanreward.training.callbacks.stop_on_signal import (
    EXIT_CODE,
    SAME_SIGNAL_SECONDS,
    StopOnSignal,
)
from spanreward.training.grpo.config import SpanGRPOConfig
from tests.support.steps import arguments


@pytest.fixture
def stop() -> Any:
    """In training."""
    PartialState()
    stop = StopOnSignal()
    stop.on_train_begin(arguments("unused"), TrainerState(), TrainerControl())
    return stop


def step_end(stop: StopOnSignal, step: int, args: Any = None) -> TrainerControl:
    control = TrainerControl()
    stop.on_step_end(
        args or arguments("unused"), TrainerState(global_step=step, max_steps=9), control
    )
    return control


def test_before_and_after_the_training_it_leaves_at_once(stop: Any) -> None:
    with pytest.raises(SystemExit) as end:
        StopOnSignal().receive(signal.SIGTERM, None)
    assert end.value.code == EXIT_CODE == 143
    stop.on_train_end(arguments("unused"), TrainerState(), TrainerControl())
    with pytest.raises(SystemExit):
        stop.receive(signal.SIGTERM, None)


def test_in_training_the_step_is_saved(stop: Any, capsys: pytest.CaptureFixture[str]) -> None:
    control = step_end(stop, 3)
    assert (control.should_save, control.should_training_stop) == (False, False)
    assert stop.stopped_at is None
    stop.receive(signal.SIGTERM, None)
    control = step_end(stop, 4)
    assert (control.should_save, control.should_training_stop, stop.stopped_at) == (True, True, 4)
    stop.receive(signal.SIGTERM, None)  # while it leaves
    assert capsys.readouterr().err.count("SIGTERM") == 1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(stopping.time, "monotonic", lambda: clock.now)
    return clock


def test_a_second_one_leaves_at_once_unless_it_is_the_same(stop: Any, clock: Any) -> None:
    stop.receive(signal.SIGTERM, None)
    clock.now += SAME_SIGNAL_SECONDS
    stop.receive(signal.SIGTERM, None)
    clock.now += 0.1
    with pytest.raises(SystemExit) as end:
        stop.receive(signal.SIGTERM, None)
    assert end.value.code == 143


def test_ctrl_c_is_the_same_and_then_an_interrupt(
    stop: Any, clock: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    stop.receive(signal.SIGINT, None)
    assert "SIGINT: a checkpoint is" in capsys.readouterr().err
    clock.now += SAME_SIGNAL_SECONDS + 0.1
    with pytest.raises(KeyboardInterrupt):
        stop.receive(signal.SIGINT, None)
    assert step_end(stop, 4).should_save
    assert (stop.stopped_at, stop.signal) == (4, signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        StopOnSignal().receive(signal.SIGINT, None)  # before the training


def test_at_the_last_step_the_run_is_finished_and_not_stopped(stop: Any) -> None:
    stop.receive(signal.SIGTERM, None)
    control = step_end(stop, 9)
    assert (control.should_save, stop.stopped_at) == (False, None)


@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({}, 1),
        ({"num_iterations": 3}, 3),
        ({"steps_per_generation": 4, "gradient_accumulation_steps": 2}, 2),
        ({"steps_per_generation": 3, "gradient_accumulation_steps": 2}, 3),
        ({"steps_per_generation": 1, "gradient_accumulation_steps": 4}, 1),
    ],
)
def test_it_waits_for_the_last_pass_over_a_batch(
    stop: Any, tmp_path: Path, settings: Any, steps: int
) -> None:
    shared: Any = {"use_cpu": True, "bf16": False, "per_device_train_batch_size": 8}
    args = SpanGRPOConfig(str(tmp_path), **shared, **settings)
    stop.receive(signal.SIGTERM, None)
    saved = [step for step in range(1, 8) if step_end(stop, step, args).should_save]
    assert saved == [step for step in range(1, 8) if step % steps == 0]
