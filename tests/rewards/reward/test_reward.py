"""The contract with a trainer: columns in, scores or None out, and no exception of a judge."""

import logging
from typing import Any

import pytest

from spanreward import MatchJudge, PoshReward, Sample, Span, Status, Verdict
from spanreward.rewards.reward.reward import Reward, summarise

PROMPT = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Describe."}]}]


class Fixed(Reward):
    """Gives the verdicts or raises the error it was made with, and keeps the samples it saw."""

    columns = ("reference",)

    def __init__(self, verdicts: Any = ()) -> None:
        super().__init__("fixed")
        self.verdicts = verdicts
        self.samples: list[Any] = []

    def assess(self, samples: Any) -> Any:
        self.samples = list(samples)
        if isinstance(self.verdicts, BaseException):
            raise self.verdicts
        return self.verdicts or [Verdict(0.5) for _ in samples]


def test_messages_become_a_sample() -> None:
    reward = Fixed()
    said = [{"role": "assistant", "content": " A red circle.\n"}]
    assert reward([PROMPT], [said], completion_ids=[[1, 2]], reference=["A star."]) == [0.5]
    assert reward.samples == [Sample("Describe.", " A red circle.\n", references=("A star.",))]


def test_none_in_a_row_is_not_applicable_and_its_neighbours_are_scored() -> None:
    reward = PoshReward(MatchJudge())
    columns = {"reference": ["A star.", None, [], ["", " "], ["A cat.", "A star."]]}
    assert reward([PROMPT] * 5, ["A star."] * 5, **columns) == [1.0, None, None, None, 1.0]
    _, verdicts = reward.judge_completions([PROMPT] * 5, ["A star."] * 5, **columns)
    assert [verdict.status for verdict in verdicts] == ["ok", *["not_applicable"] * 3, "ok"]


def test_a_call_by_hand_needs_no_prompts() -> None:
    posh = PoshReward("match")
    completions, references = ["A red dog.", "A cat."], ["A red dog.", "A dog."]
    by_hand = posh(completions=completions, reference=references)
    assert by_hand == posh(["", ""], completions, reference=references)


def causes(name: str, failed: float = 0.0, empty: float = 0.0, **shares: float) -> dict[str, float]:
    """The log's shares of completions by what became of them, of texts that were read whole."""
    logged = {"not_read": 0.0, "failed_fraction": failed, "empty_fraction": empty}
    for status in ("not_applicable", "unparsed", "timeout", "error"):
        logged[f"unscored_fraction/{status}"] = shares.get(status, 0.0)
    return {f"{name}/{key}": share for key, share in logged.items()}


def logs_of(reward: Reward, completions: list[str], references: list[str]) -> dict[str, float]:
    logged: dict[str, float] = {}
    reward(completions=completions, reference=references, log_metric=logged.__setitem__)
    return logged


def test_what_was_not_read_is_logged_and_named_once(caplog: pytest.LogCaptureFixture) -> None:
    reward = PoshReward(MatchJudge(), name="words")
    for _ in range(2):
        logged = logs_of(reward, ["**A cat.**"], ["A cat."])
        assert logged["words/not_read"] == pytest.approx(0.4)
    (record,) = caplog.records
    for told in ("words", "40 %", "4 of 10 characters", "Markdown 4"):
        assert told in record.getMessage()


def test_what_breaks_becomes_none_with_a_status_and_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken = Fixed(RuntimeError("the judge is gone"))
    with caplog.at_level(logging.ERROR):
        logged = logs_of(broken, ["x"] * 3, ["y"] * 3)
    (record,) = caplog.records
    assert "3 completions" in record.getMessage()
    assert record.exc_info[1].args == ("the judge is gone",)
    assert logged == causes("fixed", failed=1.0, error=1.0)
    assert broken([PROMPT], ["x"], reference=["y"]) == [None]
    _, verdicts = broken.judge_completions([PROMPT], ["x"], reference=["y"])
    assert verdicts == [Verdict(None, Status.ERROR, note="RuntimeError: the judge is gone")]


class Fragile(Reward):
    """Raises for a call with a completion "bad", and keeps the sizes of its calls."""

    def __init__(self, by_batch: bool = False) -> None:
        super().__init__("fragile")
        self.by_batch = by_batch
        self.calls: list[int] = []

    def assess(self, samples: Any) -> Any:
        self.calls.append(len(samples))
        texts = [sample.completion for sample in samples]
        if "bad" in texts:
            raise RuntimeError(f"cannot read {texts}, api_key=sk-0123456789")
        return [Verdict(1 / len(samples)) if self.by_batch else Verdict(0.5) for _ in samples]


def test_a_row_that_raises_fails_alone_and_tells_of_itself_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reward = Fragile()
    samples = [Sample("", text) for text in ("a", "b", "bad", "c", "d", "e", "f", "g")]
    verdicts = reward.judge_samples(samples)
    assert [verdict.score for verdict in verdicts] == [0.5, 0.5, None, *[0.5] * 5]
    note = "RuntimeError: cannot read ['bad'], api_key=***"
    assert verdicts[2] == Verdict(None, Status.ERROR, note=note)
    assert reward.calls == [8, 4, 2, 2, 1, 1, 4]
    assert len(caplog.records) == 1
    reward.calls = []
    reward.judge_samples([*samples[:2], *samples[3:]])
    assert reward.calls == [7]


def test_rows_that_are_compared_stay_together() -> None:
    reward = Fragile(by_batch=True)
    verdicts = reward.judge_samples([Sample("", text) for text in ("a", "bad", "b")])
    assert [verdict.score for verdict in verdicts] == [0.5, None, 0.5]
    assert reward.calls == [3, 1, 1, 1, 2]


def test_rows_that_raise_only_together_tell_nothing_of_each_other() -> None:
    class Together(Fragile):
        def assess(self, samples: Any) -> Any:
            if len(samples) > 1:
                raise RuntimeError(f"cannot compare {[one.completion for one in samples]}")
            return super().assess(samples)

    verdicts = Together(by_batch=True).judge_samples([Sample("", "a"), Sample("", "b")])
    note = "NotAsked: rows together raise RuntimeError"
    assert verdicts == [Verdict(None, Status.ERROR, note=note)] * 2


def test_a_judge_that_does_not_wake_is_woken_once() -> None:
    class Asleep(MatchJudge):
        woken = 0

        def _wake(self) -> None:
            self.woken += 1
            raise RuntimeError("no memory is free")

    judge = Asleep()
    verdicts = PoshReward(judge).judge_samples([Sample("", "x", references=("y",))] * 4)
    assert verdicts == [Verdict(None, Status.ERROR, note="RuntimeError: no memory is free")] * 4
    assert judge.woken == 1


def test_a_killed_run_is_not_taken_for_a_broken_judge() -> None:
    with pytest.raises(KeyboardInterrupt):
        Fixed(KeyboardInterrupt())([PROMPT], ["x"], reference=["y"])


def test_every_part_is_logged_as_the_mean_of_those_that_have_it() -> None:
    verdicts = [
        Verdict(0.4, parts={"precision": 0.2, "recall": 1.0, "f1": 0.4, "precision_entity": 0.3}),
        Verdict(0.6, parts={"precision": 1.0, "recall": 0.4, "f1": 0.6}),
        Verdict(0.0, Status.EMPTY, {"precision": 0.0, "recall": 0.0, "f1": 0.0}),
        Verdict(None, Status.TIMEOUT),
        Verdict(None, Status.NOT_APPLICABLE),
    ]
    assert Fixed(verdicts)([""] * 5, ["x"] * 5, reference=["y"] * 5) == [0.4, 0.6, 0, None, None]
    assert logs_of(Fixed(verdicts), ["x"] * 5, ["y"] * 5) == {
        "fixed/precision": pytest.approx(1.2 / 3),
        "fixed/recall": pytest.approx(1.4 / 3),
        "fixed/f1": pytest.approx(1.0 / 3),
        "fixed/precision_entity": pytest.approx(0.3),
        **causes("fixed", failed=0.2, empty=0.2, timeout=0.2, not_applicable=0.2),
    }
    assert summarise([]) == {}


def test_posh_logs_precision_and_recall_apart() -> None:
    completions = ["A red circle.", "A cat.", "A cat."]
    references = ["A blue circle.", "A cat. A dog.", "A cat."]
    logged = logs_of(PoshReward(MatchJudge(), name="words"), completions, references)
    # ratings of 5, precision: (5, 1), (5), (5); recall: (5, 1), (5, 1.05), (5): a colour given
    # otherwise, a dog unsaid
    f1 = (0.6 + 2 * 0.605 / 1.605 + 1) / 3
    parts = {"precision": (0.6 + 1 + 1) / 3, "recall": (0.6 + 0.605 + 1) / 3, "f1": f1, "filler": 0}
    parts |= {"precision_entity": 1.0, "recall_entity": (1 + 0.605 + 1) / 3}
    parts |= {"precision_attribute": 0.2, "recall_attribute": 0.2}
    means = {f"words/{part}": mean for part, mean in parts.items()}
    assert logged == pytest.approx({**means, **causes("words")})


@pytest.mark.parametrize("status", Status)
def test_a_score_is_there_exactly_when_the_status_says_so(status: Any) -> None:
    scored = status in ("ok", "empty")
    assert Verdict(0.5 if scored else None, status).status is status
    with pytest.raises(ValueError, match="ok and empty"):
        Verdict(None if scored else 0.5, status)
    assert status.failed == (status in ("unparsed", "timeout", "error"))


@pytest.mark.parametrize(("start", "end"), [(3, 3), (4, 3), (-1, 3)])
def test_a_span_covers_something(start: int, end: int) -> None:
    assert Span(0, 1, 1.0, 0.0, "entity", "", 0).end == 1
    with pytest.raises(ValueError, match=f"got start {start} and end {end}"):
        Span(start, end, 1.0, 0.0, "entity", "", 0)
