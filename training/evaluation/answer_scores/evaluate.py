"""Checkpoints side by side: the same held-out prompts, greedy decoding, the same judges.

evaluation = evaluate(setup, Path("outputs/comparison/answers"))
evaluation.scores["dapo"]["posh_f1"]                    # array (seeds, prompts), for the statistics
evaluation.failed["dapo"]["posh_f1"]  # bool, of the same shape: where a judge failed
evaluation.answers["dapo"][0][5].text                   # what seed 0 wrote for prompt 5
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
from spanreward.rewards.base.verdict import Verdict
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.reward.viewers import check_seen
from spanreward.rewards.rows.fingerprint import digest, row_fingerprint
from spanreward.rewards.rows.sample import row_sample
from spanreward.rewards.rows.tables import is_table
from spanreward.training.evaluation.answer_scores.answer import JudgedAnswer, judged_answer
from spanreward.training.evaluation.answer_scores.metrics import names_of
from spanreward.training.evaluation.answer_scores.several import answer_of_samples
from spanreward.training.evaluation.answers.greedy import BATCH_ROWS, kept_completions, version_of
from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.evaluation.answers.sides import read_samples

LAST_METRICS = ("overlap", "words", "length", "truncated", "degenerate")  # of tables, in this order
Answers = Mapping[str, Sequence[Sequence[JudgedAnswer]]]  # {side: [run][prompt]}
# a completion and its length in tokens, None where that is unknown
_Text = tuple[str, int | None]
# of each prompt the sampled texts, a single one from a policy that answers here
Written = Sequence[Sequence[_Text]]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The answers of all sides with their scores.

    Attributes:
        scores: {side: {metric: array}}, each array of shape (seeds, prompts), NaN where an answer
            has no score.
        failed: bools of the same shape: where a judge failed, and the NaN stands for a score that
            the answer could have had.
        answers: {side: [seed][prompt]}.
    """

    scores: dict[str, dict[str, np.ndarray]]
    failed: dict[str, dict[str, np.ndarray]]
    answers: Answers


def evaluate(setup: Setup, answers_folder: Path) -> Evaluation:
    """Lets every run of every side (a folder, a hub id, or a JSONL file of answers) answer every
    prompt, and judges it.

    Metrics are <reward>_<part> of each reward, vqa_accuracy (questions with four answers or more),
    overlap, words, length, truncated and degenerate (`looks_of`). A metric that a prompt cannot
    have is NaN, as are length and truncated of answers from a file.

    answers_folder: keeps what policies wrote, so that the same comparison samples nothing again.
    Raises ValueError for rewards that cannot be used (`check_rewards`) and a file of answers that
    cannot be used.
    """
    # before the sampling, which may take hours
    check_rewards(setup.rewards, setup.prompts.rows)
    written_by = write_all(setup, answers_folder)
    best_of = metrics_with_a_best(setup.rewards, written_by.values())
    # a run that stands beside several seeds is judged once
    judged = {}
    for run, written in written_by.items():
        judged[run] = judge_run(written, setup, best_of)
    answers = {}
    for side, runs in setup.sides.items():
        answers[side] = [judged[run] for run in runs]
    return tabulate(answers)


def decided_by(setup: Setup) -> dict[str, Any]:
    """Returns what decides a comparison's scores: the models as they are, the rows, and who scores
    them.
    """
    rows = []
    for row in setup.prompts.rows:
        rows.append((row["id"], row_fingerprint(row)))
    # a folder's name does not tell that its policy was trained again
    versions = {}
    for run in chain(*setup.sides.values()):
        versions[run] = digest(repr(version_of(run)))
    return {
        "models": setup.sides,
        "versions": versions,
        "seeds": setup.seeds,
        "data": digest(repr(rows)),
        "metrics": [part.model_dump() for part in setup.parts],
        "max_tokens": setup.max_tokens,
    }


def check_rewards(rewards: Sequence[Reward], rows: Sequence[Mapping[str, Any]]) -> None:
    """Raises ValueError for no rewards, equal names, a missing column, and pictures that a judge
    cannot see.
    """
    names = [reward.__name__ for reward in rewards]
    if not names or len(set(names)) < len(names):
        raise ValueError(
            "a comparison needs a recipe with rewards of different names (option `name`), got "
            f"{names}."
        )
    # a column that is None in every row is as good as missing
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


def write_all(setup: Setup, answers_folder: Path) -> dict[str, Written]:
    """Returns every run's answers by the name of the run, each run once."""
    rows = setup.prompts.rows
    # a single run stands in its side once for every seed of the others
    runs = dict.fromkeys(chain(*setup.sides.values()))
    # one that cannot be used ends it before any sampling
    files_first = sorted(runs, key=is_table, reverse=True)
    written: dict[str, Written] = {}
    for run in track(files_first, "checkpoints", console=Terminal(stderr=True)):
        if is_table(run):
            samples = read_samples(run, rows)
            written[run] = list(map(without_length, samples))
        else:
            texts, lengths = kept_completions(
                run, rows, setup.max_tokens, answers_folder, setup.reasoning_end
            )
            # decoding is greedy: one answer a prompt
            answers = zip(texts, lengths, strict=True)
            written[run] = [[answer] for answer in answers]
    return written


def without_length(texts: Sequence[str]) -> list[_Text]:
    """Returns each text with None, an unknown length: a file does not tell its tokens."""
    return [(text, None) for text in texts]


def metrics_with_a_best(rewards: Sequence[Reward], written: Iterable[Written]) -> list[str]:
    """Returns each reward's main metric where every prompt of every run has the same number of
    samples, above one; else nothing. The best of more samples would be better by their number.
    """
    counts = set(map(len, chain(*written)))
    if len(counts) != 1 or 1 in counts:
        return []
    return [names_of(reward)[0] for reward in rewards]


def judge_run(written: Written, setup: Setup, best_of: Sequence[str] = ()) -> list[JudgedAnswer]:
    """Returns one run's judged answers, in the prompts' order. best_of: the metrics whose best
    sample is told beside the mean.

    A judge's deadline is for one batch. The first samples of all prompts are judged together, then
    the second ones: a metric that compares the completions of a prompt must not compare these.
    """
    # every prompt has as many: `read_samples` refuses a file where some have fewer
    sample_count = max(map(len, written), default=0)
    passes = []
    for number in range(sample_count):
        one_a_prompt = [samples[number] for samples in written]
        passes.append(judge_once(one_a_prompt, setup))
    # turned round: the samples of each prompt
    answers = []
    for samples_of_prompt in zip(*passes, strict=True):
        answers.append(answer_of_samples(samples_of_prompt, best_of))
    return answers


def judge_once(written: Sequence[_Text], setup: Setup) -> list[JudgedAnswer]:
    """Returns the judged answers, one of each prompt."""
    rewards = setup.rewards
    samples = []
    lengths = []
    for row, answer in zip(setup.prompts.rows, written, strict=True):
        text, length = answer
        samples.append(row_sample(row, text))
        lengths.append(length)
    verdicts_of_rewards = []  # of each reward, in the samples' order
    for reward in rewards:
        reward_verdicts: list[Verdict] = []
        for start in range(0, len(samples), BATCH_ROWS):
            batch = samples[start : start + BATCH_ROWS]
            reward_verdicts += reward.judge_samples(batch)
        verdicts_of_rewards.append(reward_verdicts)
    # turned round: of each sample a verdict by each reward
    verdicts_of_samples = zip(*verdicts_of_rewards, strict=True)
    answers = []
    judged = zip(samples, lengths, verdicts_of_samples, strict=True)
    for sample, length, verdicts in judged:
        answers.append(judged_answer(sample, length, rewards, verdicts, setup.max_tokens))
    return answers


def tabulate(answers: Answers) -> Evaluation:
    """Returns the answers' scores as arrays, in the order of tables."""
    # all sides together: a metric may apply to the answers of one side alone
    names: dict[str, None] = {}  # in order of appearance
    for runs in answers.values():
        for answer in chain(*runs):
            names.update(dict.fromkeys(answer.scores))
    metrics = [name for name in names if name not in LAST_METRICS]
    metrics += [name for name in LAST_METRICS if name in names]
    scores: dict[str, dict[str, np.ndarray]] = {}
    failed: dict[str, dict[str, np.ndarray]] = {}
    for side, runs in answers.items():
        scores[side] = {}
        failed[side] = {}
        for metric in metrics:
            table = []
            failures = []
            for run in runs:
                # NaN where the prompt cannot have the metric, None where a judge failed
                run_scores = [answer.scores.get(metric, math.nan) for answer in run]
                table.append(run_scores)
                failures.append([score is None for score in run_scores])
            # as a float None is NaN too
            scores[side][metric] = np.array(table, dtype=float)
            failed[side][metric] = np.array(failures)
    return Evaluation(scores, failed, answers)
