"""Measures how right a reward's spans are on a labelled sample, and whether the spans should reach
the tokens that wrote them.

    found = span_reliability([Labelled(text, verdict.spans, wrong=((2, 5),), group=0), ...])
    found["all"]["r"], found["all"]["low"], span_coef_advice(found["all"])
    judge_errors(rows)["right"]["judged_wrong"]  # of the phrases that people did not mark

r is Pearson's correlation of a phrase's credit with its label, over the phrases that the judge was
asked about. The label is 0 if a range that people marked wrong touches the phrase's first mention,
else 1. The baseline of training (training/grpo/credit.py) is subtracted from the credit and from
the label. Otherwise a judge could raise r by always blaming the kind of phrase that is wrong most
often. docs/evidence/credit.md measured which r is enough.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import pearsonr

from spanreward.rewards.base.verdict import Sample, Span, Verdict
from spanreward.rewards.comparison.number_text import estimate_text
from spanreward.rewards.comparison.resampling import bootstrap, ratio_interval
from spanreward.training.data.marks import CharacterSpans
from spanreward.training.grpo.credit import first_mentions, phrases_of, residual_credit

Array = NDArray[np.float64]

RESAMPLE_COUNT = 1000
# with this r or more, training with spans raised the scores of a policy's samples (add_centred 0.5,
# docs/evidence/credit.md)
MIN_CORRELATION = 0.25
ADVISED_COEFFICIENT = 0.5
MIN_RIGHT_SCORE = 0.5  # a phrase with a lower score is judged wrong
MIN_COMPLETIONS = 20  # with fewer completions the interval is too wide for advice


@dataclass(frozen=True, slots=True)
class Labelled:
    """One completion with people's labels.

    Attributes:
        text: the completion.
        spans: the spans of its verdict.
        wrong: the characters [start, end) that people marked as wrong.
        group: the number of the prompt, equal for all completions of one prompt.
    """

    text: str
    spans: tuple[Span, ...]
    wrong: tuple[tuple[int, int], ...]
    group: int


def pearson_correlation(scores: Array, labels: Array) -> float:
    """Returns Pearson's correlation in [-1, 1]; nan if all scores or all labels are equal.

    A draw of the bootstrap may have equal labels by chance, and an error would end the whole
    bootstrap.
    """
    different_scores = set(scores.tolist())
    different_labels = set(labels.tolist())
    if len(different_scores) < 2 or len(different_labels) < 2:
        return float("nan")
    return float(pearsonr(scores, labels).statistic)


def labelled_rows(
    texts: Sequence[tuple[Sample, CharacterSpans]], verdicts: Sequence[Verdict]
) -> list[Labelled]:
    """Returns the spans and people's labels of each text with a score.

    Each text gets a `group` of its own, as if no two texts answered the same prompt.

    texts: each completion with the character ranges that people marked as wrong. verdicts: the
    verdict on each text. Raises ValueError if no text has a score.
    """
    rows = []
    judged_texts = zip(texts, verdicts, strict=True)
    for number, (text, verdict) in enumerate(judged_texts):
        sample, wrong = text
        if verdict.score is None:
            continue
        labelled = Labelled(sample.completion, verdict.spans, wrong, group=number)
        rows.append(labelled)
    if not rows:
        raise ValueError(
            f"none of {len(texts)} completions has a verdict; the first: {verdicts[0].note}"
        )
    return rows


@dataclass(frozen=True, slots=True)
class _Phrases:
    """All phrases that a judge was asked about, one element per phrase in every array.

    Attributes:
        kinds: the kind of the phrase, such as "entity".
        rows: the number of the phrase's completion.
        credits: the phrase's credit.
        labels: 1 for a phrase that is right by people's labels, 0 for a wrong phrase.
        residual_credits, residual_labels: the credits and the labels, from which the baseline of
            training has been subtracted.
    """

    kinds: NDArray[np.str_]
    rows: NDArray[np.int64]
    credits: Array
    labels: Array
    residual_credits: Array
    residual_labels: Array


def span_reliability(
    rows: Sequence[Labelled], resamples: int = RESAMPLE_COUNT
) -> dict[str, dict[str, Any]]:
    """Returns how well credit agrees with people's labels, for "all" phrases and for each kind of
    phrase.

    Each entry has r with its 95 % interval over completions ("r", "low", "high"), and the numbers
    of "completions" and "phrases". Each entry also has the share of phrases that are "wrong" by the
    labels, and the share that is "blamed" (credit below 0). r is None if all labels are equal.
    """
    phrases = _phrases_of_rows(rows)
    all_phrases = np.arange(len(phrases.labels))
    reliability_of = {"all": _reliability_of_phrases(phrases, all_phrases, resamples)}
    for kind in sorted(set(phrases.kinds.tolist())):
        of_kind = np.flatnonzero(phrases.kinds == kind)
        reliability_of[kind] = _reliability_of_phrases(phrases, of_kind, resamples)
    return reliability_of


def _phrases_of_rows(rows: Sequence[Labelled]) -> _Phrases:
    """Returns the phrases of all completions with their credits and labels.

    A phrase is wrong if a range that people marked touches its first mention.
    """
    phrases = []
    labels = []
    row_numbers = []
    for number, row in enumerate(rows):
        spans = first_mentions(row.spans)
        row_phrases = phrases_of(spans, row.text, row.group)
        for span, phrase in zip(spans, row_phrases, strict=True):
            phrases.append(phrase)
            labels.append(0.0 if touches_range(span, row.wrong) else 1.0)
            row_numbers.append(number)
    # `residual_credit` subtracts the baseline from the field `credit`. To subtract it from the
    # labels, these copies of the phrases have the label in this field.
    phrases_with_label = []
    for phrase, label in zip(phrases, labels, strict=True):
        phrases_with_label.append(replace(phrase, credit=label))
    return _Phrases(
        kinds=np.array([phrase.kind for phrase in phrases]),
        rows=np.array(row_numbers, dtype=np.int64),
        credits=np.array([phrase.credit for phrase in phrases]),
        labels=np.array(labels),
        residual_credits=np.array(residual_credit(phrases)),
        residual_labels=np.array(residual_credit(phrases_with_label)),
    )


def _reliability_of_phrases(
    phrases: _Phrases, chosen: NDArray[np.int64], resamples: int
) -> dict[str, Any]:
    """Returns the figures of some phrases, as `span_reliability` documents them: r with its
    interval, counts and shares.

    r correlates residual credits with residual labels: each less its baseline (`residual_credit`).
    chosen: the indices of the phrases in the arrays of `phrases`.
    resamples: the draws of the bootstrap.
    """

    def correlation(completions: Sequence[NDArray[np.int64]]) -> float:
        """Returns r over some completions. completions: for each, the indices of its phrases."""
        drawn = np.concatenate(completions)
        return pearson_correlation(phrases.residual_credits[drawn], phrases.residual_labels[drawn])

    chosen_rows = phrases.rows[chosen]
    labels = phrases.labels[chosen]
    figures: dict[str, float | None] = {"r": None, "low": None, "high": None}
    # equal labels have no correlation
    if len(set(labels.tolist())) > 1:
        # whole completions are drawn, because phrases of one text are not independent
        completions = [chosen[chosen_rows == row] for row in np.unique(chosen_rows)]
        interval = bootstrap(completions, correlation, resamples)
        figures = {"r": correlation(completions), **asdict(interval)}
    # r is nan if all credits are equal
    for key, value in figures.items():
        if value is not None and np.isnan(value):
            figures[key] = None
    return {
        **figures,
        "completions": len(set(chosen_rows.tolist())),
        "phrases": len(chosen),
        "wrong": 1 - float(np.mean(labels)),
        "blamed": float(np.mean(phrases.credits[chosen] < 0)),
    }


def judge_errors(rows: Sequence[Labelled]) -> dict[str, dict[str, Any]]:
    """Returns how often the judge errs on phrases that are "right" and on phrases that are "wrong"
    by people's labels.

    {"right": {"phrases": 90, "judged_wrong": 0.1, "low": 0.05, "high": 0.16},
     "wrong": {"phrases": 10, "judged_right": 0.3, "low": 0.1, "high": 0.5}}

    A phrase is wrong if a range that people marked touches its first mention. A phrase is judged
    wrong if its score is below MIN_RIGHT_SCORE. "low" and "high" are the 95 % interval over
    completions. Phrases that the judge was not asked about do not count: `first_mentions` leaves
    them out. Shares and bounds are None without phrases. Bounds are also None if one completion has
    all phrases.
    """
    # by label, the errors and the phrases in each completion that has such phrases
    errors: dict[str, list[int]] = {"right": [], "wrong": []}
    phrases: dict[str, list[int]] = {"right": [], "wrong": []}
    for row in rows:
        judgments: dict[str, list[str]] = {"right": [], "wrong": []}
        for span in first_mentions(row.spans):
            label = "wrong" if touches_range(span, row.wrong) else "right"
            judgment = "wrong" if span.score < MIN_RIGHT_SCORE else "right"
            judgments[label].append(judgment)
        for label, row_judgments in judgments.items():
            if row_judgments:
                count = len(row_judgments)
                # an error is a judgment that differs from the label
                errors[label].append(count - row_judgments.count(label))
                phrases[label].append(count)
    return {
        "right": _error_rate("judged_wrong", errors["right"], phrases["right"]),
        "wrong": _error_rate("judged_right", errors["wrong"], phrases["wrong"]),
    }


def _error_rate(name: str, errors: Sequence[int], phrases: Sequence[int]) -> dict[str, Any]:
    """Returns the share of errors among phrases, with its 95 % interval.

    name: the key of the share in the result. errors, phrases: the number of errors and of phrases
    in each completion.
    """
    count = sum(phrases)
    bounds = ratio_interval(errors, phrases)
    return {
        "phrases": count,
        name: sum(errors) / count if count else None,
        "low": None if bounds is None else bounds.low,
        "high": None if bounds is None else bounds.high,
    }


def touches_range(span: Span, wrong: Sequence[tuple[int, int]]) -> bool:
    """Returns whether one of the character ranges [start, end) of `wrong` overlaps the span."""
    return any(start < span.end and span.start < end for start, end in wrong)


def span_coef_advice(figures: dict[str, Any]) -> str:
    """Returns a sentence on the span_coef to set in a recipe. figures: the entry "all" of
    `span_reliability`.
    """
    r = figures["r"]
    low = figures["low"]
    high = figures["high"]
    completions = figures["completions"]
    if r is None:
        return "No advice: label a sample in which something is right and something is wrong."
    if completions < MIN_COMPLETIONS:
        return f"No advice from {completions} completions: label {MIN_COMPLETIONS} or more."
    correlation = f"r {estimate_text(r, low, high, digits=2)}"
    # the whole interval decides, not r alone
    if low >= MIN_CORRELATION:
        return f"span_coef={ADVISED_COEFFICIENT}: {correlation} is {MIN_CORRELATION} or more."
    if high < MIN_CORRELATION:
        return f"span_coef=0: {correlation} is below {MIN_CORRELATION}."
    return (
        f"span_coef=0 until more is labelled: {correlation} does not tell whether it is "
        f"{MIN_CORRELATION} or more."
    )
