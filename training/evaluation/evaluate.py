"""Checkpoints side by side: the same held-out prompts, greedy decoding, the same judges.

evaluation = evaluate({"base": ["b0", "b1"], "dapo": ["d0", "d1"]}, prompts, rewards, max_tokens=96)
evaluation.scores["dapo"]["posh_f1"]                    # array (seeds, prompts), for statistics.py
evaluation.failed["dapo"]["posh_f1"]                    # bool, of the same shape: where a judge failed
evaluation.answers["dapo"][0][5].text                   # what seed 0 wrote for prompt 5
"""

import logging
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from spanreward.rewards.base.verdict import Sample, Status, Verdict
from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.labels.bag_of_words import token_f1
from spanreward.rewards.reward.reward import Explaining, Reward
from spanreward.rewards.reward.row import read_sample
from spanreward.rewards.text.filler import is_degenerate
from spanreward.rewards.vqa import AGREED, token_f1 as answer_f1, vqa_accuracy
from spanreward.training.evaluation.greedy import BATCH, greedy_completions, kept_completions
from spanreward.training.evaluation.prompts import Prompts
from spanreward.training.evaluation.shown import ShownAnswer
from spanreward.training.evaluation.sides import is_answers, read_answers

log = logging.getLogger(__name__)

WRONG_BELOW = 0.5  # the score of a span that a referee calls wrong
LAST = ("overlap", "words", "length", "truncated", "degenerate")
Written = tuple[Sequence[str], Sequence[int | None]]  # texts, and their lengths in tokens


@dataclass(frozen=True, slots=True)
class Evaluation:
    """scores: {model: {metric: (seeds, prompts)}}, NaN where there is none. failed: the same shape, True where a judge
    failed. answers: {model: [seed][prompt]}.
    """

    scores: dict[str, dict[str, np.ndarray]]
    failed: dict[str, dict[str, np.ndarray]]
    answers: dict[str, list[list[ShownAnswer]]]


def evaluate(
    sides: Mapping[str, Sequence[str]],
    prompts: Prompts,
    rewards: Sequence[Reward],
    max_tokens: int,
    kept: Path | None = None,
    progress: Callable[[str], None] = lambda done: None,
    explain: int = 0,
    reasoning_end: str | None = None,
) -> Evaluation:
    """Lets every run of every side (a folder, a hub id, or a JSONL file of answers) answer every prompt, and judges it.

    Metrics are vqa_accuracy (questions with four answers or more), <reward>_<part>, overlap (with the references or
    answers, by words), words, length (in the policy's tokens), truncated (1 where cut at max_tokens) and degenerate (1
    where padded with words that say nothing). A metric that a prompt cannot have is NaN, as are length and truncated of
    answers from a file.

    kept: the folder that keeps what policies wrote. progress: is called after every run. explain: for so many prompts
    the judge gives its reasons on each side's first run. reasoning_end: the tag that ends the reasoning of policies
    that think first; only the text after it is judged. Raises ValueError for rewards that cannot be used
    (`check_rewards`) and a file of answers that cannot be used.
    """
    check_rewards(rewards, prompts.rows, explain)
    written = write_all(sides, prompts, max_tokens, kept, progress, reasoning_end)
    answers: dict[str, list[list[ShownAnswer]]] = {}
    for side, runs in sides.items():
        judged: dict[str, list[ShownAnswer]] = {}
        for run in runs:
            if run not in judged:  # a run beside several seeds of another side is judged once
                judged[run] = judge(*written[run], prompts, rewards, max_tokens, 0 if judged else explain)
        answers[side] = [judged[run] for run in runs]
    return tabulate(answers)


def write_all(
    sides: Mapping[str, Sequence[str]],
    prompts: Prompts,
    max_tokens: int,
    kept: Path | None,
    progress: Callable[[str], None],
    reasoning_end: str | None,
) -> dict[str, Written]:
    """Returns every run's answer to each prompt and its length in tokens, None for answers from a file."""
    rows = prompts.rows
    given = {run: read_answers(run, rows) for runs in sides.values() for run in runs if is_answers(run)}
    written: dict[str, Written] = {run: (texts, [None] * len(rows)) for run, texts in given.items()}
    for side, runs in sides.items():
        for run in runs:
            if run not in written:
                if kept is None:
                    written[run] = greedy_completions(run, rows, max_tokens, reasoning_end)
                else:
                    written[run] = kept_completions(run, rows, max_tokens, kept, reasoning_end)
            progress(f"{side} {run}")
    return written


def tabulate(answers: dict[str, list[list[ShownAnswer]]]) -> Evaluation:
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


def check_rewards(rewards: Sequence[Reward], rows: Sequence[Mapping[str, Any]], explain: int) -> None:
    """Raises ValueError for no rewards, equal names, a missing column, and reasons that no reward can give."""
    names = [reward.__name__ for reward in rewards]
    if len(set(names)) < len(names) or not names:
        raise ValueError(f"a comparison needs a recipe with rewards of different names (option `name`), got {names}.")
    if explain and not any(isinstance(reward, Explaining) for reward in rewards):
        raise ValueError(f"only harmonic gives reasons, and the recipe has the rewards {names}: leave out --explain.")
    present = sorted({column for row in rows for column, value in row.items() if value is not None})
    for reward in rewards:
        missing = reward.missing_column(present)
        if missing:
            raise ValueError(
                f"the reward {reward.__name__} needs the column {missing}, and the prompts have {present}."
            )


def judge(
    texts: Sequence[str],
    lengths: Sequence[int | None],
    prompts: Prompts,
    rewards: Sequence[Reward],
    max_tokens: int,
    explain: int,
) -> list[ShownAnswer]:
    """Returns one run's judged answers, in the prompts' order."""
    samples = [read_sample(row, text, row["prompt"]) for row, text in zip(prompts.rows, texts, strict=True)]
    of_reward = [judge_in_batches(reward, samples) for reward in rewards]
    answers = [
        answer(
            sample,
            length,
            {reward.__name__: (verdict, reward.main_parts) for reward, verdict in zip(rewards, verdicts, strict=True)},
            max_tokens,
            judgeless=[reward.__name__ for reward in rewards if not reward.judges],
        )
        for sample, length, *verdicts in zip(samples, lengths, *of_reward, strict=True)
    ]
    told = reasons(rewards, samples[:explain], of_reward)
    answers[:explain] = [replace(one, reasons=why) for one, why in zip(answers, told, strict=False)]
    return answers


def judge_in_batches(reward: Reward, samples: Sequence[Sample]) -> list[Verdict]:
    """Judges in batches, as a judge's deadline is for one batch."""
    starts = range(0, len(samples), BATCH)
    return [verdict for at in starts for verdict in reward.judge_samples(samples[at : at + BATCH])]


def reasons(
    rewards: Sequence[Reward], samples: Sequence[Sample], verdicts: Sequence[Sequence[Verdict]]
) -> list[dict[str, str]]:
    """Returns, per sample, why it was judged so: {"harmonic_clarity": the judge's words, or why there are none}.
    verdicts: each reward's; the first ones are those of the samples. A judge that breaks does not end the comparison.
    """
    told: list[dict[str, str]] = [{} for _ in samples]
    for reward, judged in zip(rewards, verdicts, strict=True):
        if isinstance(reward, Explaining) and samples:
            name = reward.__name__
            try:
                found = reward.explain(samples, judged[: len(samples)])
            except Exception as error:
                log.exception("%s could not say why", name)
                found = [{"": Failure(Status.ERROR, f"{type(error).__name__}: {error}")} for _ in samples]
            for entry, why in zip(told, found, strict=True):
                entry |= {f"{name}_{what}".rstrip("_"): in_words(reason) for what, reason in why.items()}
    return told


def in_words(reason: str | Failure) -> str:
    if isinstance(reason, Failure):
        return f"no reason: {reason.message}"
    return reason.strip() or "no reason: the judge wrote nothing"


def answer(
    sample: Sample,
    length: int | None,
    verdicts: Mapping[str, tuple[Verdict, Sequence[str]]],
    max_tokens: float = math.inf,
    judgeless: Collection[str] = (),
) -> ShownAnswer:
    """Returns one completion with its scores, in the order of tables.

    The order is: main parts of rewards without a judge, vqa_accuracy, main parts of the other rewards, and what needs
    no reward. A score is None where a judge failed, and absent where the row cannot have it. length: in tokens, None
    where unknown. verdicts: by the reward's name, each with the parts that tables show. judgeless: names of rewards
    that ask no judge; their wrong spans are marked beside the spans of the shown reward, the first that asks a judge.
    """
    text = sample.completion
    applying = {name: of for name, of in verdicts.items() if of[0].status is not Status.NOT_APPLICABLE}
    asking = [name for name in applying if name not in judgeless]
    told = [name for name in applying if name in judgeless]
    scores: dict[str, float | None] = {}
    for name in told:
        scores |= main_scores(name, *applying[name])
    if len(sample.answers) > AGREED:
        scores["vqa_accuracy"] = vqa_accuracy(text, sample.answers)
    for name in asking:
        scores |= main_scores(name, *applying[name])
    if sample.references:
        scores["overlap"] = token_f1(text, sample.references)
    elif sample.answers:
        scores["overlap"] = answer_f1(text, sample.answers)
    scores["words"] = float(len(text.split()))
    if length is not None:
        scores |= {"length": float(length), "truncated": float(length >= max_tokens)}
    scores["degenerate"] = float(is_degenerate(sample))
    shown = next(iter([*asking, *told, *verdicts]))
    wrong = tuple(
        (span.start, span.end)
        for name in told
        for span in verdicts[name][0].spans
        if name != shown and span.score < WRONG_BELOW
    )
    return ShownAnswer(text, verdicts[shown][0], scores, wrong, judge=shown)


def main_scores(name: str, verdict: Verdict, parts: Sequence[str]) -> dict[str, float | None]:
    """Returns the parts that tables show, or the score of a reward that names none; None where the judge failed."""
    if not parts:
        return {f"{name}_score": verdict.score}
    given = [part for part in parts if verdict.score is None or part in verdict.parts]
    return {f"{name}_{part}": verdict.parts.get(part) for part in given}
