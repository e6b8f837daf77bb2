"""The seconds of a step go to the phase in which they were spent, and add up to the step."""

import time
from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pytest

from spanreward.rewards import PoshReward
from spanreward.rewards.judges.usage import Usage
from spanreward.training.grpo.phases import PHASE_NAMES, Phases
from tests.support.batches import lines_of
from tests.support.fakes import FakeJudge

SLOW = 0.2  # seconds


class Slow(FakeJudge):
    """A judge that takes SLOW to wake, to answer and to fall asleep."""

    def __init__(self) -> None:
        super().__init__()
        self.usage = Usage()

    def __enter__(self) -> Any:
        with self.usage.clock("wake_seconds"):
            time.sleep(SLOW)
        return self

    def __exit__(self, *error: Any) -> None:
        with self.usage.clock("sleep_seconds"):
            time.sleep(SLOW)

    def rate(self, *args: Any, **kwargs: Any) -> Any:
        time.sleep(SLOW)
        return super().rate(*args, **kwargs)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Time that passes when a test says so."""
    now = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(time, "perf_counter", lambda: now.seconds)
    return now


def test_what_an_inner_clock_measures_is_not_the_outer_ones(clock: SimpleNamespace) -> None:
    def push() -> None:
        clock.seconds += 2

    generation = SimpleNamespace(sync_weights=push)
    metrics: dict[str, list[float]] = defaultdict(list)
    phases = Phases(
        SimpleNamespace(use_vllm=True, vllm_generation=generation, _metrics={"train": metrics})
    )
    phases.on_step_begin(None, None, None)
    with phases.clock("decode"):
        clock.seconds += 1
        generation.sync_weights()
        clock.seconds += 4
        generation.sync_weights()
    clock.seconds += 8
    with phases.clock("judge"):
        clock.seconds += 16
    phases.move("wake", "judge", 6)
    phases.on_step_end(None, None, None)
    rest = {"sleep": 0.0, "logprobs": 0.0}
    expected = {"push": 4, "decode": 5, "wake": 6, "judge": 10, "train": 8, **rest}
    assert metrics == {f"seconds/{phase}": [seconds] for phase, seconds in expected.items()}


def test_a_clock_counts_up_to_an_exception(clock: SimpleNamespace) -> None:
    phases = Phases(SimpleNamespace(use_vllm=False, _metrics={}))

    def fail() -> None:
        with phases.clock("decode"), phases.clock("push"):
            clock.seconds += 3
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert (phases.seconds["push"], phases.seconds["decode"]) == (3, 0)


@pytest.mark.parametrize("settings", [{}, {"dynamic_sampling": True, "max_resamples": 1}], ids=str)
def test_a_run_logs_where_its_seconds_went(make: Any, settings: dict[str, Any]) -> None:
    """Two steps share a batch: log-probabilities are needed, and the second samples nothing."""
    shared = {"steps_per_generation": 2, "per_device_train_batch_size": 4}
    trainer = make(PoshReward(Slow()), max_failed_fraction=1.0, **shared, **settings)
    trainer.train()
    first, second = lines_of(trainer)
    rounds = 1 + first.get("sampling/rounds", 0)
    assert all(first[f"seconds/{phase}"] >= SLOW * rounds for phase in ("wake", "judge", "sleep"))
    assert all(first[f"seconds/{phase}"] > 0 for phase in ("decode", "logprobs", "train"))
    assert [second[f"seconds/{phase}"] for phase in PHASE_NAMES] == [0] * len(PHASE_NAMES)
    for line in (first, second):
        assert line["seconds/push"] == 0
        assert (
            sum(line[f"seconds/{phase}"] for phase in (*PHASE_NAMES, "train")) > line["step_time"]
        )
