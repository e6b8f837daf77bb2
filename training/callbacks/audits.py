"""What a cascade's audits say: how often the teacher agrees with the student, and whether that has fallen.

audits = [(40, 38), (41, 40), ...]         # per batch: audited questions, and those on which the two agree
interval(audits[-10:])                     # .91, .97
fall(audits, window=10, floor=0.7)         # a sentence if the policy has found the student's weakness, else ""
"""

from collections.abc import Sequence

LEAST = 30  # audited questions in a window: one disagreement among few is no alarm
MARGIN = 0.05  # fuller texts alone cost some agreement


def interval(audits: Sequence[tuple[int, int]]) -> tuple[float, float] | None:
    """Returns Wilson's interval (95 %) of the share of audited questions on which both agree; None for too few."""
    from scipy.stats import binomtest  # half a second, which every start of a training would take

    audited, agreed = (sum(column) for column in zip((0, 0), *audits, strict=True))
    found = binomtest(agreed, audited).proportion_ci(method="wilson") if audited >= LEAST else None
    return None if found is None else (float(found.low), float(found.high))


def fall(audits: Sequence[tuple[int, int]], window: int, floor: float) -> str:
    """Returns a sentence if the last window's interval is MARGIN below the first's, or below the floor, else ""."""
    first, now = interval(audits[:window]), interval(audits[-window:])
    if len(audits) < window or first is None or now is None or now[1] >= max(first[0] - MARGIN, floor):
        return ""
    return (
        f"the teacher agrees with the cascade's student on {now[0]:.0%} to {now[1]:.0%} of the audited questions (at "
        f"the start {first[0]:.0%} to {first[1]:.0%}, limit {floor:.0%}): the policy may have found the student's "
        "weakness; go back to an earlier checkpoint, and raise sure, train the student again, or ask the teacher alone."
    )
