"""The Recorder outside our trainer: a reward like any other, that keeps what it judged."""

import re
import time
from typing import Any, Self
from zlib import crc32

import pytest

from spanreward.rewards import LaveReward, MatchJudge, PoshReward, Status
from spanreward.rewards.reward.contrast import EVERY
from spanreward.training.grpo import recorder as recording
from spanreward.training.grpo.recorder import Recorder, awake, judge_step
from tests.support.tiny_trainer import Scored


@pytest.fixture(autouse=True)
def no_contrast() -> None:
    """Here it is measured, unlike in the other tests (conftest.py)."""


PROMPTS = ["Describe the picture."] * 3
TEXTS = ["A red star.", "", "A blue square."]
COLUMNS: dict[str, Any] = {"reference": ["A red star.", "A red star.", None], "id": [1, 2, 3]}


def test_a_call_judges_as_the_reward_does() -> None:
    plain, recorder = PoshReward(MatchJudge()), Recorder(PoshReward(MatchJudge()))
    logged: list[dict[str, float]] = [{}, {}]
    scores = [
        reward(PROMPTS, TEXTS, completion_ids=[[1], [], [2]], log_metric=log.__setitem__, trainer_state=None, **COLUMNS)
        for reward, log in zip((plain, recorder), logged, strict=True)
    ]
    assert scores[0] == scores[1] == [pytest.approx(1.0), 0.0, None]
    assert logged[0] == logged[1]
    assert [verdict.status for verdict in recorder.verdicts] == [Status.OK, Status.EMPTY, Status.NOT_APPLICABLE]
    assert [sample.id for sample in recorder.samples] == ["1", "2", "3"]
    assert recorder.__name__ == "posh"


def test_a_reward_that_hangs_is_named_with_its_time(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(recording, "LONG", 0.05)
    until = time.monotonic() + 60

    def hang(sample: Any) -> float:
        while "has not answered" not in caplog.text and time.monotonic() < until:
            time.sleep(0.01)
        return 0.5

    assert Recorder(Scored(hang))(PROMPTS, TEXTS) == [0.5] * 3
    assert re.search(r"the reward \w+ has not answered for \d+ s, and the run waits for it\.", caplog.text)
    told = len(caplog.records)
    time.sleep(0.2)
    assert len(caplog.records) == told  # the thread that told has ended


def test_what_was_judged_before_a_call_is_not_judged_again_and_the_next_call_judges() -> None:
    reward = Scored(lambda sample: len(sample.completion) / 100)
    recorder = Recorder(reward)
    recorder.judge(PROMPTS, TEXTS, "")
    assert len(reward.seen) == 3
    assert recorder(PROMPTS, TEXTS) == [0.11, 0.0, 0.14]
    assert len(reward.seen) == 3
    assert recorder(PROMPTS[:1], ["Stars."]) == [0.06]
    assert len(reward.seen) == 4


def test_a_step_whose_judge_is_not_awake_logs_no_contrast_of_the_step_before() -> None:
    recorder = Recorder(PoshReward(MatchJudge()))
    logged: dict[str, float] = {}
    recorder.contrasts = {0: 0.25}
    recorder.judge(PROMPTS, TEXTS, "it sleeps", logged.__setitem__, **COLUMNS)
    assert {verdict.note for verdict in recorder.verdicts} == {"it sleeps"}
    assert "posh/contrast" not in logged
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
    recorder.watchers.append(lambda who, log_metric: calls.append((who, log_metric, judge.depth, len(who.verdicts))))
    recorder(PROMPTS, TEXTS, log_metric=print, **COLUMNS)
    with awake([judge]) as asleep:
        recorder.judge(PROMPTS, TEXTS, asleep, **COLUMNS)
        assert len(calls) == 1
    recorder(PROMPTS, TEXTS, **COLUMNS)
    assert calls == [(recorder, print, 0, 3), (recorder, None, 0, 3)]


class Noted(MatchJudge):
    """Notes when its outermost `with` begins and ends, in a list that several share."""

    def __init__(self, letter: str, notes: list[str]) -> None:
        super().__init__()
        self.letter, self.notes, self.depth = letter, notes, 0

    def __enter__(self) -> Self:
        self.depth += 1
        if self.depth == 1:
            self.notes.append(f"{self.letter} wakes")
        return self

    def __exit__(self, *args: Any) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.notes.append(f"{self.letter} sleeps")


def test_judges_of_a_step_are_awake_one_after_another_and_each_once() -> None:
    """Of a judge of 30 GB and one of 18 GB a GPU must hold the larger, and not both."""
    notes: list[str] = []
    large, small = Noted("large", notes), Noted("small", notes)
    rewards = [PoshReward(large), LaveReward(small, rationale=False), PoshReward(large), Scored(lambda _: 1.0)]
    recorders = [Recorder(reward) for reward in rewards]
    columns = {"reference": ["A red star."], "answers": [["red"]], "question": ["Which colour?"]}
    judge_step(recorders, PROMPTS[:1], ["A red star."], lambda *_: None, columns)
    assert notes == ["large wakes", "large sleeps", "small wakes", "small sleeps"]
    assert [recorder.verdicts[0].status for recorder in recorders] == [Status.OK] * 4


def test_a_judge_that_cannot_be_woken_fails_its_rows_and_raises_nothing() -> None:
    class Gone(MatchJudge):
        def __enter__(self) -> Self:
            raise OSError("its engine is gone")

    recorder = Recorder(PoshReward(Gone()))
    assert recorder(PROMPTS, TEXTS, **COLUMNS) == [None] * 3
    assert {verdict.status for verdict in recorder.verdicts} == {Status.ERROR}
    assert "its engine is gone" in recorder.verdicts[0].note


def test_a_missing_column_is_said_as_by_the_reward() -> None:
    with pytest.raises(ValueError, match="posh needs the dataset column 'reference'"):
        Recorder(PoshReward(MatchJudge()))(PROMPTS, TEXTS, id=[1, 2, 3])


def test_one_row_in_fifty_is_judged_on_other_rows_too() -> None:
    things = [f"{color} {name}" for color in ("red", "blue") for name in ("dog", "star")]
    texts = [f"A {thing} number {number}." for thing in things for number in range(25)] + [""]
    chosen = [row for row, text in enumerate(texts) if text and crc32(text.encode()) % EVERY == 0]
    assert 1 <= len(chosen) < len(texts) / 10
    recorder, logged = Recorder(PoshReward(MatchJudge())), []
    recorder(
        [""] * len(texts),
        texts,
        log_metric=lambda name, value: logged.append((name, value)),
        reference=texts[:-1] + texts[:1],
    )
    (contrast,) = [value for name, value in logged if name == "posh/contrast"]
    assert list(recorder.contrasts) == chosen
    assert contrast > 0.2


def test_a_contrast_coef_takes_off_what_a_text_earns_on_another_row() -> None:
    texts = ["A red star.", "A blue square.", "There is a thing in the picture.", ""]
    columns = {"reference": ["A red star.", "A blue square.", "A red star.", "A blue square."]}
    plain, half, full = (Recorder(PoshReward(MatchJudge()), coef) for coef in (0.0, 0.5, 1.0))
    paid = [recorder(["Describe."] * 4, texts, **columns) for recorder in (plain, half, full)]
    assert [verdict.score for verdict in full.verdicts] == paid[0]  # the verdicts stay
    assert full.contrasts.keys() == set(range(4))
    assert paid[2] == pytest.approx([full.contrasts[row] for row in range(4)])
    assert paid[1] == pytest.approx([(a + b) / 2 for a, b in zip(paid[0], paid[2], strict=True)])  # type: ignore[operator]
    assert paid[2][0] > 0.5
    assert paid[2][2] == pytest.approx(0.0)  # it says the same of every picture


def test_a_contrast_coef_asks_more_questions() -> None:
    counts = []
    for coef in (0.0, 1.0):
        reward = PoshReward(MatchJudge())
        Recorder(reward, coef)(
            ["Describe."] * 2, ["A red star.", "A blue square."], reference=["A red star.", "A dog."]
        )
        counts.append(reward.judge.usage.questions)
    assert counts[0] < counts[1]
