"""What a cascade's audits say of its student: how often the teacher agrees with it, and whether that has fallen.

    audits = [(40, 38), (41, 40), ...]           # per batch: audited questions, and those on which the two agree
    interval(audits[-10:])                       # .91, .97
    fall(audits, window=10, floor=0.7)           # a sentence where the policy has found the student's weakness, else ""

Audits of one text, and of a group's texts, are not independent, so that the true interval is wider.
"""

from collections.abc import Sequence

from scipy.stats import binomtest

Audits = Sequence[tuple[int, int]]
LEAST = 30  # audited questions that a window needs: one disagreement among few is no alarm


def interval(audits: Audits) -> tuple[float, float] | None:
    """Returns Wilson's interval (95 %) of the share of audited questions on which both agree; None for fewer than LEAST."""
    audited, agreed = (sum(counts) for counts in zip(*audits, strict=True)) if audits else (0, 0)
    if audited < LEAST:
        return None
    found = binomtest(agreed, audited).proportion_ci(method="wilson")
    return float(found.low), float(found.high)


def fall(audits: Audits, window: int, floor: float) -> str:
    """Returns a sentence if the interval of the last `window` batches lies wholly below that of the first ones, or
    below `floor`, else "".
    """
    first, now = interval(audits[:window]), interval(audits[-window:])
    if len(audits) < window or first is None or now is None or now[1] >= max(first[0], floor):
        return ""
    return (
        f"the teacher agrees with the cascade's student on {now[0]:.0%} to {now[1]:.0%} of the audited questions (at "
        f"the start {first[0]:.0%} to {first[1]:.0%}, limit {floor:.0%}): the policy may have found the student's "
        "weakness. Go back to an earlier checkpoint, and raise sure, train the student again, or ask the teacher alone."
    )
