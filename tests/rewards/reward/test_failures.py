"""A reward that fails says so once, in one line: TRL's own trainers show a None and no reason."""

import logging

import pytest

from spanreward import Sample, Status, Verdict, reward
from spanreward.rewards.reward.failures import (
    MOST_NOTE_CHARACTERS,
    first_failure,
    many_failed,
    nothing_scored,
)

OK = Verdict(0.5)
ABSENT = Verdict(None, Status.NOT_APPLICABLE, note="this row has no reference")
FAILED = Verdict(None, Status.ERROR, note="KeyError: 'label'")


def test_a_call_without_any_score_says_why() -> None:
    lonely = Verdict(None, Status.NOT_APPLICABLE, note="no other completion of this request")
    assert nothing_scored([lonely, lonely]) == "'no other completion of this request'"
    assert nothing_scored([lonely, Verdict(0.0)]) == ""
    assert nothing_scored([]) == ""


def test_a_note_is_one_line_of_bounded_length() -> None:
    assert first_failure([OK, ABSENT]) == ""
    assert first_failure([OK, FAILED]) == repr(FAILED.note)
    assert first_failure([Verdict(None, Status.TIMEOUT)]) == "'timeout'"
    hostile = Verdict(None, Status.ERROR, note="\x1b[2J\r\nstep 3: fine\u2028\u202e" + "x" * 9999)
    line = first_failure([hostile])
    assert line.isprintable()
    assert line.startswith(r"'\x1b[2J\r\nstep 3: fine\u2028\u202e")
    assert len(line) < 2 * MOST_NOTE_CHARACTERS


def test_more_than_half_is_many() -> None:
    assert many_failed([]) == ""
    assert many_failed([OK, FAILED]) == ""
    assert many_failed([FAILED, ABSENT, ABSENT]) == ""
    assert many_failed([OK, FAILED, FAILED]) == "2 of 3"


def test_a_reward_names_its_first_failure_once_and_most_failures_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @reward(name="halting")
    def judged(sample: Sample) -> float:
        if sample.completion == "good":
            return 1.0
        raise KeyError(sample.completion)

    caplog.set_level(logging.WARNING)
    for completions in (["good", "good", "a\nb"], ["bad", "bad", "good"], ["bad", "bad", "bad"]):
        judged([""] * 3, completions)
    first, many = (record.getMessage() for record in caplog.records)
    assert first.startswith("halting ")
    assert "\"KeyError: 'a\\\\nb'\"" in first
    assert many.startswith("halting ")
    assert "2 of 3 completions" in many
