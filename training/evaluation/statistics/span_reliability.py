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
ENOUGH = 0.25
COEFFICIENT = 0.5
HALF = 0.5  # a phrase with a lower score is judged wrong
FEW = 20  # completions: with fewer the interval says too little


@dataclass(frozen=True, slots=True)
class Labelled:
    """One completion: its verdict's spans and wrong characters [start, end). group: those of one
    prompt.
    """

    text: str
    spans: tuple[Span, ...]
    wrong: tuple[tuple[int, int], ...]
    group: int


def pearson(scores: Array, labels: Array) -> float:
    """Returns the correlation in [-1, 1]; nan where either side is constant, so that a resample
    never raises.
    """
    constant = len(set(scores.tolist())) < 2 or len(set(labels.tolist())) < 2
    return float("nan") if constant else float(pearsonr(scores, labels).statistic)


def labelled(
    texts: Sequence[tuple[Sample, CharacterSpans]], verdicts: Sequence[Verdict]
) -> list[Labelled]:
    """Returns people's labels with the metric's spans, of texts with a score.

    Raises ValueError where none has.
    """
    rows = []
    for number, ((sample, wrong), verdict) in enumerate(zip(texts, verdicts, strict=True)):
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
    mentions = [first_mentions(row.spans) for row in rows]
    phrases = [
        p
        for row, own in zip(rows, mentions, strict=True)
        for p in phrases_of(own, row.text, row.group)
    ]
    labels = [
        float(not touches(span, row.wrong))
        for row, own in zip(rows, mentions, strict=True)
        for span in own
    ]
    of_row = np.array([number for number, own in enumerate(mentions) for _ in own], dtype=np.int64)
    marked = [replace(phrase, credit=label) for phrase, label in zip(phrases, labels, strict=True)]
    credit = np.array(residual_credit(phrases))
    label = np.array(residual_credit(marked))
    kinds = np.array([phrase.kind for phrase in phrases])

    def correlation(completions: Sequence[NDArray[np.int64]]) -> float:
        drawn = np.concatenate(completions)
        return pearson(credit[drawn], label[drawn])

    found = {}
    for name in ["all", *sorted(set(kinds.tolist()))]:
        chosen = np.flatnonzero((kinds == name) | (name == "all"))
        known: dict[str, float | None] = dict.fromkeys(("r", "low", "high"))
        if len({labels[i] for i in chosen}) > 1:
            of_completions = [chosen[of_row[chosen] == row] for row in np.unique(of_row[chosen])]
            known = {
                "r": correlation(of_completions),
                **asdict(bootstrap(of_completions, correlation, resamples)),
            }
        found[name] = {
            **{key: None if value != value else value for key, value in known.items()},
            "completions": len(set(of_row[chosen].tolist())),
            "phrases": len(chosen),
            "wrong": 1 - float(np.mean([labels[i] for i in chosen])),
            "blamed": float(np.mean([phrases[i].credit < 0 for i in chosen])),
        }
    return found


def judge_errors(rows: Sequence[Labelled]) -> dict[str, dict[str, Any]]:
    """Returns how often the judge errs on the phrases that are "right" (people leave them alone)
    and on those that are "wrong" (a wrong range touches them).

    Of each: "phrases", their number; "judged_wrong" of right ones (a score below HALF) or
    "judged_right" of wrong ones, a share; "low" and "high", its 95 % interval over completions. A
    phrase is its first mention, and one that the judge was not asked about does not count. Shares
    and bounds are None where there are no phrases, bounds where one completion has them all.
    """
    judged_wrong: dict[str, list[int]] = {"right": [], "wrong": []}
    phrases: dict[str, list[int]] = {"right": [], "wrong": []}
    for row in rows:
        of_row: dict[str, list[bool]] = {"right": [], "wrong": []}
        for span in first_mentions(row.spans):
            label = "wrong" if touches(span, row.wrong) else "right"
            of_row[label].append(span.score < HALF)
        for label, judgments in of_row.items():
            if judgments:
                judged_wrong[label].append(sum(judgments))
                phrases[label].append(len(judgments))
    judged_right = [
        count - blamed
        for count, blamed in zip(phrases["wrong"], judged_wrong["wrong"], strict=True)
    ]
    return {
        "right": _error("judged_wrong", judged_wrong["right"], phrases["right"]),
        "wrong": _error("judged_right", judged_right, phrases["wrong"]),
    }


def _error(name: str, errors: Sequence[int], phrases: Sequence[int]) -> dict[str, Any]:
    """Returns the share of errors among phrases, given by completion, under a name."""
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


def advice(found: dict[str, Any]) -> str:
    """Returns what to set in a recipe, in a sentence. found: the entry "all" of `reliability`."""
    if found["r"] is None:
        return "No advice: label a sample in which something is right and something is wrong."
    if found["completions"] < FEW:
        return f"No advice from {found['completions']} completions: label {FEW} or more."
    said = f"r {estimate(found['r'], found['low'], found['high'], digits=2)}"
    if found["low"] >= ENOUGH:
        return f"span_coef={COEFFICIENT}: {said} is {ENOUGH} or more."
    if found["high"] < ENOUGH:
        return f"span_coef=0: {said} is below {ENOUGH}."
    return (
        f"span_coef=0 until more is labelled: {said} does not tell whether it is {ENOUGH} or more."
    )
