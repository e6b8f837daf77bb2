"""Checkpoints side by side: the same held-out prompts, greedy decoding, the same judges.

evaluation = evaluate(setup, Path("outputs/comparison/answers"))
evaluation.scores["dapo"]["posh_f1"]                    # array (seeds, prompts), for the statistics
evaluation.failed["dapo"]["posh_f1"]                    # bool, of the same shape: where a judge failed
evaluation.answers["dapo"][0][5].text                   # what seed 0 wrote for prompt 5
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spanreward.rewards.base.verdict import Sample, Verdict
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.reward.row import read_sample
from spanreward.training.evaluation.answers.greedy import BATCH, kept_completions
from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.evaluation.answers.sides import is_answers, read_answers
from spanreward.training.evaluation.judged.answer import JudgedAnswer, judged_answer

LAST = ("overlap", "words", "length", "truncated", "degenerate")
Answers = Mapping[str, Sequence[Sequence[JudgedAnswer]]]  # {side: [run][prompt]}
Written = tuple[Sequence[str], Sequence[int | None]]  # texts, and their lengths in tokens


@dataclass(frozen=True, slots=True)
class Evaluation:
    """scores: {model: {metric: (seeds, prompts)}}, NaN where there is none. failed: the same shape, True where a judge
    failed. answers: {model: [seed][prompt]}.
    """

    scores: dict[str, dict[str, np.ndarray]]
    failed: dict[str, dict[str, np.ndarray]]
    answers: Answers


def evaluate(setup: Setup, kept: Path, progress: Callable[[str], None] = lambda done: None) -> Evaluation:
    """Lets every run of every side (a folder, a hub id, or a JSONL file of answers) answer every prompt, and judges it.

    Metrics are <reward>_<part> of each reward, vqa_accuracy (questions with four answers or more), overlap, words,
    length, truncated and degenerate (`looks_of`). A metric that a prompt cannot have is NaN, as are length and
    truncated of answers from a file.

    kept: the folder that keeps what policies wrote. progress: is called after every run. Raises ValueError for rewards
    that cannot be used (`check_rewards`) and a file of answers that cannot be used.
    """
    check_rewards(setup.rewards, setup.prompts.rows)
    written = write_all(setup, kept, progress)
    answers: dict[str, list[list[JudgedAnswer]]] = {}
    for side, runs in setup.sides.items():
        judged: dict[str, list[JudgedAnswer]] = {}
        for run in runs:
            if run not in judged:  # a run beside several seeds of another side is judged once
                judged[run] = judge(written[run], setup)
        answers[side] = [judged[run] for run in runs]
    return tabulate(answers)


def check_rewards(rewards: Sequence[Reward], rows: Sequence[Mapping[str, Any]]) -> None:
    """Raises ValueError for no rewards, equal names, and a missing column."""
    names = [reward.__name__ for reward in rewards]
    if len(set(names)) < len(names) or not names:
        raise ValueError(f"a comparison needs a recipe with rewards of different names (option `name`), got {names}.")
    present = sorted({column for row in rows for column, value in row.items() if value is not None})
    for reward in rewards:
        missing = reward.missing_column(present)
        if missing:
            raise ValueError(
                f"the reward {reward.__name__} needs the column {missing}, and the prompts have {present}."
            )


def write_all(setup: Setup, kept: Path, progress: Callable[[str], None]) -> dict[str, Written]:
    """Returns every run's answers; their lengths are None for answers from a file."""
    rows = setup.prompts.rows
    given = [run for runs in setup.sides.values() for run in runs if is_answers(run)]
    written: dict[str, Written] = {run: (read_answers(run, rows), [None] * len(rows)) for run in dict.fromkeys(given)}
    for side, runs in setup.sides.items():
        for run in runs:
            if run not in written:
                written[run] = kept_completions(run, rows, setup.max_tokens, kept, setup.reasoning_end)
            progress(f"{side} {run}")
    return written


def judge(written: Written, setup: Setup) -> list[JudgedAnswer]:
    """Returns one run's judged answers, in the prompts' order."""
    rows, rewards = setup.prompts.rows, setup.rewards
    samples = [read_sample(row, text, row["prompt"]) for row, text in zip(rows, written[0], strict=True)]
    of_reward = [judge_in_batches(reward, samples) for reward in rewards]
    return [
        judged_answer(sample, length, rewards, verdicts, setup.max_tokens)
        for sample, length, *verdicts in zip(samples, written[1], *of_reward, strict=True)
    ]


def judge_in_batches(reward: Reward, samples: Sequence[Sample]) -> list[Verdict]:
    """Judges in batches, as a judge's deadline is for one batch."""
    starts = range(0, len(samples), BATCH)
    return [verdict for at in starts for verdict in reward.judge_samples(samples[at : at + BATCH])]


def tabulate(answers: Answers) -> Evaluation:
    """Returns the answers' scores as arrays, in the order of tables."""
    every = [answer for of_side in answers.values() for of_run in of_side for answer in of_run]
    named = dict.fromkeys(metric for answer in every for metric in answer.scores)
    metrics = [*(name for name in named if name not in LAST), *(name for name in LAST if name in named)]
    scores: dict[str, dict[str, np.ndarray]] = {side: {} for side in answers}
    failed: dict[str, dict[str, np.ndarray]] = {side: {} for side in answers}
    for side, of_side in answers.items():
        for metric in metrics:
            found = [[answer.scores.get(metric, math.nan) for answer in of_run] for of_run in of_side]
            scores[side][metric] = np.array(found, dtype=float)  # None, of a judge that failed, is NaN too
            failed[side][metric] = np.array([[score is None for score in of_run] for of_run in found])
    return Evaluation(scores, failed, answers)
