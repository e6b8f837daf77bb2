"""Scores all checkpoints of a comparison on the same held-out prompts, with the same judges.

evaluation = evaluate_sides(setup, Path("outputs/comparison/answers"))
evaluation.scores["dapo"]["posh_f1"]  # array (seeds, prompts), for the statistics
evaluation.failed["dapo"]["posh_f1"]  # bools of the same shape: True if a judge failed
evaluation.answers["dapo"][0][5].text  # the completion of the first run for the sixth prompt
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from spanreward.rewards.base.terminal import Terminal
from spanreward.rewards.base.verdict import Sample, Verdict
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.reward.viewers import check_seen
from spanreward.rewards.rows.fingerprint import row_fingerprint, short_digest
from spanreward.rewards.rows.sample import row_sample
from spanreward.rewards.rows.tables import is_table
from spanreward.training.evaluation.answer_scores.answer import JudgedAnswer, judged_answer
from spanreward.training.evaluation.answer_scores.metrics import names_of
from spanreward.training.evaluation.answer_scores.several import answer_of_samples
from spanreward.training.evaluation.answers.greedy import BATCH_ROWS, kept_completions, version_of
from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.evaluation.answers.sides import read_samples

LAST_METRICS = ("overlap", "words", "length", "truncated", "degenerate")  # last in tables
AnswersOfSides = Mapping[str, Sequence[Sequence[JudgedAnswer]]]  # {side: [run][prompt]}
# a completion and its number of tokens; None if the number is unknown
_CountedText = tuple[str, int | None]
# The completions of one run: one list per prompt. A policy that is sampled here writes one
# completion per prompt, and a file of answers may hold several.
WrittenRuns = Sequence[Sequence[_CountedText]]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The answers of all sides with their scores.

    Attributes:
        scores: {side: {metric: array}}. Each array has the shape (seeds, prompts), with NaN for an
            answer without a score.
        failed: {side: {metric: array}}, with bools of the same shape: True if a judge failed. A NaN
            in `scores` with False here means that the metric does not apply to the prompt.
        answers: {side: runs}. `answers["dapo"][0][5]` is the first run's answer to the sixth
            prompt.
    """

    scores: dict[str, dict[str, np.ndarray]]
    failed: dict[str, dict[str, np.ndarray]]
    answers: AnswersOfSides


def evaluate_sides(
    setup: Setup, answers_folder: Path, in_files: Mapping[str, WrittenRuns] | None = None
) -> Evaluation:
    """Returns the answers of every run of every side to all prompts, with the scores by all
    metrics.

    A side is a compared model, such as "dapo", and has one run per training seed. A run is the
    folder of a policy, a model's id on the hub, or a file of answers. The metrics are those of the
    rewards, such as posh_f1, then vqa_accuracy and the metrics of `scores_without_reward`.
    vqa_accuracy needs a question that four people or more have answered. A score is NaN if the
    metric does not apply to the prompt. `length` and `truncated` are NaN for answers from a file,
    because a file holds no tokens.

    If a prompt has several sampled answers, posh_f1 is the mean of their scores. If all prompts of
    all runs have equally many samples, there is also posh_f1_best, the best sample's score.

    answers_folder: keeps the answers of policies. A second comparison of the same policies on the
    same prompts reads the answers from this folder and samples nothing. in_files: the result of
    `answers_in_files`, if the caller has already called `check_rewards` and `answers_in_files`.
    With None, both are called here. Raises the errors of both.
    """
    if in_files is None:
        check_rewards(setup.rewards, setup.prompts.rows)
        in_files = answers_in_files(setup)
    written_by_run = {**in_files, **sampled_answers(setup, answers_folder)}
    # the metrics that are also computed for the best sample: posh_f1, if there is a posh_f1_best
    with_best_sample = metrics_with_best_sample(setup.rewards, written_by_run.values())
    # judge each run once, even if its side repeats the run for several seeds
    judged_by_run = {}
    for run, written in written_by_run.items():
        judged_by_run[run] = judge_run(written, setup, with_best_sample)
    answers_by_side = {}
    for side, runs in setup.sides.items():
        answers_by_side[side] = [judged_by_run[run] for run in runs]
    return tabulate_scores(answers_by_side)


def decided_by(setup: Setup) -> dict[str, Any]:
    """Returns everything that decides the scores of a comparison, as plain data.

    The scores depend on the models as they are now, the rows, the metrics and the limit of tokens.
    Two comparisons with an equal result have equal scores, so that the second need not be computed.
    """
    rows = []
    for row in setup.prompts.rows:
        rows.append((row["id"], row_fingerprint(row)))
    # a hash of each model's files, because a policy may be trained again in the same folder
    versions = {}
    for run in chain(*setup.sides.values()):
        versions[run] = short_digest(repr(version_of(run)))
    return {
        "models": setup.sides,
        "versions": versions,
        "seeds": setup.seeds,
        "data": short_digest(repr(rows)),
        "metrics": [part.model_dump() for part in setup.parts],
        "max_tokens": setup.max_tokens,
    }


def check_rewards(rewards: Sequence[Reward], rows: Sequence[Mapping[str, Any]]) -> None:
    """Checks that the rewards can judge the rows.

    Raises ValueError for no rewards, for two rewards of the same name, and for a column that a
    reward needs and the rows lack. Also raises ValueError for rows with pictures if a judge reads
    text only.
    """
    names = [reward.__name__ for reward in rewards]
    if not names or len(set(names)) < len(names):
        raise ValueError(
            "a comparison needs a recipe with rewards of different names (option `name`), got "
            f"{names}."
        )
    # a column counts as missing if it is None in every row
    columns: set[str] = set()
    for row in rows:
        for column, value in row.items():
            if value is not None:
                columns.add(column)
    present = sorted(columns)
    for reward in rewards:
        missing = reward.missing_column(present)
        if missing:
            raise reward.lacks(missing, "the rows to compare on", present)
        check_seen(reward, map(row_sample, rows))


def answers_in_files(setup: Setup) -> dict[str, WrittenRuns]:
    """Returns the answers of every run that is a file of answers, by the file's path: a list for
    each prompt, with (text, None) of each sample.

    Raises ValueError for a file that cannot be used. So call this before a policy is sampled, which
    may take hours, and before an output is written.
    """
    written: dict[str, WrittenRuns] = {}
    for run in runs_once(setup):
        if is_table(run):
            samples = read_samples(run, setup.prompts.rows)
            written[run] = list(map(without_length, samples))
    return written


def sampled_answers(setup: Setup, answers_folder: Path) -> dict[str, WrittenRuns]:
    """Returns the answers of every run that is a policy, by the run's folder or id: a list for each
    prompt, with (text, number of tokens) of the one answer.

    answers_folder: keeps the answers for a later comparison.
    """
    policies = [run for run in runs_once(setup) if not is_table(run)]
    written: dict[str, WrittenRuns] = {}
    console = Terminal(stderr=True)
    for run in track(policies, "checkpoints", console=console, disable=not policies):
        texts, lengths = kept_completions(
            run, setup.prompts.rows, setup.max_tokens, answers_folder, setup.reasoning_end
        )
        # decoding is greedy: one answer a prompt
        answers = zip(texts, lengths, strict=True)
        written[run] = [[answer] for answer in answers]
    return written


def runs_once(setup: Setup) -> list[str]:
    """Returns the runs of all sides, each once: `sides` may repeat a single run of a side for every
    seed of the other sides.
    """
    return list(dict.fromkeys(chain(*setup.sides.values())))


def without_length(texts: Sequence[str]) -> list[_CountedText]:
    """Returns each text with None for its number of tokens, because a file of answers holds no
    tokens.

    `["A dog.", "A cat."]` gives `[("A dog.", None), ("A cat.", None)]`.
    """
    return [(text, None) for text in texts]


def metrics_with_best_sample(
    rewards: Sequence[Reward], written: Iterable[WrittenRuns]
) -> list[str]:
    """Returns the metrics that also get a column for a prompt's best sample, such as posh_f1_best.

    These metrics are each reward's main metric, if all prompts of all runs have the same number of
    samples, two or more. Otherwise the list is empty: the best of eight samples is higher than the
    best of four by chance alone.

    written: the answers of each run.
    """
    sample_counts = {len(samples) for samples in chain(*written)}
    have_equally_many = len(sample_counts) == 1
    if not have_equally_many or 1 in sample_counts:
        return []
    return [names_of(reward)[0] for reward in rewards]


def judge_run(
    written: WrittenRuns, setup: Setup, best_of: Sequence[str] = ()
) -> list[JudgedAnswer]:
    """Returns the judged answers of one run, one per prompt, in the order of the prompts.

    The first samples of all prompts are judged together, then the second samples, and so on. So a
    metric that compares the completions of a batch never compares two samples of the same prompt.
    written: the samples of each prompt. best_of: the metrics that also get the score of the best
    sample (`answer_of_samples`).
    """
    # all prompts have equally many samples: `read_samples` raises for any other file
    sample_count = max(map(len, written), default=0)
    passes = []
    for number in range(sample_count):
        one_sample_per_prompt = [samples[number] for samples in written]
        passes.append(judge_once(one_sample_per_prompt, setup))
    # turn a list for each sample number into a tuple for each prompt
    answers = []
    for samples_of_prompt in zip(*passes, strict=True):
        answers.append(answer_of_samples(samples_of_prompt, best_of))
    return answers


def judge_once(written: Sequence[_CountedText], setup: Setup) -> list[JudgedAnswer]:
    """Returns the judged answers to all prompts, for one completion per prompt.

    written: the completion for each prompt, with its number of tokens.
    """
    samples = []
    for row, (text, _) in zip(setup.prompts.rows, written, strict=True):
        samples.append(row_sample(row, text))
    verdicts_of_rewards = []  # a list for each reward, with a verdict for each sample
    for reward in setup.rewards:
        verdicts_of_rewards.append(judge_in_batches(reward, samples))
    # turn a list of verdicts for each reward into a tuple of verdicts for each sample
    verdicts_of_samples = zip(*verdicts_of_rewards, strict=True)
    answers = []
    for sample, (_, length), verdicts in zip(samples, written, verdicts_of_samples, strict=True):
        answer = judged_answer(sample, length, setup.rewards, verdicts, setup.max_tokens)
        answers.append(answer)
    return answers


def judge_in_batches(reward: Reward, samples: Sequence[Sample]) -> list[Verdict]:
    """Returns the reward's verdict on each sample. BATCH_ROWS samples are judged at a time, because
    a judge's deadline is for one batch.
    """
    verdicts: list[Verdict] = []
    for start in range(0, len(samples), BATCH_ROWS):
        verdicts += reward.judge_samples(samples[start : start + BATCH_ROWS])
    return verdicts


def tabulate_scores(answers: AnswersOfSides) -> Evaluation:
    """Returns the scores of all answers as arrays, with the metrics in the column order of tables.

    For each side and metric, there is an array of scores and an array of whether the judge failed,
    both of shape (runs, prompts). A score is NaN if the judge failed, or if the metric does not
    apply to the prompt.
    """
    metrics = _metrics_in_table_order(answers)
    scores: dict[str, dict[str, np.ndarray]] = {}
    failed: dict[str, dict[str, np.ndarray]] = {}
    for side, runs in answers.items():
        scores[side] = {}
        failed[side] = {}
        for metric in metrics:
            table = []
            failures = []
            for run in runs:
                # NaN if the metric does not apply to the prompt, None if a judge failed
                run_scores = [answer.scores.get(metric, math.nan) for answer in run]
                table.append(run_scores)
                failures.append([score is None for score in run_scores])
            # dtype=float turns None into NaN
            scores[side][metric] = np.array(table, dtype=float)
            failed[side][metric] = np.array(failures)
    return Evaluation(scores, failed, answers)


def _metrics_in_table_order(answers: AnswersOfSides) -> list[str]:
    """Returns the metrics of all answers, LAST_METRICS last. A metric may apply to the answers of
    one side only.
    """
    names: dict[str, None] = {}  # in order of appearance
    for runs in answers.values():
        for answer in chain(*runs):
            names.update(dict.fromkeys(answer.scores))
    metrics = [name for name in names if name not in LAST_METRICS]
    metrics += [name for name in LAST_METRICS if name in names]
    return metrics
