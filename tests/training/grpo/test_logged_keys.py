"""What never went wrong is left out of the log, and nothing else is."""

import math
from pathlib import Path
from typing import Any

from spanreward import Verdict
from spanreward.rewards.base.verdict import Status
from spanreward.training.grpo.logged_keys import is_left_out, keys_of, leave_out, nonzero_keys
from tests.support.tiny_trainer import Scored, make_trainer, scenes


def test_what_never_went_wrong_is_dropped() -> None:
    steps = {
        "posh/f1": [0.0, 0.0],
        "posh/unscored_fraction/error": [0.0, 0.0],
        "posh/empty_fraction": [0.0, 0.25],
        "judge/retries": [0.0, 0.0],
        "judge/failed_fraction": [0.0, 0.0],
        "judge/questions": [0.0, 0.0],
    }
    moved = leave_out(steps, frozenset())
    assert list(steps) == [
        *("posh/f1", "posh/empty_fraction", "judge/failed_fraction", "judge/questions")
    ]
    assert moved == {"posh/empty_fraction"}
    later = {"posh/empty_fraction": [0.0]}
    assert leave_out(later, moved) == moved
    assert later == {"posh/empty_fraction": [0.0]}


def test_a_resumed_run_goes_on_with_the_keys_of_its_history() -> None:
    history = [{"posh/f1": 0.5}, {"posh/not_read": 0.1}, {"eval_posh/empty_fraction": 0.2}]
    moved = keys_of(history)
    assert not is_left_out("posh/not_read", moved)
    assert not is_left_out("posh/empty_fraction", moved)
    assert is_left_out("posh/failed_fraction", moved)


def test_a_value_that_is_no_number_has_moved() -> None:
    moved = nonzero_keys({"posh/failed_fraction": math.nan}, frozenset())
    assert not is_left_out("posh/failed_fraction", moved)


class FailingOnce(Scored):
    """Has no score for a completion of the second step."""

    def __init__(self) -> None:
        super().__init__(lambda sample: len(sample.completion) % 5 / 5, "mine")
        self.steps = 0

    def assess(self, samples: Any) -> list[Verdict]:
        self.steps += 1
        verdicts = super().assess(samples)
        if self.steps == 2:
            verdicts[0] = Verdict(None, Status.TIMEOUT, note="no answer")
        return verdicts


def test_a_share_is_in_the_log_once_it_has_moved(tmp_path: Path) -> None:
    trainer = make_trainer(tmp_path, scenes(), [FailingOnce()], max_steps=3)
    trainer.train()
    lines = [line for line in trainer.state.log_history if "reward" in line]
    assert [line.get("mine/failed_fraction") for line in lines] == [None, 1 / 8, 0]
    assert [line.get("mine/unscored_fraction/timeout") for line in lines] == [None, 1 / 8, 0]
    assert not any("mine/unscored_fraction/error" in line for line in lines)
    assert [line["judge/failed_fraction"] for line in lines] == [0, 1 / 8, 0]
