"""What never went wrong is left out of the log, and nothing else is."""

import math
from typing import Any

from spanreward import Verdict
from spanreward.rewards.base.verdict import Status
from spanreward.training.grpo.logged_keys import is_left_out, keys_of, leave_out, nonzero_keys
from tests.support.batches import lines_of
from tests.support.tiny_trainer import Scored


def test_what_never_went_wrong_is_dropped() -> None:
    never = {name: [0.0, 0.0] for name in ("posh/unscored_fraction/error", "judge/retries")}
    always = ("posh/f1", "judge/failed_fraction", "judge/questions")
    kept = {name: [0.0, 0.0] for name in always} | {"posh/empty_fraction": [0.0, 0.25]}
    steps = {**never, **kept}
    moved = leave_out(steps, frozenset())
    assert (steps, moved) == (kept, {"posh/empty_fraction"})
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


def test_a_share_is_in_the_log_once_it_has_moved(make: Any) -> None:
    trainer = make(FailingOnce(), max_steps=3)
    trainer.train()
    lines = lines_of(trainer)
    for name in ("mine/failed_fraction", "mine/unscored_fraction/timeout"):
        assert [line.get(name) for line in lines] == [None, 1 / 8, 0]
    assert not any("mine/unscored_fraction/error" in line for line in lines)
    assert [line["judge/failed_fraction"] for line in lines] == [0, 1 / 8, 0]
