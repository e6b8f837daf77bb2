"""A reward that fails says so once, in one line: TRL's own trainers show a None and no reason."""

import logging
from dataclasses import replace
from typing import Any

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
LONELY = Verdict(None, Status.NOT_APPLICABLE, note="alone")
FAILED = Verdict(None, Status.ERROR, note="KeyError: 'label'")


HOSTILE = "\x1b[2J\r\nstep 3: fine\u2028\u202e" + "x" * 9999


@pytest.mark.parametrize(
    ("tell", "verdicts", "told"),
    [
        (nothing_scored, [LONELY, LONELY], "'alone'"),
        (nothing_scored, [LONELY, Verdict(0.0)], ""),
        (nothing_scored, [], ""),
        (first_failure, [OK, ABSENT], ""),
        (first_failure, [OK, FAILED], repr(FAILED.note)),
        (first_failure, [Verdict(None, Status.TIMEOUT)], "'timeout'"),
        (first_failure, [replace(FAILED, note=HOSTILE)], repr(HOSTILE[:MOST_NOTE_CHARACTERS])),
        (many_failed, [], ""),
        (many_failed, [OK, FAILED], ""),
        (many_failed, [FAILED, ABSENT, ABSENT], ""),
        (many_failed, [OK, FAILED, FAILED], "2 of 3"),
    ],
)
def test_what_a_log_says_of_verdicts(tell: Any, verdicts: list[Verdict], told: str) -> None:
    assert tell(verdicts) == told
    assert told.isprintable()


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
