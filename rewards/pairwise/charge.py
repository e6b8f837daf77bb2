"""What a completion loses for words that say nothing, and for those that nobody read: both count as wrong."""

from dataclasses import replace

from rewards.filler import beside, charge_filler, find_filler
from rewards.length import judged_length
from rewards.verdict import Sample, Span, Verdict


def judged(sample: Sample) -> str:
    """As much of the completion as is judged."""
    return sample.completion[: judged_length(sample.completion)]


def charge(verdict: Verdict, sample: Sample, cut: int = 0) -> Verdict:
    """The verdict on the judged part, less `cut` characters at its end that the judge could not read, as one on the
    whole completion: its score is multiplied by the share that says something, and by the share that was read.
    """
    text = judged(sample)
    verdict = charge_filler(verdict, text, find_filler(text, beside(sample)), lambda parts, kept: dict(parts))
    read, total = len(text) - cut, len(sample.completion)
    if verdict.score is None or read >= total:
        return verdict
    share = read / total
    kept = [
        replace(span, end=min(span.end, read), credit=span.credit * share)
        for span in verdict.spans
        if span.start < read
    ]
    number = max((span.component for span in kept), default=-1) + 1
    unread = Span(
        read, total, 0.0, verdict.score * (share - 1), "unread", f"not judged: past {read} characters", number
    )
    return replace(verdict, score=verdict.score * share, spans=(*kept, unread))
