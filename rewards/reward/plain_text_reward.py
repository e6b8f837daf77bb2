"""The base class of the metrics that judge plain text without markup (rewards/text/written.py).
Spans of a verdict refer to the text as it was written, with its markup.

class Words(PlainTextReward):
    def assess_plain(self, samples):                       # gets the completion "A red kite."
        return [Verdict(1.0, spans=(Span(2, 5, 1.0, 0.1, "word", "", 0),)) for _ in samples]

Words("words").assess([Sample("", "A **red** kite.")])[0].spans[0]         # characters 4 to 7
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from spanreward.rewards.base.checks import Mode
from spanreward.rewards.base.verdict import Sample, Span, Status, Unread, Verdict
from spanreward.rewards.reward.reward import Reward, checked_samples
from spanreward.rewards.text.filler import penalise_filler
from spanreward.rewards.text.judged_part import judged_range
from spanreward.rewards.text.length import JUDGED_TOKENS, judged_length
from spanreward.rewards.text.padding import find_padding
from spanreward.rewards.text.pieces import OUTSIDE
from spanreward.rewards.text.written import Reading, read_text

# added to a note with a count of characters
COUNTED_IN_PLAIN_TEXT = "; characters are those of the plain text"


class PlainTextReward(Reward):
    """Base class that gives `assess_plain` texts without markup, and maps its spans back to the
    texts.

    A subclass defines `assess_plain`. In mode "published" the texts keep their markup.

    Attributes:
        mode: "default" or "published".
        lowest: the lowest value of each part that shrinks with the score under a penalty.
        of_questions: whether the metric can judge answers to questions. In a row with a question,
            an answer beside a description is then read too, such as "<answer>dog</answer>" after a
            caption.
        judged_part: the part of a completion that is judged (rewards/text/judged_part.py), None for
            the whole completion.
    """

    mode: Mode = "default"
    lowest: Mapping[str, float] = {}
    of_questions: bool = False
    judged_part: str | None = None

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns one Verdict per sample, in order, with spans on the texts as they were written.

        A completion without the judged part gets status EMPTY and score 0.
        """
        samples = checked_samples(samples)
        if self.judged_part is None:
            return self._assess_whole(samples)
        # the judged part replaces the completion, or "" if there is no such part
        ranges = [judged_range(sample.completion, self.judged_part) for sample in samples]
        within = []
        for sample, place in zip(samples, ranges, strict=True):
            start, end = place or (0, 0)
            within.append(replace(sample, completion=sample.completion[start:end]))
        verdicts_within = self._assess_whole(within)
        verdicts = []
        for verdict, sample, place in zip(verdicts_within, samples, ranges, strict=True):
            # A completion without the part gets 0, even if the metric gives an empty text another
            # score. A row that cannot be judged keeps its reason.
            if place is None and verdict.score is not None:
                note = f"the completion has no part {self.judged_part!r}"
                parts = verdict.parts if verdict.status is Status.EMPTY else {}
                verdict = Verdict(0.0, Status.EMPTY, parts, note=note)
            verdicts.append(_verdict_on_whole(verdict, sample.completion, place or (0, 0)))
        return verdicts

    def _assess_whole(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns one Verdict per sample, in order. Each completion is judged as a whole.

        `assess_plain` gets "A red kite." for "A **red** kite.", and its spans are mapped back.
        """
        if self.mode == "published":
            return self.assess_plain(samples)
        # remove the markup from all texts
        readings = []
        plain_samples = []
        for sample in samples:
            reads_answer = self._reads_answer(sample)
            reading = read_text(sample.completion, reads_answer)
            readings.append(reading)
            plain_samples.append(_plain_sample_of(sample, reading, reads_answer))
        verdicts_on_plain = self.assess_plain(plain_samples)
        # turn the verdicts into verdicts on the written texts
        columns = self._columns_read()
        verdicts = []
        for verdict, sample, reading, plain in zip(
            verdicts_on_plain, samples, readings, plain_samples, strict=True
        ):
            on_written = as_written(verdict, sample, reading)
            on_written = _with_note(on_written, _note_on_cuts(sample, plain, columns))
            verdicts.append(self._penalised_for_padding(on_written, sample.completion, reading))
        return verdicts

    def _columns_read(self) -> set[str]:
        """Returns the dataset columns that the metric may read."""
        columns = {*self.columns, *self.one_of}
        if self.of_questions:
            columns.add("question")
        return columns

    def _penalised_for_padding(
        self, verdict: Verdict, completion: str, reading: Reading
    ) -> Verdict:
        """Returns the verdict with a lower score if the completion has useless markup, such as <br>
        60 times.

        reading: the plain text of the completion, with the places of the removed markup
        (`unread`).
        """
        padding = find_padding(completion, reading.unread)
        if not padding.pieces:
            return verdict
        return penalise_filler(verdict, len(completion), padding, self.lowest)

    def _reads_answer(self, sample: Sample) -> bool:
        """Returns whether a completion's answer in tags is read too, if the completion also has a
        description in tags. Only a row with a question needs such an answer.
        """
        if self.judged_part is not None:  # the user has named the part, maybe the answer
            return True
        return self.of_questions and bool(sample.question)

    def assess_plain(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns one Verdict per sample, in order. The samples' texts have no markup."""
        raise NotImplementedError(f"{type(self).__name__} must define assess_plain(samples)")


def _with_note(verdict: Verdict, note: str) -> Verdict:
    """Returns the verdict with a further note after its own: "a" and "b" become "a; b". An empty
    note changes nothing.
    """
    if not note:
        return verdict
    return replace(verdict, note=f"{verdict.note}; {note}" if verdict.note else note)


def _verdict_on_whole(verdict: Verdict, text: str, place: tuple[int, int]) -> Verdict:
    """Returns the verdict on the whole text, from a verdict on a part of the text.

    Spans move to their places in the whole text, and the rest of the text counts as unread: the
    span (0, 5) of the part (10, 40) becomes (10, 15).

    Args:
        verdict: the verdict on text[start:end].
        text: the whole text.
        place: (start, end) of the part in the text.
    """
    start, end = place
    spans = []
    for span in verdict.spans:
        spans.append(replace(span, start=span.start + start, end=span.end + start))
    unread = unread_outside(text, 0, start, OUTSIDE)
    for part in verdict.unread:
        unread.append(Unread(part.start + start, part.end + start, part.kind))
    unread += unread_outside(text, end, len(text), OUTSIDE)
    return replace(verdict, spans=tuple(spans), unread=tuple(unread))


def unread_outside(text: str, start: int, end: int, kind: str) -> list[Unread]:
    """Returns the characters [start, end) of the text as unread, without white space at their ends.

    In " ab cd" the characters [0, 4) give the unread part (1, 3). Returns [] if all these
    characters are white space. kind: the kind of unread text, such as
    OUTSIDE.
    """
    within = text[start:end].strip()
    if not within:
        return []
    # move `start` to the first visible character
    start = text.index(within[0], start)
    return [Unread(start, start + len(within), kind)]


def plain_sample(sample: Sample) -> Sample:
    """Returns the sample with plain texts: completion, references, context and anchor without
    markup. "A **red** kite." becomes "A red kite."

    All texts except the completion are cut at the length limit for completions
    (rewards/text/length.py).
    """
    return _plain_sample_of(sample, read_text(sample.completion), reads_answer=False)


def _plain_sample_of(sample: Sample, reading: Reading, reads_answer: bool) -> Sample:
    """Returns the sample with plain texts, as `plain_sample` does.

    Args:
        reading: the plain text of the completion.
        reads_answer: how to read the anchor "<caption>A red kite.</caption> <answer>yes</answer>".
            If true, the anchor's plain text has the answer too. If false, the anchor's plain text
            has only the caption.
    """
    references = [_beginning(read_text(reference).plain) for reference in sample.references]
    # a missing text stays None, and an empty text stays empty
    question = sample.question
    if question:
        question = _beginning(question)
    context = sample.context
    if context:
        context = _beginning(read_text(context).plain)
    anchor = sample.anchor
    if anchor:
        # the anchor is compared with the completion, so it is read as the completion was read
        anchor = _beginning(read_text(anchor, reads_answer).plain)
    return replace(
        sample,
        completion=reading.plain,
        references=tuple(references),
        question=question,
        context=context,
        anchor=anchor,
    )


def _beginning(text: str) -> str:
    """Returns the beginning of a text, up to the length limit for completions.

    Without this limit, one row with a very long text would delay all other rows.
    """
    return text[: judged_length(text)]


def _note_on_cuts(sample: Sample, plain: Sample, columns: Collection[str]) -> str:
    """Returns a note on text that is not read in the reference, question, context and anchor, or
    "": "only the first 10,000 of 12,000 characters of the context are read".

    Args:
        sample: the sample as it was written.
        plain: the sample from `plain_sample`.
        columns: the columns that the metric reads.
    """
    texts = [
        ("question", sample.question, plain.question),
        ("context", sample.context, plain.context),
        ("anchor", sample.anchor, plain.anchor),
    ]
    texts = [text for text in texts if text[0] in columns]
    if "reference" in columns:
        texts += _named_references(sample, plain)
    notes = []
    for name, written, read in texts:
        if not written or not read:
            continue
        # A text is cut after JUDGED_TOKENS words and signs, each of at least one character. So a
        # text of at most so many characters was read as a whole.
        if len(written) <= JUDGED_TOKENS:
            continue
        # compare the part that was read with the whole plain text
        whole = written
        if name != "question":  # a question keeps its markup
            whole = read_text(written).plain
        if len(read) < len(whole):
            share = f"{len(read):,} of {len(whole):,} characters"
            notes.append(f"only the first {share} of the {name} are read")
    return "; ".join(notes)


def _named_references(sample: Sample, plain: Sample) -> Iterator[tuple[str, str, str]]:
    """Yields the name, the written text and the plain text of each reference.

    With several references, their names are "reference 1", "reference 2" and so on.
    """
    for number, text in enumerate(sample.references):
        name = "reference"
        if len(sample.references) > 1:
            name = f"reference {number + 1}"
        yield name, text, plain.references[number]


def as_written(verdict: Verdict, sample: Sample, reading: Reading) -> Verdict:
    """Converts a verdict on plain texts into a verdict on the texts as they were written.

    Spans and missed spans move to their places in the written texts: the span (2, 5) of "A red
    kite." becomes (4, 7) in "A **red** kite.". The characters of the completion that were removed
    as markup become `unread`, here (2, 4) and (7, 9).

    Args:
        verdict: the verdict on the plain sample.
        sample: the sample as it was written.
        reading: the plain text of the completion, with the origin of each character.
    """
    spans = _spans_as_written(verdict.spans, reading, sample.completion)
    missed = verdict.missed
    if missed:  # without missed spans the reference need not be read again
        reference = sample.references[verdict.reference]
        missed = _spans_as_written(missed, read_text(reference), reference)
    # a note such as "past 900 characters" counts characters of the plain text, so the note says so
    note = verdict.note
    counts_characters = " characters" in note
    if counts_characters and _has_markup(reading, sample.completion):
        note += COUNTED_IN_PLAIN_TEXT
    unread = [Unread(start, end, kind) for start, end, kind in reading.unread]
    return replace(verdict, spans=spans, missed=missed, note=note, unread=tuple(unread))


def _has_markup(reading: Reading, text: str) -> bool:
    """Returns whether the plain text differs from the written text.

    `read_text` returns a text without markup itself, and no copy.
    """
    return reading.plain is not text


def _spans_as_written(spans: tuple[Span, ...], reading: Reading, text: str) -> tuple[Span, ...]:
    """Returns spans on a plain text as spans on the text as it was written: (2, 5) in "A red kite."
    becomes (4, 7) in "A **red** kite.".

    An unread span has a note with a number of characters, such as "not judged: past 900
    characters". The note of such a span then says that these are characters of the plain text.

    reading: the plain text, with the origin of each character. text: the written text.
    """
    if not _has_markup(reading, text):  # no span moves
        return spans
    spans_on_written = []
    for span in spans:
        start, end = reading.written(span.start, span.end)
        note = span.note
        if span.kind == "unread":
            note += COUNTED_IN_PLAIN_TEXT
        spans_on_written.append(replace(span, start=start, end=end, note=note))
    return tuple(spans_on_written)
