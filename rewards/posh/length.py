"""Texts longer than what is judged, so that length is no refuge.

cut = judged_part(sample)                           # the first JUDGED_CHARACTERS characters
verdict = charge_unread(verdict, sample, "f1")      # precision pays for the characters nobody read
read_note([("the completion", 12_000, 3_588)])      # what a judge with a short context did not read

Past JUDGED_CHARACTERS nobody parses a completion, and the rest counts as wrong (default mode only). A judge may read
less than that. Then recall does not find what was cut of the completion, which counts as left out, and precision does
not find what was cut of a reference, which is not the completion's fault: the verdict's note says so.
"""

from collections.abc import Sequence
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
    note = f"only the first {JUDGED_CHARACTERS:,} of {total:,} characters of the completion are judged"
    note = f"{note}; {verdict.note}" if verdict.note else note
    return replace(verdict, score=parts[score], parts=parts, spans=(*verdict.spans, unread), note=note)


def read_note(texts: Sequence[tuple[str, int, int]]) -> str:
    """A sentence on what the judge read of those texts (name, length, characters cut) that were cut, else ""."""
    return "; ".join(
        f"the judge read {size - cut:,} of {size:,} characters of {name}" for name, size, cut in texts if cut
    )
