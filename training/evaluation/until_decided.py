"""Judge the prompts in batches, and stop as soon as one of the last two sides is known to be better.

asked, evaluation, decision = evaluate_until_decided(sides, prompts, rewards, 96, "posh_f1", kept)

All answers are written first, which is cheap, and judged in a random order of the prompts. After every batch
rewards/comparison/until_decided.py says whether a side is better; it may be asked as often as one likes.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from spanreward.rewards.comparison.until_decided import Decision, decide
from spanreward.rewards.reward import Reward
from spanreward.training.evaluation.evaluate import Evaluation, check_rewards, judge_all, table, tabulate, write_all
from spanreward.training.evaluation.prompts import Prompts
from spanreward.training.evaluation.shown import ShownAnswer
from spanreward.training.evaluation.statistics import nan_means

BATCH = 16  # prompts


def evaluate_until_decided(
    sides: Mapping[str, Sequence[str]],
    prompts: Prompts,
    rewards: Sequence[Reward],
    max_tokens: int,
    metric: str,
    kept: Path | None = None,
    progress: Callable[[str], None] = lambda done: None,
    explain: int = 0,
    reasoning_end: str | None = None,
) -> tuple[Prompts, Evaluation, Decision]:
    """Returns the judged prompts, what `evaluate` gives of them, and the decision, 1 for the last side.

    metric: one with values in [0, 1]. A prompt's difference is the mean over the runs; a prompt without scores of both
    sides decides nothing. Raises as `evaluate` does, and ValueError for a metric that these answers do not have or that
    leaves [0, 1].
    """
    check_rewards(rewards, prompts.rows, explain)
    written = write_all(sides, prompts, max_tokens, kept, progress, reasoning_end)
    order = [int(number) for number in np.random.default_rng(0).permutation(len(prompts.rows))]
    answers: dict[str, list[list[ShownAnswer]]] = {side: [[] for _ in runs] for side, runs in sides.items()}
    asked: list[int] = []
    decision = Decision(None, 0)
    while len(asked) < len(order) and decision.side is None:
        batch = order[len(asked) : len(asked) + BATCH]
        asked += batch
        of_batch = {
            run: ([texts[number] for number in batch], [lengths[number] for number in batch])
            for run, (texts, lengths) in written.items()
        }
        told = 0 if len(asked) > BATCH else explain
        for side, of_runs in judge_all(sides, prompts.taken(batch), of_batch, rewards, max_tokens, told).items():
            for so_far, more in zip(answers[side], of_runs, strict=True):
                so_far += more
        decision = decide(differences(answers, list(sides)[-2:], metric))
    return prompts.taken(asked), tabulate(answers), decision


def differences(answers: dict[str, list[list[ShownAnswer]]], sides: Sequence[str], metric: str) -> list[float | None]:
    """Returns, per prompt, the second side's mean over the runs less the first's; None where one has none."""
    if not any(metric in answer.scores for runs in answers.values() for run in runs for answer in run):
        there = ", ".join(next(iter(tabulate(answers).scores.values())))
        raise ValueError(f"there is no metric {metric!r} to decide by: there are {there}.")
    theirs, ours = (nan_means(table(answers[side], metric).T) for side in sides)
    if max(np.nanmax(np.abs(one), initial=0.0) for one in (ours, theirs)) > 1:
        raise ValueError(f"{metric} leaves [0, 1], and a comparison is decided by a score.")
    return [None if np.isnan(value) else float(value) for value in ours - theirs]
