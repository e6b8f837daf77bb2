"""Checkpoints side by side: the same held-out prompts, greedy decoding, the same judges, and for Scenes the truth.

evaluation = evaluate({"base": ["b0", "b1"], "dapo": ["d0", "d1"]}, prompts, rewards, max_tokens=96)
evaluation.scores["dapo"]["truth_f1"]                   # array (seeds, prompts), for training.evaluation.statistics
evaluation.failed["dapo"]["posh_f1"]                    # bool, of the same shape: where a judge failed
evaluation.answers["dapo"][0][5].text                   # what seed 0 wrote for prompt 5
"""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rewards.agreement.bag_of_words import token_f1
from rewards.filler import is_degenerate
from rewards.judges.judge import Failure
from rewards.reward import Explaining, Reward, read_sample
from rewards.verdict import Sample, Status, Verdict
from rewards.vqa import AGREED, vqa_accuracy
from rewards.vqa import token_f1 as answer_f1
from training.evaluation.given_answers import is_answers, read_answers
from training.evaluation.greedy import BATCH, greedy_completions, kept_completions
from training.evaluation.prompts import Prompts
from training.evaluation.shown import ShownAnswer
from training.scenes.referee import judge_description
from training.scenes.world import Scene

log = logging.getLogger(__name__)

FIRST = ("truth_f1", "truth_precision", "truth_recall", "vqa_accuracy")  # in tables, before the rewards
LAST = ("overlap", "words", "length", "truncated", "degenerate")
Written = tuple[Sequence[str], Sequence[int | None]]  # texts, and their lengths in tokens


@dataclass(frozen=True, slots=True)
class Evaluation:
    """scores: {model: {metric: (seeds, prompts)}}, NaN where there is none. failed: the same, True where a judge is to
    blame. answers: {model: [seed][prompt]}.
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
    """Let every run of every side (a folder, a hub id, or a JSONL file of answers) answer every prompt.

    Metrics are truth_* (descriptions of Scenes), vqa_accuracy (questions with four answers or more), <reward>_<part>,
    overlap (with the references or answers, by words), words, length, in the policy's own tokens, and truncated and
    degenerate, which are 1 or 0 (cut at max_tokens; padded with words that say nothing). Where a prompt lacks one, or
    answers from a file lack length and truncated, there is NaN.

    kept: the folder where what a policy has written is kept and looked for. `progress` hears of every run that has
    answered.
    explain: for so many prompts the answers of each side's first run come with the judge's reasons. reasoning_end: the
    tag that ends the reasoning of policies that think first; only what follows is judged. Raises ValueError
    for no rewards, two of one name, one that needs a column that no prompt has, none that gives the reasons that are
    wanted, and a file of answers that cannot be used.
    """
    check_rewards(rewards, prompts.rows, explain)
    written = write_all(sides, prompts, max_tokens, kept, progress, reasoning_end)
    return tabulate(judge_all(sides, prompts, written, rewards, max_tokens, explain))


def write_all(
    sides: Mapping[str, Sequence[str]],
    prompts: Prompts,
    max_tokens: int,
    kept: Path | None,
    progress: Callable[[str], None],
    reasoning_end: str | None,
) -> dict[str, Written]:
    """Every run's answer to each prompt, and its length in tokens; None for those of a file."""
    rows = prompts.rows
    given = {run: read_answers(run, rows) for runs in sides.values() for run in runs if is_answers(run)}
    written: dict[str, Written] = {run: (texts, [None] * len(rows)) for run, texts in given.items()}
    for side, runs in sides.items():
        for run in runs:
            if run not in written:
                written[run] = (
                    greedy_completions(run, rows, max_tokens, reasoning_end)
                    if kept is None
                    else kept_completions(run, rows, max_tokens, kept, reasoning_end)
                )
            progress(f"{side} {run}")
    return written


def judge_all(
    sides: Mapping[str, Sequence[str]],
    prompts: Prompts,
    written: Mapping[str, Written],
    rewards: Sequence[Reward],
    max_tokens: int,
    explain: int,
) -> dict[str, list[list[ShownAnswer]]]:
    """Every side's answers with all that is said of them, [run][prompt]."""
    answers: dict[str, list[list[ShownAnswer]]] = {}
    for side, runs in sides.items():
        judged: dict[str, list[ShownAnswer]] = {}
        for run in runs:
            if run not in judged:  # one policy beside several of another side: its answers are the same
                judged[run] = judge(*written[run], prompts, rewards, max_tokens, 0 if judged else explain)
        answers[side] = [judged[run] for run in runs]
    return answers


def tabulate(answers: dict[str, list[list[ShownAnswer]]]) -> Evaluation:
    """The answers' scores as arrays, in the order of tables."""
    every = [answer for of_side in answers.values() for of_run in of_side for answer in of_run]
    found = dict.fromkeys(metric for answer in every for metric in answer.scores)
    metrics = [*(name for name in FIRST if name in found), *(name for name in found if name not in FIRST + LAST)]
    metrics += [name for name in LAST if name in found]
    return Evaluation(
        {side: {metric: table(of_side, metric) for metric in metrics} for side, of_side in answers.items()},
        {side: {metric: blame(of_side, metric) for metric in metrics} for side, of_side in answers.items()},
        answers,
    )


def table(of_side: Sequence[Sequence[ShownAnswer]], metric: str) -> np.ndarray:
    """The metric's scores, (seeds, prompts), NaN where there is none."""
    return np.array([[answer.scores.get(metric) for answer in of_run] for of_run in of_side], dtype=float)


def blame(of_side: Sequence[Sequence[ShownAnswer]], metric: str) -> np.ndarray:
    """Where a judge was to give this metric and failed, (seeds, prompts)."""
    return np.array([[answer.scores.get(metric, 0) is None for answer in of_run] for of_run in of_side])


def check_rewards(rewards: Sequence[Reward], rows: Sequence[Mapping[str, Any]], explain: int) -> None:
    """Raises ValueError for rewards that cannot be told apart, cannot judge any row, or cannot give reasons."""
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
    """One run's answers with all that is said of them, in the prompts' order."""
    samples = [read_sample(row, text, row["prompt"]) for row, text in zip(prompts.rows, texts, strict=True)]
    of_reward = [judge_in_batches(reward, samples) for reward in rewards]
    answers = [
        answer(
            sample,
            length,
            scene if sample.references else None,
            {reward.__name__: (verdict, reward.main_parts) for reward, verdict in zip(rewards, verdicts, strict=True)},
            max_tokens,
        )
        for sample, length, scene, *verdicts in zip(samples, lengths, prompts.scenes, *of_reward, strict=True)
    ]
    told = reasons(rewards, samples[:explain], of_reward)
    answers[:explain] = [replace(one, reasons=why) for one, why in zip(answers, told, strict=False)]
    return answers


def judge_in_batches(reward: Reward, samples: Sequence[Sample]) -> list[Verdict]:
    """A verdict per sample; a judge's deadline is for a batch, and must not pass because there are many."""
    starts = range(0, len(samples), BATCH)
    return [verdict for at in starts for verdict in reward.judge_samples(samples[at : at + BATCH])]


def reasons(
    rewards: Sequence[Reward], samples: Sequence[Sample], verdicts: Sequence[Sequence[Verdict]]
) -> list[dict[str, str]]:
    """Per sample why it was judged so, {"harmonic_clarity": the judge's words, or why there are none}.

    verdicts: each reward's, of which the first are those of the samples. A judge that breaks does not end the
    comparison.
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
    """The judge's reason, or why there is none."""
    if isinstance(reason, Failure):
        return f"no reason: {reason.message}"
    return reason.strip() or "no reason: the judge wrote nothing"


def answer(
    sample: Sample,
    length: int | None,
    scene: Scene | None,
    verdicts: Mapping[str, tuple[Verdict, Sequence[str]]],
    max_tokens: float = math.inf,
) -> ShownAnswer:
    """One completion with its scores, in the order of tables: those that know the truth, the rewards' main parts, and
    what needs no judge. A score that a judge failed to give is None, one that this row cannot have is not there.

    length: in tokens, None where nobody counted. verdicts: by the reward's name, each with the parts that tables show;
    the spans that are shown are those of the first one that applies.
    """
    text = sample.completion
    scores: dict[str, float | None] = {}
    wrong: tuple[tuple[int, int], ...] = ()
    if scene is not None:
        truth = judge_description(text, scene)
        scores = {"truth_f1": truth.f1, "truth_precision": truth.precision, "truth_recall": truth.recall}
        wrong = truth.wrong
    if len(sample.answers) > AGREED:
        scores["vqa_accuracy"] = vqa_accuracy(text, sample.answers)
    for name, (verdict, parts) in verdicts.items():
        if verdict.status is not Status.NOT_APPLICABLE:
            scores |= main_scores(name, verdict, parts)
    if sample.references:
        scores["overlap"] = token_f1(text, sample.references)
    elif sample.answers:
        scores["overlap"] = answer_f1(text, sample.answers)
    scores["words"] = float(len(text.split()))
    if length is not None:
        scores |= {"length": float(length), "truncated": float(length >= max_tokens)}
    scores["degenerate"] = float(is_degenerate(sample))
    applying = [name for name, (verdict, _) in verdicts.items() if verdict.status is not Status.NOT_APPLICABLE]
    shown = next(iter([*applying, *verdicts]))
    return ShownAnswer(text, verdicts[shown][0], scores, wrong, judge=shown)


def main_scores(name: str, verdict: Verdict, parts: Sequence[str]) -> dict[str, float | None]:
    """The parts that tables show, or the score of a reward that names none; all None where the judge failed."""
    if not parts:
        return {f"{name}_score": verdict.score}
    given = [part for part in parts if verdict.score is None or part in verdict.parts]
    return {f"{name}_{part}": verdict.parts.get(part) for part in given}
