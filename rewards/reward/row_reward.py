"""The base class of the metrics that show each row to a judge, with a credit for each sentence.

With spans="ablation" the judge is also asked about each completion without each of its sentences. A
sentence's credit is the score minus the score without the sentence. Both scores are taken before
the penalties for filler and unread text.
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
from spanreward.rewards.reward.rows import (
    EVIDENCE,
    evidence_columns,
    judged_beginning,
    penalise_row,
)
from spanreward.rewards.text.judged_part import check_part

SentencePlace = tuple[int, int]  # characters [start, end) of a sentence in its text
# A row in question: its number in the batch, its sample, and the sentence that the question is
# about. With ablation the sample's completion lacks a sentence. The sentence is None if the
# question is about the whole completion.
JudgedRow = tuple[int, Sample, SentencePlace | None]
# a verdict before penalties, and the number of characters at the text's end that the judge did not
# read
RawVerdict = tuple[Verdict, int]
Spans = Literal["ablation", "none"]
MOST_SENTENCES = 32  # spans of a completion, at most; more sentences are joined
ASSUMED_SENTENCES = 4  # sentences of a completion in an estimated cost


class RowReward(PlainTextReward):
    """Base class. A subclass defines `show`, `rate` and `cost_of_text`.

    Args:
        name: the reward's name in logs.
        judge: the judge, or its name.
        mode: "default" or "published".
        evidence: one of `evidences`, see `evidence_columns`.
        spans: how spans are found, one of `ways`.
        judged_part: only this part of a completion is judged (rewards/text/judged_part.py).

    Attributes:
        evidences: the allowed values of `evidence`.
        ways: the allowed values of `spans`.
        pipeline: the spaCy pipeline that finds the sentences, None for the default pipeline.

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

    def check(self, sample: Sample) -> None:  # most metrics need only the evidence
        """Raises NotApplicable for a row that lacks something other than its evidence."""

    def shows_pictures(self, sample: Sample) -> bool:
        """Returns whether the judge is shown this row's pictures. No picture is opened for this.

        The answer is no for a row that lacks something, because the judge is not asked about such a
        row.
        """
        if not super().shows_pictures(sample):
            return False
        # `check` instead of `show`, because `show` would open the pictures
        try:
            self.check(sample)
        except NotApplicable:
            return False
        return True

    def show(self, sample: Sample) -> Any:
        """Returns the evidence of a row: everything that the judge sees except the completion.

        Each subclass chooses the type. Raises NotApplicable for a row that lacks something.
        """
        raise NotImplementedError

    def rate(self, rows: Sequence[JudgedRow], shown: dict[int, Any]) -> list[RawVerdict]:
        """Returns a verdict before penalties for each row, in order, with the number of unread
        characters.

        Args:
            rows: the rows in question.
            shown: the result of `show` for each row, by the row's number.
        """
        raise NotImplementedError

    def reader(self) -> str:
        """Returns the name and version of the spaCy pipeline that finds the sentences, such as
        "en_core_web_sm 3.8.0". Returns "" if `spans` is "none", because then no sentence is needed.

        Raises ImportError if the pipeline is not installed.
        """
        if self.spans == "none":
            return ""
        # `self.pipeline` may be only a name, which does not tell the version
        loaded_pipeline = language_of(self.pipeline)
        return pipeline_name(loaded_pipeline)

    def cost_of_text(self, words: float, references: int) -> Cost:
        """Returns the cost of one completion without spans. Arguments: see `Reward.cost`."""
        raise NotImplementedError

    def cost(self, words: float, references: int) -> Cost:
        """Returns the cost of one completion. With spans, each sentence costs as much as the whole
        text.

        Arguments: see `Reward.cost`.
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

        The judge gets all questions in one call, and answers equal questions once.
        """
        shown: dict[int, Any] = {}
        verdicts: dict[int, Verdict] = {}
        # find the rows that get a verdict without a question
        for number, sample in enumerate(samples):
            try:
                # `show` comes before the test for an empty text: a row without evidence is
                # NOT_APPLICABLE, even if its completion is empty. An empty completion with evidence
                # stays in `shown`, because other completions may be compared with it.
                shown[number] = self.show(sample)
                if not judged_beginning(sample).strip():
                    note = "the completion says nothing"
                    verdicts[number] = Verdict(0.0, Status.EMPTY, {**self.lowest}, note=note)
            except NotApplicable as reason:
                verdicts[number] = Verdict(None, Status.NOT_APPLICABLE, note=str(reason))
        # ask the judge about all other rows
        rows: list[JudgedRow] = []
        for number in shown:
            if number not in verdicts:
                rows.append((number, samples[number], None))
        if rows and self.spans != "none":
            raw = self._by_sentence(rows, shown)
        else:
            raw = self.rate(rows, shown)
        for (number, sample, _), (verdict, cut) in zip(rows, raw, strict=True):
            verdicts[number] = penalise_row(verdict, sample, self.mode, cut, self.lowest)
        return [verdicts[number] for number in range(len(samples))]

    def _by_sentence(self, rows: Sequence[JudgedRow], shown: dict[int, Any]) -> list[RawVerdict]:
        """Returns the results of `rate` for the rows, each verdict with a span per sentence.

        The judge is asked about each whole row, and once more for each of its sentences. A failure
        on one sentence fails the whole verdict. shown: the result of `show` for each row, by the
        row's number.
        """
        texts = [judged_beginning(sample) for _, sample, _ in rows]
        # find the sentences of each text
        pipeline = self.reader()  # the name of the spaCy pipeline, for the verdicts
        places = [join_sentences(sentences) for sentences in split_sentences(texts, self.pipeline)]
        # ask about the whole texts and about their sentences in one call
        sentence_rows: list[JudgedRow] = []
        for row, text, sentences in zip(rows, texts, places, strict=True):
            if len(sentences) > 1:  # a single sentence is the whole text
                sentence_rows += self._rows_of_sentences(row, text, sentences)
        raw = self.rate([*rows, *sentence_rows], shown)
        raw_of_texts = raw[: len(rows)]
        raw_of_sentences = iter(raw[len(rows) :])
        # combine the verdict on each text with the verdicts on its sentences, which come in the
        # same order as in `sentence_rows`
        with_spans: list[RawVerdict] = []
        for (verdict_on_text, unread_characters), sentences in zip(
            raw_of_texts, places, strict=True
        ):
            verdicts = [verdict_on_text]
            if len(sentences) > 1:
                for _ in sentences:
                    verdict_on_sentence, _ = next(raw_of_sentences)
                    verdicts.append(verdict_on_sentence)
            combined = self._combined(verdicts, sentences)
            with_spans.append((replace(combined, parsed_by=pipeline), unread_characters))
        return with_spans

    def _combined(self, verdicts: Sequence[Verdict], sentences: Sequence[SentencePlace]) -> Verdict:
        """Returns the verdict on a text with a span per sentence, or the first failed verdict.

        With "ablation" a sentence's credit is the score of the text minus the score of the text
        without the sentence. So every one of these texts needs a score.

        verdicts: first the verdict on the text, then one for each sentence. sentences: the places
        of the sentences in the text.
        """
        for verdict in verdicts:
            if verdict.score is None:
                return verdict
        return replace(verdicts[0], spans=self.spans_of(verdicts, sentences))

    def _rows_of_sentences(
        self, row: JudgedRow, text: str, sentences: Sequence[SentencePlace]
    ) -> Iterator[JudgedRow]:
        """Yields what the judge is asked about for each sentence: the row's number, a sample, and
        the place of a sentence or None.

        With "ablation" the sample's completion lacks the sentence, and the judge is asked about the
        rest as a whole (None). Otherwise the sample is unchanged, and the judge is asked about the
        sentence at this place.

        Args:
            row: the row of the whole completion.
            text: the completion's judged part.
            sentences: the places of the sentences in the text.
        """
        row_number, sample, _ = row
        for sentence_number, place in enumerate(sentences):
            if self.spans == "ablation":
                rest = without_sentence(text, sentences, sentence_number)
                yield row_number, replace(sample, completion=rest), None
            else:
                yield row_number, sample, place

    def spans_of(
        self, verdicts: Sequence[Verdict], places: Sequence[SentencePlace]
    ) -> tuple[Span, ...]:
        """Returns a span per sentence: with the score 0.8 for the text and 0.5 for the text without
        the first sentence, the first span has the credit 0.3 and the score 0.65.

        The span's credit is the score minus the score without the sentence. The span's score is (1
        + credit) / 2, so a sentence with a positive credit has more than 0.5. The only sentence of
        a text has the text's whole score as its score and credit.

        Args:
            verdicts: first the verdict on the text, then the verdict on the text without each
                sentence. For a text of one sentence only the first verdict.
            places: the places of the sentences.
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


def join_sentences(places: Sequence[SentencePlace]) -> list[SentencePlace]:
    """Returns at most MOST_SENTENCES places. If there are more sentences, neighbours are joined to
    parts of about equal numbers of sentences: with a limit of 2, the sentences (0, 5), (6, 9) and
    (10, 12) become (0, 5) and (6, 12).

    This limit bounds the number of questions. places: the sentences in order.
    """
    count = min(len(places), MOST_SENTENCES)
    if not count:
        return []
    # the numbers of the sentences at which each of the `count` parts begins; the lengths of the
    # parts differ by at most one sentence
    cuts = []
    for number in range(count + 1):
        cuts.append(number * len(places) // count)
    joined = []
    for first, behind in pairwise(cuts):
        start, _ = places[first]
        _, end = places[behind - 1]
        joined.append((start, end))
    return joined


def without_sentence(text: str, places: Sequence[SentencePlace], number: int) -> str:
    """Returns the text without one sentence and the white space after this sentence: "It is red. It
    flies." without the sentence (0, 10) is "It flies."

    Args:
        places: the places of all sentences.
        number: the number of the sentence. Without the last sentence, the text ends at the end of
            the sentence before.
    """
    start, _ = places[number]
    before = text[:start]
    if number + 1 == len(places):
        return before.rstrip()
    next_start, _ = places[number + 1]
    return before + text[next_start:]
