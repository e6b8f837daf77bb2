"""The base class of the metrics that judge plain text (rewards/text/written.py): their spans lie on
what was written.

class Words(ReadingReward):
    def assess_plain(self, samples):                       # completion "A red kite."
        return [Verdict(1.0, spans=(Span(2, 5, 1.0, 0.1, "word", "", 0),)) for _ in samples]

Words("words").assess([Sample("", "A **red** kite.")])[0].spans[0]         # of characters 4 to 7
"""

from collections.abc import Sequence
from dataclasses import replace

from spanreward.rewards.base.checks import Mode
from spanreward.rewards.base.verdict import Sample, Span, Unread, Verdict
from spanreward.rewards.reward.reward import Reward, checked
from spanreward.rewards.text.written import Reading, read_text

COUNTED = "; characters are those of the plain text"  # added to a note that counts them


class ReadingReward(Reward):
    """Base class that reads texts once, but in mode "published".

    A subclass defines `assess_plain`.
    """

    mode: Mode = "default"

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns one Verdict per sample, in order, with spans on the texts as they were
        written.
        """
        if self.mode == "published":
            return self.assess_plain(checked(samples))
        verdicts = self.assess_plain([plain_sample(sample) for sample in checked(samples)])
        return [
            as_written(verdict, sample) for verdict, sample in zip(verdicts, samples, strict=True)
        ]

    def assess_plain(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns one Verdict per sample, in order. The samples' texts are plain."""
        raise NotImplementedError(f"{type(self).__name__} must define assess_plain(samples)")


def plain_sample(sample: Sample) -> Sample:
    """Returns the sample with its completion, references, context and anchor as plain texts."""
    return replace(
        sample,
        completion=read_text(sample.completion).plain,
        references=tuple(read_text(reference).plain for reference in sample.references),
        context=sample.context and read_text(sample.context).plain,
        anchor=sample.anchor and read_text(sample.anchor).plain,
    )


def as_written(verdict: Verdict, sample: Sample) -> Verdict:
    """Returns the verdict on `plain_sample(sample)` with spans on the sample's own texts, and with
    what of the completion was not read.
    """
    reading = read_text(sample.completion)
    spans = _as_written(verdict.spans, reading, sample.completion)
    missed = verdict.missed
    if missed:
        reference = sample.references[verdict.reference]
        missed = _as_written(missed, read_text(reference), reference)
    note = verdict.note
    if " characters" in note and reading.plain is not sample.completion:
        note += COUNTED
    unread = tuple(Unread(*part) for part in reading.unread)
    return replace(verdict, spans=spans, missed=missed, note=note, unread=unread)


def _as_written(spans: tuple[Span, ...], reading: Reading, text: str) -> tuple[Span, ...]:
    if reading.plain is text:
        return spans
    moved = []
    for span in spans:
        start, end = reading.written(span.start, span.end)
        note = span.note
        if span.kind == "unread":
            note += COUNTED
        moved.append(replace(span, start=start, end=end, note=note))
    return tuple(moved)
