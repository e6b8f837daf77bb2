"""What is too long to be judged counts as wrong; what no reader has read has no score.

verdict = charge_unread(verdict, sample, "f1")      # precision pays for the characters past judged_length
read_note([("the completion", 12_000, 3_588)])      # what a judge with a short context did not read

A judge may read less than what is judged (rewards/length.py). Then recall does not find what was cut of the completion,
which counts as left out, and precision does not find what was cut of a reference, which is not the completion's fault:
the verdict's note says so.
"""

from collections.abc import Sequence
from dataclasses import replace

from rewards.language.server_reader import ReaderFailure
from rewards.length import judged_length
from rewards.posh.scores import coarse_scores
from rewards.verdict import Sample, Span, Status, Verdict


def charge_unread(verdict: Verdict, sample: Sample, score: str) -> Verdict:
    """The verdict on the judged part as one on the whole completion.

    Precision is multiplied by the share of the characters that were judged; the others are one span of score 0 whose
    credit is what they cost.
    """
    read, total = judged_length(sample.completion), len(sample.completion)
    if total <= read or verdict.status is not Status.OK or verdict.score is None:
        return verdict
    precision = verdict.parts["precision"] * read / total
    parts = {**verdict.parts, **coarse_scores(precision, verdict.parts["recall"], score)}
    unread = Span(
        read,
        total,
        score=0.0,
        credit=parts[score] - verdict.score,
        kind="unread",
        note=f"not judged: past {read} characters",
        component=max((span.component for span in verdict.spans), default=-1) + 1,
    )
    note = f"only the first {read:,} of {total:,} characters of the completion are judged"
    note = f"{note}; {verdict.note}" if verdict.note else note
    return replace(verdict, score=parts[score], parts=parts, spans=(*verdict.spans, unread), note=note)


def read_note(texts: Sequence[tuple[str, int, int]]) -> str:
    """A sentence on what the judge read of those texts (name, length, characters cut) that were cut, else ""."""
    return "; ".join(
        f"the judge read {size - cut:,} of {size:,} characters of {name}" for name, size, cut in texts if cut
    )


def not_read(sample: Sample, failure: ReaderFailure) -> Verdict:
    """The verdict on a sample whose texts the reader did not read."""
    if not sample.references:
        return Verdict(None, Status.NOT_APPLICABLE, note="no reference that names anything")
    return Verdict(None, failure.status, note=str(failure))
