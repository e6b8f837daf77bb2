"""The Recorder outside our trainer: a reward like any other, that keeps what it judged."""

import math
import re
import time
from typing import Any, Self

import pytest
import torch

from spanreward.rewards import MatchJudge, PoshReward, Status
from spanreward.training.grpo import recorder as recording
from spanreward.training.grpo.recorder import (
    Recorder,
    advantages_by_token,
    awake_judges,
    rewards_by_function,
)
from tests.support.tiny_trainer import Scored

PROMPTS = ["Describe the picture."] * 3
TEXTS = ["A red star.", "", "A blue square."]
COLUMNS: dict[str, Any] = {"reference": ["A red star.", "A red star.", None], "id": [1, 2, 3]}


def test_a_call_judges_as_the_reward_does() -> None:
    plain, recorder = PoshReward(MatchJudge()), Recorder(PoshReward(MatchJudge()))
    columns = {**COLUMNS, "completion_ids": [[1], [], [2]], "trainer_state": None}
    logged: list[dict[str, float]] = []
    for reward in (plain, recorder):
        logged.append({})
        scores = reward(PROMPTS, TEXTS, log_metric=logged[-1].__setitem__, **columns)
        assert scores == [pytest.approx(1.0), 0.0, None]
    assert logged[0] == logged[1]
    statuses = [verdict.status for verdict in recorder.verdicts]
    assert statuses == [Status.OK, Status.EMPTY, Status.NOT_APPLICABLE]
    assert [sample.id for sample in recorder.samples] == ["1", "2", "3"]
    assert recorder.__name__ == "posh"


def test_a_reward_that_hangs_is_named_with_its_time(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(recording, "SLOW_SECONDS", 0.05)
    until = time.monotonic() + 60

    def hang(sample: Any) -> float:
        while "has not answered" not in caplog.text and time.monotonic() < until:
            time.sleep(0.01)
        return 0.5

    assert Recorder(Scored(hang))(PROMPTS, TEXTS) == [0.5] * 3
    assert re.search(r"the reward \w+ .* 0\.05 s", caplog.text)
    told = len(caplog.records)
    assert Recorder(Scored(lambda sample: 0.5))(PROMPTS, TEXTS) == [0.5] * 3
    time.sleep(0.2)
    assert len(caplog.records) == told  # who answers in time is not named


def test_what_was_judged_before_a_call_is_not_judged_again_and_the_next_call_judges() -> None:
    reward = Scored(lambda sample: len(sample.completion) / 100)
    recorder = Recorder(reward)
    recorder.judge(PROMPTS, TEXTS, "")
    assert len(reward.seen) == 3
    assert recorder(PROMPTS, TEXTS) == [0.11, 0.0, 0.14]
    assert len(reward.seen) == 3
    assert recorder(PROMPTS[:1], ["Stars."]) == [0.06]
    assert len(reward.seen) == 4


def test_what_the_trainer_makes_of_a_batch_is_kept_until_the_next() -> None:
    recorder = Recorder(Scored(lambda sample: 0.5))
    recorder(PROMPTS, TEXTS)
    advantages = torch.tensor([[0.5, -0.5], [0.25, 0.0], [0.0, 0.0]])
    tokens = advantages_by_token(advantages, {1: [(0, 3)], 0: [(0, 1), (1, 5)]})
    assert tokens == {0: [(0, 1, 0.5), (1, 5, -0.5)], 1: [(0, 3, 0.25)]}
    rewards = torch.tensor([[0.5, 2.0], [0.25, math.nan], [0.0, 1.0]])
    paid = rewards_by_function(rewards, {"posh": 1.0, "short": 0.5})
    assert paid[0] == {"posh": (0.5, 1.0), "short": (2.0, 0.5)}
    assert math.isnan(paid[1]["short"][0] or 0.0)
    recorder.receive([0.0, 0.25, 0.0], tokens, paid)
    kept = recorder.advantages, recorder.token_advantages, recorder.paid
    assert kept == ([0.0, 0.25, 0.0], tokens, paid)
    recorder(PROMPTS, TEXTS)
    assert (recorder.advantages, recorder.token_advantages, recorder.paid) == (None, {}, [])


class Gone(MatchJudge):
    def __enter__(self) -> Self:
        raise OSError("its engine is gone")


def test_a_judge_that_cannot_be_woken_fails_its_rows_and_logs_that() -> None:
    recorder = Recorder(PoshReward(Gone()))
    logged: dict[str, float] = {}
    scores = recorder(PROMPTS, TEXTS, log_metric=logged.__setitem__, **COLUMNS)
    assert scores == [None] * 3
    (note,) = {verdict.note for verdict in recorder.verdicts}
    assert "its engine is gone" in note
    assert {verdict.status for verdict in recorder.verdicts} == {Status.ERROR}
    assert logged["posh/failed_fraction"] == 1


def test_watchers_are_called_after_every_batch_when_the_judge_is_asleep_again() -> None:
    class Deep(MatchJudge):
        depth = 0

        def __enter__(self) -> Self:
            self.depth += 1
            return self

        def __exit__(self, *args: Any) -> None:
            self.depth -= 1

    judge = Deep()
    recorder = Recorder(PoshReward(judge))
    calls: list[Any] = []
    note = lambda who, log: calls.append((who, log, judge.depth, len(who.verdicts)))  # noqa: E731
    recorder.watchers.append(note)
    recorder(PROMPTS, TEXTS, log_metric=print, **COLUMNS)
    with awake_judges([judge]) as asleep:
        recorder.judge(PROMPTS, TEXTS, asleep, **COLUMNS)
        assert len(calls) == 1
    recorder(PROMPTS, TEXTS, **COLUMNS)
    assert calls == [(recorder, print, 0, 3), (recorder, None, 0, 3)]
