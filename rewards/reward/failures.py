"""What the log says of completions that a reward could not judge. A trainer shows None, and no
reason.

    first_failure([Verdict(None, Status.ERROR, note="KeyError: 'label'")])  # '"KeyError: ..."'
    many_failed(verdicts)       # whether more than half of them failed
"""

from collections.abc import Sequence

from spanreward.rewards.base.verdict import Verdict

MOST_NOTE_CHARACTERS = 300  # characters of a note in the log
MANY = 0.5  # a larger share of a call's completions is named


def first_failure(verdicts: Sequence[Verdict]) -> str:
    """Returns why the first failed one failed, in one line of bounded length; "" without any.

    A note may quote a text, so that control characters are written as escapes.
    """
    for verdict in verdicts:
        if verdict.status.failed:
            note = verdict.note or verdict.status.value
            return repr(note[:MOST_NOTE_CHARACTERS])
    return ""


def nothing_scored(verdicts: Sequence[Verdict]) -> str:
    """Returns why the first has no score where none of a call has one, though no judge failed, as
    of rows without a column; "" else.
    """
    if any(verdict.score is not None for verdict in verdicts):
        return ""
    for verdict in verdicts:
        if verdict.note:
            return repr(verdict.note[:MOST_NOTE_CHARACTERS])
    return ""


def many_failed(verdicts: Sequence[Verdict]) -> str:
    """Returns how many of a call's completions failed, as "5 of 8"; "" for half of them or less."""
    failed = [verdict for verdict in verdicts if verdict.status.failed]
    if len(failed) > MANY * len(verdicts):
        return f"{len(failed)} of {len(verdicts)}"
    return ""
