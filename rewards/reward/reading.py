"""The base class of the metrics that judge plain text (rewards/text/written.py): their spans lie on what was written.

class Words(ReadingReward):
    def assess_plain(self, samples):                       # completion "A red kite."
        return [Verdict(1.0, spans=(Span(2, 5, 1.0, 0.1, "word", "", 0),)) for _ in samples]

Words("words").assess([Sample("", "A **red** kite.")])[0].spans[0]         # of characters 4 to 7
"""

from collections.abc import Sequence
from dataclasses import replace

from spanreward.rewards.base.checks import Mode
from spanreward.rewards.base.verdict import Sample, Span, Verdict
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.text.written import Reading, read_text

COUNTED = "; characters are those of the plain text"  # a note that counts them


class ReadingReward(Reward):
    """Base class that reads every text once before a metric sees it. A subclass defines `assess_plain`.

    Attributes:
        mode: "published" judges texts as they were written, as published code does.
    """

    mode: Mode = "default"

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns one Verdict per sample, in order, with spans on the texts as they were written."""
        if self.mode == "published":
            return self.assess_plain(samples)
        verdicts = self.assess_plain([plain_sample(sample) for sample in samples])
        return [as_written(verdict, sample) for verdict, sample in zip(verdicts, samples, strict=True)]

    def assess_plain(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns one Verdict per sample, in order, with spans on the samples' texts, which are plain."""
        raise NotImplementedError(f"{type(self).__name__} must define assess_plain(samples)")


def plain_sample(sample: Sample) -> Sample:
    """Returns the sample with plain texts: completion, references, context and anchor."""
    return replace(
        sample,
        completion=read_text(sample.completion).plain,
        references=tuple(read_text(reference).plain for reference in sample.references),
        context=None if sample.context is None else read_text(sample.context).plain,
        anchor=None if sample.anchor is None else read_text(sample.anchor).plain,
    )


def as_written(verdict: Verdict, sample: Sample) -> Verdict:
    """Returns the verdict on `plain_sample(sample)` with its spans where the sample's own texts have their words."""
    said = read_text(sample.completion)
    changed = said.plain is not sample.completion
    missed = verdict.missed
    if missed:
        missed = _placed(missed, read_text(sample.references[verdict.reference]))
    note = verdict.note + COUNTED if changed and " characters" in verdict.note else verdict.note
    return replace(verdict, spans=_placed(verdict.spans, said), missed=missed, note=note)


def _placed(spans: Sequence[Span], reading: Reading) -> tuple[Span, ...]:
    if isinstance(reading.origin, range):
        return tuple(spans)
    return tuple(_moved(span, *reading.written(span.start, span.end)) for span in spans)


def _moved(span: Span, start: int, end: int) -> Span:
    note = span.note + COUNTED if span.kind == "unread" else span.note
    return replace(span, start=start, end=end, note=note)
