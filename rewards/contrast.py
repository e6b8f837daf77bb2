"""Contrast: what a text earns on its own row beyond what it would earn on other rows. Text that knows nothing has 0.

    contrasts(reward, samples, verdicts, rows=[0])         # [0.31]

"There is a thing in the picture" earns the same against any reference, and so does whatever else pays without looking.
No list of words or frames is needed to see it. A row costs as many judgments as it has OTHERS.
"""

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from spanreward.rewards.reward import Reward
from spanreward.rewards.verdict import Sample, Verdict

OTHERS = 3
EVERY = 50  # of so many rows one is logged: 2 %


def contrasts(
    reward: Reward, samples: Sequence[Sample], verdicts: Sequence[Verdict], rows: Sequence[int], others: int = OTHERS
) -> list[float]:
    """Returns own score less the mean score on up to `others` other rows, for each row that has both.

    Scores are in [0, 1], so a contrast is in [-1, 1]. Other rows are judged against another text.
    """
    asked = {row: others_of(samples, row)[:others] for row in rows}
    moved = [replace(other, completion=samples[row].completion) for row, some in asked.items() for other in some]
    found = iter(reward.judge_samples(moved) if moved else [])
    result = []
    for row, some in asked.items():
        own, scores = verdicts[row].score, [verdict.score for verdict in (next(found) for _ in some)]
        known = [score for score in scores if score is not None]
        if own is not None and known:
            result.append(own - fmean(known))
    return result


def others_of(samples: Sequence[Sample], row: int) -> list[Sample]:
    """Returns one sample per other text that rows are judged against, from the next row on."""
    against = [(one.question, one.references, one.answers, one.context) for one in samples]
    first: dict[object, Sample] = {}
    for number in (*range(row + 1, len(samples)), *range(row)):
        first.setdefault(against[number], samples[number])
    return [sample for key, sample in first.items() if key != against[row]]
