"""What a completion loses for words that say nothing, and for those that nobody read: both count as wrong."""

from rewards.filler import beside, charge_filler, find_filler
from rewards.length import charge_unread, judged_length
from rewards.verdict import Sample, Verdict


def judged(sample: Sample) -> str:
    """As much of the completion as is judged."""
    return sample.completion[: judged_length(sample.completion)]


def charge(verdict: Verdict, sample: Sample, cut: int = 0) -> Verdict:
    """The verdict on the judged part, less `cut` characters at its end that the judge could not read, as one on the
    whole completion: its score is multiplied by the share that says something, and by the share that was read.
    """
    text = judged(sample)
    verdict = charge_filler(verdict, text, find_filler(text, beside(sample)), unchanged)
    return charge_unread(verdict, len(text) - cut, len(sample.completion), unchanged)


def unchanged(parts: dict[str, float], kept: float) -> dict[str, float]:
    """Shares of votes, and ratings of criteria, are what the judge said of what it read."""
    return dict(parts)
