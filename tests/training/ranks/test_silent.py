"""A judge that answers nothing for steps in a row, on one of two ranks."""

import pytest
import torch

from spanreward.rewards import Status, Verdict
from spanreward.training.ranks.silent import MAX_SILENT_STEPS, SilentJudges

SCORED = Verdict(0.5)
FAILED = Verdict(None, Status.ERROR, note="its engine is gone")
LATE = Verdict(None, Status.TIMEOUT, note="late")
ABSENT = Verdict(None, Status.NOT_APPLICABLE)
EMPTY = Verdict(0.0, status=Status.EMPTY)
NOBODY = torch.tensor([[False], [False]])
SECOND = torch.tensor([[False], [True]])


@pytest.mark.parametrize(
    ("verdicts", "silent"),
    [
        ([FAILED, LATE], True),
        ([FAILED, ABSENT, EMPTY], True),
        ([FAILED, SCORED], False),
        ([ABSENT, ABSENT], False),
        ([EMPTY, SCORED], False),
        ([], False),
    ],
)
def test_a_judge_is_silent_where_it_only_failed(verdicts: list[Verdict], silent: bool) -> None:
    silence = SilentJudges(2)
    silence.add(1, verdicts)
    assert silence.silent == [False, silent]
    silence.begin()
    assert silence.silent == [False, False]


def test_all_that_is_judged_in_a_step_counts() -> None:
    """As by dynamic sampling."""
    silence = SilentJudges(1)
    silence.add(0, [FAILED, LATE])
    assert silence.reasons == ["its engine is gone"]
    silence.add(0, [SCORED])
    assert silence.silent == [False]


def test_steps_in_a_row_count() -> None:
    silence = SilentJudges(1)
    almost = [SECOND] * (MAX_SILENT_STEPS - 1)
    # ranks that take turns are not silent
    for silent in (*almost, NOBODY, *almost, *[SECOND.flip(0), SECOND] * MAX_SILENT_STEPS):
        assert silence.lasting(silent) is None
    found = [silence.lasting(SECOND) for _ in almost]
    assert found == [None] * (len(almost) - 1) + [(1, 0)]
