"""Log messages about completions that a reward could not judge. A trainer shows None without a
reason.

    first_failure([Verdict(None, Status.ERROR, note="KeyError: 'label'")])  # '"KeyError: ..."'
    many_failed(verdicts)       # "5 of 8", or "" if half or fewer failed
"""

from collections.abc import Sequence

from spanreward.rewards.base.verdict import Verdict

MOST_NOTE_CHARACTERS = 300  # characters of a note in the log, at most
FAILURE_SHARE_TO_WARN = 0.5  # a larger share of failures in a call gives a message


def first_failure(verdicts: Sequence[Verdict]) -> str:
    """Returns the note of the first failed verdict, or "" if no verdict failed.

    The note is quoted and shortened to one line. Control characters become escapes, because a note
    may quote a completion.
    """
    for verdict in verdicts:
        if verdict.status.failed:
            note = verdict.note or verdict.status.value
            return repr(note[:MOST_NOTE_CHARACTERS])
    return ""


def nothing_scored(verdicts: Sequence[Verdict]) -> str:
    """Returns the first note if no verdict of a call has a score, otherwise "".

    For calls without a failure of the judge, for example if all rows lack a column.
    """
    if any(verdict.score is not None for verdict in verdicts):
        return ""
    for verdict in verdicts:
        if verdict.note:
            return repr(verdict.note[:MOST_NOTE_CHARACTERS])
    return ""


def many_failed(verdicts: Sequence[Verdict]) -> str:
    """Returns the number of failed verdicts as "5 of 8", or "" if at most half of the verdicts
    failed.
    """
    failed = [verdict for verdict in verdicts if verdict.status.failed]
    if len(failed) > FAILURE_SHARE_TO_WARN * len(verdicts):
        return f"{len(failed)} of {len(verdicts)}"
    return ""
