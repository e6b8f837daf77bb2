"""How right are a reward's spans, by a labelled sample, and should they reach the tokens that wrote them?

    found = reliability([Labelled(text, verdict.spans, wrong=((2, 5),), group=0), ...])
    found["all"]["r"], found["all"]["low"], advice(found["all"])

r is Pearson's, over the phrases that were asked about, of a phrase's credit with its label: 1, or 0 where a wrong range
touches its first mention; both less the baseline that training takes (training/grpo/credit.py), so that no judge looks
good for blaming the kind of phrase that is wrong most often. Which r is enough was measured in docs/credit.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewards.agreement.records import Record
from rewards.agreement.statistics import bootstrap, pearson
from rewards.verdict import Span, Verdict
from training.grpo.credit import first_mentions, phrases_of, residual_credit

Array = NDArray[np.float64]

RESAMPLES = 1000
ENOUGH = 0.25  # r from which spans raised what a policy samples in training with add_centred 0.5 (docs/credit.md)
COEFFICIENT = 0.5

FEW = 20  # completions: of fewer the interval says too little


@dataclass(frozen=True, slots=True)
class Labelled:
    """One completion: the spans of its verdict, and the ranges of characters [start, end) that are wrong.

    group: whose completions answer one prompt.
    """

    text: str
    spans: tuple[Span, ...]
    wrong: tuple[tuple[int, int], ...]
    group: int


def labelled(records: Sequence[Record], verdicts: Sequence[Verdict]) -> list[Labelled]:
    """People's labels with what a metric says of each text; without texts that it has no score for.

    Raises ValueError for a record without `mistakes`, and where the metric has no score for any.
    """
    rows = []
    for number, (record, verdict) in enumerate(zip(records, verdicts, strict=True)):
        if record.mistakes is None:
            raise ValueError(f"{record.where} has no mistakes: name their column in the column map, [] for none.")
        if verdict.score is not None:
            rows.append(Labelled(record.samples[0].completion, verdict.spans, record.mistakes, number))
    if not rows:
        raise ValueError(f"none of {len(records)} completions has a verdict; the first: {verdicts[0].note}")
    return rows


def reliability(rows: Sequence[Labelled], resamples: int = RESAMPLES) -> dict[str, dict[str, Any]]:
    """For "all" and each kind: r with its 95 % interval over completions, how many completions and phrases, the share
    whose label is wrong, and the share that is blamed (credit below 0). r is None where all labels are equal.
    """
    mentions = [first_mentions(row.spans) for row in rows]
    phrases = [p for row, own in zip(rows, mentions, strict=True) for p in phrases_of(own, row.text, row.group)]
    labels = [
        float(not any(start < span.end and span.start < end for start, end in row.wrong))
        for row, own in zip(rows, mentions, strict=True)
        for span in own
    ]
    of_row = np.array([number for number, own in enumerate(mentions) for _ in own], dtype=np.int64)
    marked = [replace(phrase, credit=label) for phrase, label in zip(phrases, labels, strict=True)]
    credit, label = np.array(residual_credit(phrases)), np.array(residual_credit(marked))
    kinds = np.array([phrase.kind for phrase in phrases])

    def correlation(completions: Sequence[NDArray[np.int64]]) -> float:
        """r over the phrases of these completions, which stay together when some are drawn."""
        drawn = np.concatenate(completions)
        return pearson(credit[drawn].tolist(), label[drawn].tolist())

    found = {}
    for name in ["all", *sorted(set(kinds.tolist()))]:
        chosen = np.flatnonzero((kinds == name) | (name == "all"))
        r, low, high = None, None, None
        if len({labels[i] for i in chosen}) > 1:
            of_completions = [chosen[of_row[chosen] == row] for row in np.unique(of_row[chosen])]
            interval = bootstrap(of_completions, correlation, resamples)
            figures = (correlation(of_completions), interval.low, interval.high)
            r, low, high = (None if figure != figure else figure for figure in figures)
        found[name] = {
            "r": r,
            "low": low,
            "high": high,
            "completions": len(set(of_row[chosen].tolist())),
            "phrases": len(chosen),
            "wrong": 1 - float(np.mean([labels[i] for i in chosen])),
            "blamed": float(np.mean([phrases[i].credit < 0 for i in chosen])),
        }
    return found


def advice(found: dict[str, Any]) -> str:
    """What to set in a recipe, in a sentence. found: the entry "all" of `reliability`."""
    if found["r"] is None:
        return "No advice: label a sample in which something is right and something is wrong."
    if found["completions"] < FEW:
        return f"No advice from {found['completions']} completions: label {FEW} or more."
    said = f"r {found['r']:.2f} [{found['low']:.2f}, {found['high']:.2f}]"
    if found["low"] >= ENOUGH:
        return f"span_coef={COEFFICIENT} with span_rule=add_centred: {said} is {ENOUGH} or more."
    if found["high"] < ENOUGH:
        return f"span_coef=0: {said} is below {ENOUGH}."
    return f"span_coef=0 until more is labelled: {said} does not tell whether it is {ENOUGH} or more."
