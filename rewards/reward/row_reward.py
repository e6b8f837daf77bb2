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

Place = tuple[int, int]  # characters [start, end) of a sentence in its text
# a row of a batch: its number, its sample (whole or without a sentence), and the sentence that a
# question is about, None for the whole text
JudgedRow = tuple[int, Sample, Place | None]
# a verdict before penalties, and how many characters at the text's end the judge did not read
Raw = tuple[Verdict, int]
Spans = Literal["ablation", "none"]
MOST_SENTENCES = 32
ASSUMED_SENTENCES = 4  # of a completion, as costs assume


class RowReward(PlainTextReward):
    """Base class. A subclass defines `show`, `rate` and `cost_of_text`.

    Args:
        name: the reward's name in logs.
        judge: the judge, or its name.
        mode: "default" or "published".
        evidence: one of `evidences`, see `evidence_columns`.
        spans: one of `ways`.
        judged_part: only this part of a completion is judged (rewards/text/judged_part.py).

    Attributes:
        evidences: the values of `evidence`.
        ways: the values of `spans`.
        pipeline: the spaCy pipeline that finds the sentences, None for the default one.

    Raises:
        ValueError: an invalid option.
    """

    evidences: tuple[str | None, ...] = EVIDENCE
    ways: tuple[str, ...] = ("ablation", "none")
    in_words = IN_WORDS
    of_questions = True
    pipeline: Language | str | None = None

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
        """Returns whether the judge is shown this row's pictures: not those of a row that it is not
        asked about.
        """
        if not super().shows_pictures(sample):
            return False
        # `check` and not `show`, which would open the pictures
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
        if self.spans == "none":
            return ""
        return pipeline_name(language_of(self.pipeline))

    def cost_of_text(self, words: float, references: int) -> Cost:
        """Returns what `cost` does, without spans."""
        raise NotImplementedError

    def cost(self, words: float, references: int) -> Cost:
        """Returns the cost of one completion: that of the whole text, and as much for each
        sentence.
        """
        cost = self.cost_of_text(words, references)
        if self.spans == "none":
            return cost
        times = 1 + ASSUMED_SENTENCES
        computed = cost.computed_tokens
        if computed is not None:
            computed = times * computed
        return Cost(
            questions=times * cost.questions,
            prompt_tokens=times * cost.prompt_tokens,
            written_tokens=times * cost.written_tokens,
            exact=False,
            how=f"{cost.how} x (1 + {ASSUMED_SENTENCES} sentences, assumed)",
            computed_tokens=computed,
        )

    def assess_plain(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns one Verdict per sample, in order.

        A judge gets all its questions in one call, equal ones once.
        """
        shown: dict[int, Any] = {}
        verdicts: dict[int, Verdict] = {}
        # rows that are judged without a question
        for number, sample in enumerate(samples):
            try:
                # Before the text: an empty one of a row without evidence is not the policy's fault.
                # An empty one with evidence stays in `shown`, as others are compared with it.
                shown[number] = self.show(sample)
                if not judged(sample).strip():
                    note = "the completion says nothing"
                    verdicts[number] = Verdict(0.0, Status.EMPTY, {**self.lowest}, note=note)
            except NotApplicable as reason:
                verdicts[number] = Verdict(None, Status.NOT_APPLICABLE, note=str(reason))
        # and all others
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
        parser = self.reader()
        places = [at_most(sentences) for sentences in split_sentences(texts, self.pipeline)]
        # the rows, and behind them what is asked about their sentences, in one call
        details: list[JudgedRow] = []
        for row, text, sentences in zip(rows, texts, places, strict=True):
            if len(sentences) > 1:  # the only sentence is the whole text
                details += self._details_of(row, text, sentences)
        raw = self.rate([*rows, *details], shown)
        raw_of_rows = raw[: len(rows)]
        raw_of_details = iter(raw[len(rows) :])
        with_spans: list[Raw] = []
        for (whole, cut), sentences in zip(raw_of_rows, places, strict=True):
            verdicts = [whole]
            if len(sentences) > 1:
                for _ in sentences:
                    detail, _ = next(raw_of_details)
                    verdicts.append(detail)
            failed = [verdict for verdict in verdicts if verdict.score is None]
            if failed:
                verdict = failed[0]
            else:
                verdict = replace(whole, spans=self.spans_of(verdicts, sentences))
            with_spans.append((replace(verdict, parsed_by=parser), cut))
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
        """Returns a span per sentence.

        A span's score is (1 + credit) / 2, above 0.5 where the sentence does good. A sentence alone
        has the whole score. verdicts: the text's, and of several sentences those on the text
        without each one.
        """
        scores = [verdict.score or 0.0 for verdict in verdicts]
        score = scores[0]
        scores_without = scores[1:]
        if not scores_without:
            [(start, end)] = places
            return (Span(start, end, score, score, "sentence", "the only sentence", 0),)
        spans = []
        for number, (place, score_without) in enumerate(zip(places, scores_without, strict=True)):
            start, end = place
            credit = score - score_without
            goodness = (1 + credit) / 2
            note = f"{score_without:.2f} without it"
            spans.append(Span(start, end, goodness, credit, "sentence", note, number))
        return tuple(spans)


def at_most(places: Sequence[Place]) -> list[Place]:
    """Returns the sentences, joined with their neighbours where there are more than MOST_SENTENCES,
    to bound the cost.
    """
    count = min(len(places), MOST_SENTENCES)
    if not count:
        return []
    # where each of `count` runs of sentences begins; their lengths differ by one at most
    cuts = [number * len(places) // count for number in range(count + 1)]
    joined = []
    for first, behind in pairwise(cuts):
        start, _ = places[first]
        _, end = places[behind - 1]
        joined.append((start, end))
    return joined


def without(text: str, places: Sequence[Place], number: int) -> str:
    """Returns the text without its sentence of this number and the white space after it.

    places: of all sentences. Behind the last one nothing is left.
    """
    start, _ = places[number]
    before = text[:start]
    if number + 1 == len(places):
        return before.rstrip()
    next_start, _ = places[number + 1]
    return before + text[next_start:]
