"""The base class of the metrics that show each row to one judge, and what each sentence of a completion adds.

With spans="ablation" the judge is also asked about each completion without each of its sentences. The sentence's credit
is the score less the score without it, both before penalties.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import Any, Literal

from spanreward.rewards.base.checks import MODES, Mode, check_choice
from spanreward.rewards.base.cost import Cost
from spanreward.rewards.base.verdict import Sample, Span, Verdict
from spanreward.rewards.judges.by_name import as_judge
from spanreward.rewards.judges.judge import Judge
from spanreward.rewards.language.parse import split_sentences
from spanreward.rewards.language.pipeline import load_pipeline, pipeline_name
from spanreward.rewards.reward.reading import ReadingReward
from spanreward.rewards.reward.rows import judged, penalise, sort_rows

Place = tuple[int, int]
Row = tuple[int, Sample]  # with the number of the row that it is, or lacks a sentence of
Raw = tuple[Verdict, int]  # before penalties, and how many characters at the text's end the judge did not read
Spans = Literal["ablation", "none"]
MOST_SENTENCES = 32
SENTENCES = 4  # of a completion, as costs assume


class RowReward(ReadingReward):
    """Base class. A subclass defines `show`, see `sort_rows`, and `rate`."""

    def __init__(self, name: str, judge: Judge | str, mode: Mode, spans: Spans = "none") -> None:
        super().__init__(name)
        check_choice("mode", mode, MODES)
        check_choice("spans", spans, ("ablation", "none"))
        self.judge = as_judge(judge)
        self.judges = (self.judge,)
        self.mode = mode
        self.spans = spans

    def show(self, sample: Sample) -> Any:
        raise NotImplementedError

    def rate(self, rows: Sequence[Row], shown: dict[int, Any]) -> list[Raw]:
        """Returns a raw verdict per row, in order. shown: what `show` returns, by the row's number."""
        raise NotImplementedError

    def reader(self) -> str:
        """Returns the pipeline that finds the sentences, "" without spans. Raises ImportError where it is missing."""
        return pipeline_name(load_pipeline(None)) if self.spans == "ablation" else ""

    def with_sentences(self, cost: Cost) -> Cost:
        """Returns the cost of a completion of SENTENCES sentences, from that of a text."""
        times, how = 1 + SENTENCES, f"{cost.how}, x (1 + {SENTENCES} sentences, assumed)"
        counts = (cost.questions * times, cost.prompt_tokens * times, cost.written_tokens * times)
        return Cost(*counts, exact=False, how=how) if self.spans == "ablation" else cost

    def assess_plain(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns one Verdict per sample, in order. All questions are one call, equal ones once."""
        shown, verdicts = sort_rows(samples, self.show)
        rows = [(number, samples[number]) for number in shown if number not in verdicts]
        found = self._by_sentence(rows, shown) if rows and self.spans == "ablation" else self.rate(rows, shown)
        for (number, sample), (verdict, cut) in zip(rows, found, strict=True):
            verdicts[number] = penalise(verdict, sample, self.mode, cut)
        return [verdicts[number] for number in range(len(samples))]

    def _by_sentence(self, rows: Sequence[Row], shown: dict[int, Any]) -> list[Raw]:
        """Returns what `rate` returns, with a span per sentence. One failure fails the verdict."""
        texts, read_by = [judged(sample) for _, sample in rows], self.reader()
        places = [at_most(found) for found in split_sentences(texts)]
        counts = [len(found) if len(found) > 1 else 0 for found in places]  # of texts with a sentence less
        shorter = [
            (number, replace(sample, completion=without(text, found, n)))
            for (number, sample), text, found, count in zip(rows, texts, places, counts, strict=True)
            for n in range(count)
        ]
        raw = self.rate([*rows, *shorter], shown)
        others = iter([verdict for verdict, _ in raw[len(rows) :]])
        return [
            (replace(with_spans([whole, *islice(others, count)], found), parsed_by=read_by), cut)
            for (whole, cut), found, count in zip(raw, places, counts, strict=False)
        ]


def with_spans(verdicts: Sequence[Verdict], places: Sequence[Place]) -> Verdict:
    """Returns a text's verdict, with a span per sentence. verdicts: the text's, and those without each sentence of
    several. A span's score is (1 + credit) / 2, above 0.5 where it does good. A sentence alone has the whole score.
    """
    if failed := next((one for one in verdicts if one.score is None), None):
        return failed
    score, *rest = [one.score or 0.0 for one in verdicts]
    about = [((1 + score - less) / 2, score - less, f"{less:.2f} without it") for less in rest]
    about = about or [(score, score, "the only sentence")]
    each = enumerate(zip(places, about, strict=True))
    spans = [Span(*place, value, credit, "sentence", note, n) for n, (place, (value, credit, note)) in each]
    return replace(verdicts[0], spans=tuple(spans))


def at_most(places: Sequence[Place], most: int = MOST_SENTENCES) -> list[Place]:
    """Returns the sentences, joined with their neighbours where there are more than `most`, to bound the cost."""
    if len(places) <= most:
        return list(places)
    cuts = [number * len(places) // most for number in range(most + 1)]
    return [(places[first][0], places[last - 1][1]) for first, last in pairwise(cuts)]


def without(text: str, places: Sequence[Place], number: int) -> str:
    """Returns the text without one of its sentences and the white space after it."""
    if number + 1 < len(places):
        return text[: places[number][0]] + text[places[number + 1][0] :]
    return text[: places[number][0]].rstrip()
