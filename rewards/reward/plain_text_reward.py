"""The base class of the metrics that judge plain text (rewards/text/written.py): their spans lie on
what was written.

class Words(PlainTextReward):
    def assess_plain(self, samples):                       # completion "A red kite."
        return [Verdict(1.0, spans=(Span(2, 5, 1.0, 0.1, "word", "", 0),)) for _ in samples]

Words("words").assess([Sample("", "A **red** kite.")])[0].spans[0]         # of characters 4 to 7
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from spanreward.rewards.base.checks import Mode
from spanreward.rewards.base.verdict import Sample, Span, Status, Unread, Verdict
from spanreward.rewards.reward.reward import Reward, checked
from spanreward.rewards.text.filler import penalise_filler
from spanreward.rewards.text.judged_part import judged_range
from spanreward.rewards.text.length import JUDGED_TOKENS, judged_length
from spanreward.rewards.text.padding import find_padding
from spanreward.rewards.text.pieces import OUTSIDE
from spanreward.rewards.text.written import Reading, read_text

COUNTED = "; characters are those of the plain text"  # added to a note that counts them


class PlainTextReward(Reward):
    """Base class that reads texts once, but in mode "published", and may judge one part of them
    only.

    A subclass defines `assess_plain`.

    Attributes:
        of_questions: whether it may judge answers. Then an answer beside a description is read in a
            row with a question.
        judged_part: the part of a completion that is judged (rewards/text/judged_part.py), None for
            the whole.
    """

    mode: Mode = "default"
    lowest: Mapping[str, float] = {}  # of each part that shrinks with the score, the lowest value
    of_questions: bool = False
    judged_part: str | None = None

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns one Verdict per sample, in order, with spans on the texts as they were written.

        A completion without the judged part is EMPTY.
        """
        samples = checked(samples)
        if self.judged_part is None:
            return self._assess_whole(samples)
        # the part takes the completion's place, "" where there is none
        ranges = [judged_range(sample.completion, self.judged_part) for sample in samples]
        within = []
        for sample, place in zip(samples, ranges, strict=True):
            start, end = place or (0, 0)
            within.append(replace(sample, completion=sample.completion[start:end]))
        verdicts_within = self._assess_whole(within)
        verdicts = []
        for verdict, sample, place in zip(verdicts_within, samples, ranges, strict=True):
            # whatever a metric gives an empty text, a completion without the part has 0; a row that
            # cannot be judged keeps its reason
            if place is None and verdict.score is not None:
                note = f"the completion has no part {self.judged_part!r}"
                parts = verdict.parts if verdict.status is Status.EMPTY else {}
                verdict = Verdict(0.0, Status.EMPTY, parts, note=note)
            verdicts.append(_on_whole(verdict, sample.completion, place or (0, 0)))
        return verdicts

    def _assess_whole(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns one Verdict per sample, in order, on completions that are judged whole."""
        if self.mode == "published":
            return self.assess_plain(samples)
        columns = {*self.columns, *self.one_of}
        if self.of_questions:
            columns.add("question")
        # texts are read as plain ones before they are judged
        readings = []
        plain_samples = []
        for sample in samples:
            reads_answer = self._reads_answer(sample)
            reading = read_text(sample.completion, reads_answer)
            readings.append(reading)
            plain_samples.append(_plain(sample, reading, reads_answer))
        verdicts_on_plain = self.assess_plain(plain_samples)
        # and spans are put back onto the texts as they were written
        verdicts = []
        for verdict, sample, reading, plain in zip(
            verdicts_on_plain, samples, readings, plain_samples, strict=True
        ):
            text = sample.completion
            written = as_written(verdict, sample, reading)
            cuts = _cuts(sample, plain, columns)
            if cuts:
                notes = [note for note in (written.note, cuts) if note]
                written = replace(written, note="; ".join(notes))
            padding = find_padding(text, reading.unread)
            if padding.pieces:
                written = penalise_filler(written, len(text), padding, self.lowest)
            verdicts.append(written)
        return verdicts

    def _reads_answer(self, sample: Sample) -> bool:
        """Whether an answer beside a description is read too, see `read_text`."""
        if self.judged_part is not None:
            return True
        return self.of_questions and bool(sample.question)

    def assess_plain(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns one Verdict per sample, in order. The samples' texts are plain."""
        raise NotImplementedError(f"{type(self).__name__} must define assess_plain(samples)")


def _on_whole(verdict: Verdict, text: str, place: tuple[int, int]) -> Verdict:
    """Returns the verdict on a part of the text as one on the text."""
    start, end = place
    spans = []
    for span in verdict.spans:
        spans.append(replace(span, start=span.start + start, end=span.end + start))
    unread = outside(text, 0, start, OUTSIDE)
    for part in verdict.unread:
        unread.append(Unread(part.start + start, part.end + start, part.kind))
    unread += outside(text, end, len(text), OUTSIDE)
    return replace(verdict, spans=tuple(spans), unread=tuple(unread))


def outside(text: str, start: int, end: int, kind: str) -> list[Unread]:
    """Returns what stands outside of what is judged, [start, end), without white space around it;
    none where it is white space alone.
    """
    within = text[start:end].strip()
    if not within:
        return []
    # its first character that is no white space
    start = text.index(within[0], start)
    return [Unread(start, start + len(within), kind)]


def plain_sample(sample: Sample) -> Sample:
    """Returns the sample with its completion, references, context and anchor as plain texts.

    The texts beside the completion are cut where a completion would be (rewards/text/length.py).
    """
    return _plain(sample, read_text(sample.completion), answers=False)


def _plain(sample: Sample, reading: Reading, answers: bool) -> Sample:
    """Returns what `plain_sample` does. reading: of the completion. answers: see `read_text`."""
    references = [_begun(read_text(reference).plain) for reference in sample.references]
    # a missing text stays None, and an empty one empty
    question = sample.question
    if question:
        question = _begun(question)
    context = sample.context
    if context:
        context = _begun(read_text(context).plain)
    anchor = sample.anchor
    if anchor:  # it is compared with the completion, so it is read alike
        anchor = _begun(read_text(anchor, answers).plain)
    return replace(
        sample,
        completion=reading.plain,
        references=tuple(references),
        question=question,
        context=context,
        anchor=anchor,
    )


def _begun(text: str) -> str:
    """Returns as much of a text as is judged of a completion: a row must not make others wait."""
    return text[: judged_length(text)]


def _cuts(sample: Sample, plain: Sample, columns: Collection[str]) -> str:
    """Returns a note on what is not read of the texts beside the completion, "" for nothing.

    plain: the sample as it is read. columns: those that the metric reads.
    """
    texts = [
        ("question", sample.question, plain.question),
        ("context", sample.context, plain.context),
        ("anchor", sample.anchor, plain.anchor),
    ]
    texts = [text for text in texts if text[0] in columns]
    if "reference" in columns:
        texts += _references(sample, plain)
    notes = []
    for name, text, read in texts:
        # a text of so few characters has no more tokens, so it was not cut
        if not text or not read or len(text) <= JUDGED_TOKENS:
            continue
        whole = text
        if name != "question":  # which is read as it was written
            whole = read_text(text).plain
        if len(read) < len(whole):
            share = f"{len(read):,} of {len(whole):,} characters"
            notes.append(f"only the first {share} of the {name} are read")
    return "; ".join(notes)


def _references(sample: Sample, plain: Sample) -> Iterator[tuple[str, str, str]]:
    """Yields each reference's name, and its text as written and as it is read."""
    for number, text in enumerate(sample.references):
        name = "reference"
        if len(sample.references) > 1:
            name = f"reference {number + 1}"
        yield name, text, plain.references[number]


def as_written(verdict: Verdict, sample: Sample, reading: Reading) -> Verdict:
    """Returns the verdict on the plain sample with spans on the sample's own texts, and with what
    of the completion was not read. reading: of the completion.
    """
    spans = _as_written(verdict.spans, reading, sample.completion)
    missed = verdict.missed
    if missed:  # a reference is read anew only where there is something to move
        reference = sample.references[verdict.reference]
        missed = _as_written(missed, read_text(reference), reference)
    note = verdict.note
    if " characters" in note and reading.plain is not sample.completion:
        note += COUNTED
    unread = [Unread(start, end, kind) for start, end, kind in reading.unread]
    return replace(verdict, spans=spans, missed=missed, note=note, unread=tuple(unread))


def _as_written(spans: tuple[Span, ...], reading: Reading, text: str) -> tuple[Span, ...]:
    """Returns spans on the plain text as spans on the text. reading: of the text."""
    if reading.plain is text:  # nothing in it was markup, and places are the same
        return spans
    moved = []
    for span in spans:
        start, end = reading.written(span.start, span.end)
        note = span.note
        if span.kind == "unread":
            note += COUNTED
        moved.append(replace(span, start=start, end=end, note=note))
    return tuple(moved)
