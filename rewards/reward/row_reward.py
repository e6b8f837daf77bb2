"""The base class of the metrics that show each row to a judge, and what each sentence of a
completion adds.

With spans="ablation" the judge is also asked about each completion without each of its sentences.
The sentence's credit is the score less the score without it, both before penalties.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal

from spacy.language import Language

from spanreward.rewards.base.checks import MODES, Mode, check_choice
from spanreward.rewards.base.cost import Cost
from spanreward.rewards.base.verdict import NotApplicable, Sample, Span, Status, Verdict
from spanreward.rewards.judges.by_name import as_judge
from spanreward.rewards.judges.judge import IN_WORDS, Judge
from spanreward.rewards.language.parse import language_of, split_sentences
from spanreward.rewards.language.pipeline import pipeline_name
from spanreward.rewards.reward.plain_text_reward import PlainTextReward
from spanreward.rewards.reward.rows import EVIDENCE, evidence_columns, judged, penalise
from spanreward.rewards.text.judged_part import check_part

Place = tuple[int, int]
# of a batch, by its number: whole, without a sentence, or about that one
JudgedRow = tuple[int, Sample, Place | None]
# before penalties, and how many characters at the text's end the judge did not read
Raw = tuple[Verdict, int]
Spans = Literal["ablation", "none"]
MOST_SENTENCES = 32
ASSUMED_SENTENCES = 4  # of a completion, as costs assume


class RowReward(PlainTextReward):
    """Base class. A subclass defines `show`, `rate` and `cost_of_text`."""

    evidences: tuple[str | None, ...] = EVIDENCE
    ways: tuple[str, ...] = ("ablation", "none")  # the values of `spans`
    in_words = IN_WORDS
    of_questions = True
    pipeline: Language | str | None = None  # finds the sentences

    def __init__(
        self,
        name: str,
        judge: Judge | str,
        mode: Mode,
        evidence: Any,
        spans: str = "none",
        judged_part: str | None = None,
    ) -> None:
        super().__init__(name)
        self.judged_part = check_part(judged_part)
        check_choice("mode", mode, MODES)
        check_choice("evidence", evidence, self.evidences)
        check_choice("spans", spans, self.ways)
        self.judge = as_judge(judge)
        self.judges = (self.judge,)
        self.mode = mode
        self.evidence = evidence
        self.spans = spans
        self.one_of = evidence_columns(evidence) if evidence else ()
        if evidence == "picture":
            self.viewers = (self.judge,)

    def check(self, sample: Sample) -> None:  # most rows need their evidence alone
        """Raises NotApplicable for a row that lacks something beside its evidence."""

    def shows_pictures(self, sample: Sample) -> bool:
        if not super().shows_pictures(sample):
            return False
        try:
            self.check(sample)
        except NotApplicable:
            return False
        return True

    def show(self, sample: Sample) -> Any:
        """Returns what the judge sees beside the text.

        Raises NotApplicable for a row that lacks something.
        """
        raise NotImplementedError

    def rate(self, rows: Sequence[JudgedRow], shown: dict[int, Any]) -> list[Raw]:
        """Returns a raw verdict per row, in order. shown: what `show` returns, by the row's
        number.
        """
        raise NotImplementedError

    def reader(self) -> str:
        """Returns the pipeline that finds the sentences, "" without spans.

        Raises ImportError where it is missing.
        """
        return "" if self.spans == "none" else pipeline_name(language_of(self.pipeline))

    def cost_of_text(self, words: float, references: int) -> Cost:
        """Returns what `cost` does, without spans."""
        raise NotImplementedError

    def cost(self, words: float, references: int) -> Cost:
        cost, times = self.cost_of_text(words, references), 1 + ASSUMED_SENTENCES
        if self.spans == "none":
            return cost
        counts = (times * cost.questions, times * cost.prompt_tokens, times * cost.written_tokens)
        how = f"{cost.how} x (1 + {ASSUMED_SENTENCES} sentences, assumed)"
        return Cost(*counts, False, how, cost.computed_tokens and times * cost.computed_tokens)

    def assess_plain(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns one Verdict per sample, in order.

        A judge gets all its questions in one call, equal ones once.
        """
        shown: dict[int, Any] = {}
        verdicts: dict[int, Verdict] = {}
        for number, sample in enumerate(samples):
            try:
                shown[number] = self.show(sample)
                if not judged(sample).strip():
                    verdicts[number] = Verdict(
                        0.0, Status.EMPTY, {**self.lowest}, note="the completion says nothing"
                    )
            except NotApplicable as reason:
                verdicts[number] = Verdict(None, Status.NOT_APPLICABLE, note=str(reason))
        rows: list[JudgedRow] = []
        for number in shown:
            if number not in verdicts:
                rows.append((number, samples[number], None))
        if rows and self.spans != "none":
            raw = self._by_sentence(rows, shown)
        else:
            raw = self.rate(rows, shown)
        for (number, sample, _), (verdict, cut) in zip(rows, raw, strict=True):
            verdicts[number] = penalise(verdict, sample, self.mode, cut, self.lowest)
        return [verdicts[number] for number in range(len(samples))]

    def _by_sentence(self, rows: Sequence[JudgedRow], shown: dict[int, Any]) -> list[Raw]:
        """Returns what `rate` returns, with a span per sentence. One failure fails the verdict."""
        texts = [judged(sample) for _, sample, _ in rows]
        read_by = self.reader()
        places = [at_most(sentences) for sentences in split_sentences(texts, self.pipeline)]
        details: list[JudgedRow] = []
        for row, text, sentences in zip(rows, texts, places, strict=True):
            if len(sentences) > 1:  # the only sentence is the whole text
                details += self._details_of(row, text, sentences)
        raw = self.rate([*rows, *details], shown)
        of_details = iter(raw[len(rows) :])
        with_spans: list[Raw] = []
        for (whole, cut), sentences in zip(raw, places, strict=False):
            verdicts = [whole]
            if len(sentences) > 1:
                verdicts += [next(of_details)[0] for _ in sentences]
            verdict = next((failed for failed in verdicts if failed.score is None), None)
            if verdict is None:
                verdict = replace(whole, spans=self.spans_of(verdicts, sentences))
            with_spans.append((replace(verdict, parsed_by=read_by), cut))
        return with_spans

    def _details_of(
        self, row: JudgedRow, text: str, sentences: Sequence[Place]
    ) -> Iterator[JudgedRow]:
        """Yields a row per sentence: the text without it, or the text and where it stands."""
        number, sample, _ = row
        for place, sentence in enumerate(sentences):
            if self.spans == "ablation":
                shortened = replace(sample, completion=without(text, sentences, place))
                yield number, shortened, None
            else:
                yield number, sample, sentence

    def spans_of(self, verdicts: Sequence[Verdict], places: Sequence[Place]) -> tuple[Span, ...]:
        """Returns a span per sentence. verdicts: the text's, and those of the details of several
        sentences. A span's score is (1 + credit) / 2, above 0.5 where the sentence does good. A
        sentence alone has the whole score.
        """
        score, *scores_without = [verdict.score or 0.0 for verdict in verdicts]
        if not scores_without:
            [(start, end)] = places
            return (Span(start, end, score, score, "sentence", "the only sentence", 0),)
        spans = []
        for number, (place, less) in enumerate(zip(places, scores_without, strict=True)):
            credit = score - less
            note = f"{less:.2f} without it"
            spans.append(Span(*place, (1 + credit) / 2, credit, "sentence", note, number))
        return tuple(spans)


def at_most(places: Sequence[Place]) -> list[Place]:
    """Returns the sentences, joined with their neighbours where there are too many, to bound the
    cost.
    """
    count = min(len(places), MOST_SENTENCES)
    if not count:
        return []
    cuts = [number * len(places) // count for number in range(count + 1)]
    joined = []
    for first, behind in pairwise(cuts):
        start, _ = places[first]
        _, end = places[behind - 1]
        joined.append((start, end))
    return joined


def without(text: str, places: Sequence[Place], number: int) -> str:
    """Returns the text without one of its sentences and the white space after it."""
    before = text[: places[number][0]]
    if number + 1 == len(places):
        return before.rstrip()
    return before + text[places[number + 1][0] :]
