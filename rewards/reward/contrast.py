"""Contrast: what a text earns on its own row beyond what it would earn on other rows. Text that knows nothing has 0.

    contrasts(reward, samples, verdicts, rows=[0])         # {0: 0.31}

"There is a thing in the picture" earns the same against any reference, and so does whatever else pays without looking.
No list of words or frames is needed to see it. A row costs as many judgments as it has OTHERS.
"""

import zlib
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from spanreward.rewards.base.verdict import Sample, Verdict
from spanreward.rewards.reward.reward import Reward

OTHERS = 3
EVERY = 50  # of so many rows one is logged: 2 %


def contrasts(
    reward: Reward, samples: Sequence[Sample], verdicts: Sequence[Verdict], rows: Sequence[int], others: int = OTHERS
) -> dict[int, float]:
    """Returns by row its own score less the mean score on up to `others` other rows, of the rows that have both.

    Scores are in [0, 1], so a contrast is in [-1, 1]. Other rows are judged against another text.
    """
    scores = {row: score for row in rows if (score := verdicts[row].score) is not None}
    pairs = [
        (row, replace(other, completion=samples[row].completion))
        for row in scores
        for other in others_of(samples, row)[:others]
    ]
    found = reward.judge_samples([sample for _, sample in pairs]) if pairs else []
    on_others: dict[int, list[float]] = {}
    for (row, _), verdict in zip(pairs, found, strict=True):
        if verdict.score is not None:
            on_others.setdefault(row, []).append(verdict.score)
    return {row: scores[row] - fmean(of_row) for row, of_row in on_others.items()}


def sampled(samples: Sequence[Sample]) -> list[int]:
    """Returns the rows whose contrast is measured: one in EVERY by a hash of its text, so that a resumed run measures
    the same ones. An empty text has no contrast.
    """
    hashes = [zlib.crc32(sample.completion.encode("utf-8", "replace")) for sample in samples]  # 0 of an empty text
    return [row for row, number in enumerate(hashes) if number and number % EVERY == 0]


def others_of(samples: Sequence[Sample], row: int) -> list[Sample]:
    """Returns one sample per other text that rows are judged against, from the next row on."""
    against = [(one.question, one.references, one.answers, one.context) for one in samples]
    first: dict[object, Sample] = {}
    for number in (*range(row + 1, len(samples)), *range(row)):
        first.setdefault(against[number], samples[number])
    return [sample for key, sample in first.items() if key != against[row]]
