"""Completions longer than what is judged: the rest counts as wrong, so that length is no refuge (default mode only).

cut = judged_part(sample)                           # the first JUDGED_CHARACTERS characters
verdict = charge_unread(verdict, sample, "f1")      # precision pays for the characters nobody read
"""

from dataclasses import replace

from rewards.posh.scores import coarse_scores
from rewards.verdict import Sample, Span, Status, Verdict

JUDGED_CHARACTERS = 10_000


def judged_part(sample: Sample) -> Sample:
    """The sample with as much of its completion as is judged."""
    return replace(sample, completion=sample.completion[:JUDGED_CHARACTERS])


def charge_unread(verdict: Verdict, sample: Sample, score: str) -> Verdict:
    """The verdict on the judged part as one on the whole completion.

    Precision is multiplied by the share of the characters that were judged; the others are one span of score 0 whose
    credit is what they cost.
    """
    total = len(sample.completion)
    if total <= JUDGED_CHARACTERS or verdict.status is not Status.OK or verdict.score is None:
        return verdict
    precision = verdict.parts["precision"] * JUDGED_CHARACTERS / total
    parts = {**verdict.parts, **coarse_scores(precision, verdict.parts["recall"], score)}
    unread = Span(
        JUDGED_CHARACTERS,
        total,
        score=0.0,
        credit=parts[score] - verdict.score,
        kind="unread",
        note=f"not judged: past {JUDGED_CHARACTERS} characters",
        component=max((span.component for span in verdict.spans), default=-1) + 1,
    )
    return replace(verdict, score=parts[score], parts=parts, spans=(*verdict.spans, unread))
