"""Checks the verdicts that the `assess` of a metric returns, also of a metric of a user's own.

check_verdicts([Verdict(0.5)], samples)     # TypeError for two samples
reference_of_verdict(Verdict(0.5, reference=1), sample)     # the sample's second reference
"""

from collections.abc import Sequence
from typing import Any

from spanreward.rewards.base.verdict import Sample, Status, Verdict


def check_verdicts(verdicts: Any, samples: Sequence[Sample]) -> list[Verdict]:
    """Returns the verdicts that `assess` returned. A verdict with a span past the end of its text
    gets status ERROR.

    Raises TypeError unless the verdicts are a list with one Verdict for each sample.
    """
    count = len(samples)
    needed = f"assess must return a list of {count} verdicts, one for each sample"
    if not isinstance(verdicts, list):
        raise TypeError(f"{needed}, got {repr(verdicts)[:80]}")
    if len(verdicts) != count:
        raise TypeError(f"{needed}, got {len(verdicts)} in a list")
    for verdict in verdicts:
        if not isinstance(verdict, Verdict):
            raise TypeError(f"assess must return a list of verdicts, got {verdict!r:.80} in it")
    return list(map(_check_spans, verdicts, samples))


def _check_spans(verdict: Verdict, sample: Sample) -> Verdict:
    """Returns the verdict, or a verdict of status ERROR if a span ends past the end of its text:
    the span (0, 6) of the completion "a dog". Such a span would fail only later, in a page or in a
    trainer.
    """
    reference = reference_of_verdict(verdict, sample)
    for spans, text in ((verdict.spans, sample.completion), (verdict.missed, reference)):
        ends = [span.end for span in spans]
        last = max(ends, default=0)
        if last > len(text):
            note = f"a span ends at character {last} of a text that has {len(text)}"
            return Verdict(None, Status.ERROR, note=note)
    return verdict


def reference_of_verdict(verdict: Verdict, sample: Sample) -> str:
    """Returns the reference that the verdict is about, "" for a number without a reference."""
    number = verdict.reference
    return "".join(sample.references[number : number + 1])
