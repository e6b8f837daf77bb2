"""How right are a reward's spans, by a labelled sample, and should they reach the tokens that wrote
them?

    found = reliability([Labelled(text, verdict.spans, wrong=((2, 5),), group=0), ...])
    found["all"]["r"], found["all"]["low"], advice(found["all"])
    judge_errors(rows)["right"]["judged_wrong"]      # of the phrases that people leave alone

r is Pearson's correlation of a phrase's credit with its label, over the phrases that the judge was
asked about. The label is 0 where a wrong range touches the phrase's first mention, else 1. The
baseline of training (training/grpo/credit.py) is taken off both, so a judge gains nothing by
blaming the kind of phrase that is wrong most often. docs/evidence/credit.md measured which r is
enough.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import pearsonr

from spanreward.rewards.base.verdict import Sample, Span, Verdict
from spanreward.rewards.comparison.figures import estimate
from spanreward.rewards.comparison.resampling import bootstrap, ratio_interval
from spanreward.training.data.marks import CharacterSpans
from spanreward.training.grpo.credit import first_mentions, phrases_of, residual_credit

Array = NDArray[np.float64]

RESAMPLES = 1000
# with this r or more, spans raised what a policy samples (add_centred 0.5, docs/evidence/credit.md)
MIN_CORRELATION = 0.25
COEFFICIENT = 0.5
MIN_RIGHT_SCORE = 0.5  # a phrase with a lower score is judged wrong
MIN_COMPLETIONS = 20  # with fewer the interval says too little


@dataclass(frozen=True, slots=True)
class Labelled:
    """One completion with people's labels.

    Attributes:
        text: the completion.
        spans: its verdict's.
        wrong: the characters [start, end) that people call wrong.
        group: a number, the same for the completions of one prompt.
    """

    text: str
    spans: tuple[Span, ...]
    wrong: tuple[tuple[int, int], ...]
    group: int


def pearson(scores: Array, labels: Array) -> float:
    """Returns the correlation in [-1, 1]; nan where either side is constant, so that a resample
    never raises.
    """
    different_scores = set(scores.tolist())
    different_labels = set(labels.tolist())
    if len(different_scores) < 2 or len(different_labels) < 2:
        return float("nan")
    return float(pearsonr(scores, labels).statistic)


def labelled_rows(
    texts: Sequence[tuple[Sample, CharacterSpans]], verdicts: Sequence[Verdict]
) -> list[Labelled]:
    """Returns people's labels with the metric's spans, of texts with a score.

    Raises ValueError where none has.
    """
    rows = []
    judged_texts = zip(texts, verdicts, strict=True)
    for number, (text, verdict) in enumerate(judged_texts):
        sample, wrong = text
        # each text is taken as a group of its own
        if verdict.score is not None:
            rows.append(Labelled(sample.completion, verdict.spans, wrong, number))
    if not rows:
        raise ValueError(
            f"none of {len(texts)} completions has a verdict; the first: {verdicts[0].note}"
        )
    return rows


def reliability(rows: Sequence[Labelled], resamples: int = RESAMPLES) -> dict[str, dict[str, Any]]:
    """Returns, for "all" and each kind of phrase: r with its 95 % interval over completions, the
    numbers of completions and phrases, and the shares of phrases that are wrong and that are blamed
    (credit below 0). r is None where all labels are equal.
    """
    # of each phrase that the judge was asked about
    phrases = []
    marked = []  # the same phrases, with the label in place of the credit
    labels = []  # 1 for a right phrase, 0 for a wrong one
    row_numbers = []
    for number, row in enumerate(rows):
        spans = first_mentions(row.spans)
        row_phrases = phrases_of(spans, row.text, row.group)
        for span, phrase in zip(spans, row_phrases, strict=True):
            label = 0.0 if touches(span, row.wrong) else 1.0
            phrases.append(phrase)
            marked.append(replace(phrase, credit=label))
            labels.append(label)
            row_numbers.append(number)
    row_of_phrase = np.array(row_numbers, dtype=np.int64)
    # the baseline is taken off both
    residual_credits = np.array(residual_credit(phrases))
    residual_labels = np.array(residual_credit(marked))
    kinds = [phrase.kind for phrase in phrases]

    def correlation(completions: Sequence[NDArray[np.int64]]) -> float:
        drawn = np.concatenate(completions)
        return pearson(residual_credits[drawn], residual_labels[drawn])

    reliability_of: dict[str, dict[str, Any]] = {}
    for name in ["all", *sorted(set(kinds))]:
        places = []
        for place, kind in enumerate(kinds):
            if name in (kind, "all"):
                places.append(place)
        chosen = np.array(places, dtype=np.int64)
        chosen_rows = row_of_phrase[chosen]
        chosen_labels = [labels[place] for place in chosen]
        blamed = [phrases[place].credit < 0 for place in chosen]
        figures: dict[str, float | None] = {"r": None, "low": None, "high": None}
        # labels that are all equal correlate with nothing
        if len(set(chosen_labels)) > 1:
            # whole completions are drawn, because phrases of one text are not independent
            completions = [chosen[chosen_rows == row] for row in np.unique(chosen_rows)]
            interval = bootstrap(completions, correlation, resamples)
            figures = {"r": correlation(completions), **asdict(interval)}
        # nan, where the judge's credit is everywhere the same
        for key, value in figures.items():
            if value is not None and np.isnan(value):
                figures[key] = None
        reliability_of[name] = {
            **figures,
            "completions": len(set(chosen_rows.tolist())),
            "phrases": len(chosen),
            "wrong": 1 - float(np.mean(chosen_labels)),
            "blamed": float(np.mean(blamed)),
        }
    return reliability_of


def judge_errors(rows: Sequence[Labelled]) -> dict[str, dict[str, Any]]:
    """Returns how often the judge errs on the phrases that are "right" (people leave them alone)
    and on those that are "wrong" (a wrong range touches them).

    Of each: "phrases", their number; "judged_wrong" of right ones (a score below MIN_RIGHT_SCORE)
    or "judged_right" of wrong ones, a share; "low" and "high", its 95 % interval over completions.
    A phrase is its first mention, and one that the judge was not asked about does not count. Shares
    and bounds are None where there are no phrases, bounds where one completion has them all.
    """
    # by label, their number in each completion that has such phrases
    errors: dict[str, list[int]] = {"right": [], "wrong": []}
    phrases: dict[str, list[int]] = {"right": [], "wrong": []}
    for row in rows:
        judgments: dict[str, list[str]] = {"right": [], "wrong": []}
        for span in first_mentions(row.spans):
            label = "wrong" if touches(span, row.wrong) else "right"
            judgment = "wrong" if span.score < MIN_RIGHT_SCORE else "right"
            judgments[label].append(judgment)
        for label, row_judgments in judgments.items():
            if row_judgments:
                count = len(row_judgments)
                # a judgment is right where it is the label
                errors[label].append(count - row_judgments.count(label))
                phrases[label].append(count)
    return {
        "right": _error_rate("judged_wrong", errors["right"], phrases["right"]),
        "wrong": _error_rate("judged_right", errors["wrong"], phrases["wrong"]),
    }


def _error_rate(name: str, errors: Sequence[int], phrases: Sequence[int]) -> dict[str, Any]:
    """Returns the share of errors among phrases, under a name, with its interval. errors, phrases:
    their numbers in each completion.
    """
    count = sum(phrases)
    bounds = ratio_interval(errors, phrases)
    return {
        "phrases": count,
        name: sum(errors) / count if count else None,
        "low": None if bounds is None else bounds.low,
        "high": None if bounds is None else bounds.high,
    }


def touches(span: Span, wrong: Sequence[tuple[int, int]]) -> bool:
    """Returns whether one of the ranges [start, end) touches the span."""
    return any(start < span.end and span.start < end for start, end in wrong)


def advice(figures: dict[str, Any]) -> str:
    """Returns what to set in a recipe, in a sentence. figures: the entry "all" of `reliability`."""
    r = figures["r"]
    low = figures["low"]
    high = figures["high"]
    completions = figures["completions"]
    if r is None:
        return "No advice: label a sample in which something is right and something is wrong."
    if completions < MIN_COMPLETIONS:
        return f"No advice from {completions} completions: label {MIN_COMPLETIONS} or more."
    correlation = f"r {estimate(r, low, high, digits=2)}"
    # the whole interval decides, and r alone does not
    if low >= MIN_CORRELATION:
        return f"span_coef={COEFFICIENT}: {correlation} is {MIN_CORRELATION} or more."
    if high < MIN_CORRELATION:
        return f"span_coef=0: {correlation} is below {MIN_CORRELATION}."
    return (
        f"span_coef=0 until more is labelled: {correlation} does not tell whether it is "
        f"{MIN_CORRELATION} or more."
    )
