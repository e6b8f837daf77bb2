"""Computes the mean of every model and the difference of every pair of models, from scores.

scores = {"sft": {"truth_f1": sft}, "dapo": {"truth_f1": dapo}}  # arrays of shape (seeds, prompts)
summary = summarise_models(scores, seeds=[0, 1, 2])
summary.differences["dapo", "sft"]["truth_f1"].mean  # 0.04
# means of parts of verdicts, such as the recall of entities
parts_by_kind(setup, answers).models["dapo"]["posh_recall_entity"]
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spanreward.rewards.comparison.resampling import DRAW_COUNT
from spanreward.training.evaluation.answer_scores.answer import JudgedAnswer
from spanreward.training.evaluation.answer_scores.evaluate import AnswersOfSides
from spanreward.training.evaluation.answer_scores.several import every_sample
from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.evaluation.statistics.estimates import (
    Array,
    Difference,
    Estimate,
    as_scores,
    estimate_of,
    independent_seeds,
    means_of_prompts,
    paired_difference,
)

# {model: {metric: (seeds, prompts)}}, models in training order
TablesOfModels = Mapping[str, Mapping[str, ArrayLike]]
BooleanArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Summary:
    """The means of all models, and the differences between all models.

    Attributes:
        models: {model: {metric: mean}}.
        differences: {(later, earlier): {metric: difference}}, of every two models.
    """

    models: dict[str, dict[str, Estimate]]
    differences: dict[tuple[str, str], dict[str, Difference]]


@dataclass(frozen=True, slots=True)
class _Tables:
    """The scores of all models, with what the statistics need beside the scores.

    Attributes:
        scores: {model: {metric: array of shape (rows, prompts)}}, with NaN for a missing score.
        failed: {model: {metric: bools of the same shape}}, True where a judge failed.
        seeds: the training seed of each row.
        runs: {model: the run of each row}.
        scales: {metric: (lowest score, highest score)} of each metric that is not in [0, 1].
        clusters: one number per prompt, equal for prompts that are drawn together, or None.
        resamples: the draws of the bootstrap.
    """

    scores: dict[str, dict[str, Array]]
    failed: dict[str, dict[str, BooleanArray]]
    seeds: Sequence[int]
    runs: Mapping[str, Sequence[Any]]
    scales: Mapping[str, tuple[float, float]]
    clusters: Sequence[int] | None
    resamples: int


def summarise_models(
    scores: TablesOfModels,
    seeds: Sequence[int] | None = None,
    failed: TablesOfModels | None = None,
    runs: Mapping[str, Sequence[Any]] | None = None,
    scales: Mapping[str, tuple[float, float]] | None = None,
    clusters: Sequence[int] | None = None,
    resamples: int = DRAW_COUNT,
) -> Summary:
    """Returns the mean of every model, and the difference of every later model from every earlier
    model.

    A model's mean is over the answers for which all models have a score, because means over
    different answers could not be compared. Models without any score do not count for this rule.

    Args:
        scores: {model: {metric: (seeds, prompts)}}, the models in the order of training.
        seeds: the name of each row's training seed (default 0, 1, ...). Rows of one name repeat a
            training with the same seed on another machine or from perturbed weights. Such rows
            count as one seed.
        failed: bools of the shapes of `scores`, True where a judge failed; by default at every NaN.
        runs: by model, the run of each row, such as a folder (default: each row is another run).
            Row s of a later model is compared with row s of an earlier model. If the models have
            the same two runs in several rows, the rows count as one seed, because they repeat the
            same scores.
        scales: the lowest and highest score of each metric that is not in [0, 1].
        clusters: one number per prompt, equal for prompts that are drawn together.
        resamples: the draws of the bootstrap.
    """
    metrics = list(next(iter(scores.values())))  # all models have the same metrics
    arrays: dict[str, dict[str, Array]] = {}
    for model, table in scores.items():
        arrays[model] = {metric: as_scores(table[metric]) for metric in metrics}
    first_array = next(iter(arrays.values()))[metrics[0]]
    rows = range(len(first_array))  # all arrays have equally many rows
    tables = _Tables(
        scores=arrays,
        failed=_failures_of(arrays, failed),
        seeds=list(seeds or rows),
        runs=runs or dict.fromkeys(scores, rows),
        scales=scales or {},
        clusters=clusters,
        resamples=resamples,
    )
    models = {}
    for model in scores:
        models[model] = {metric: _mean_of(tables, model, metric) for metric in metrics}
    differences = {}
    for earlier, later in combinations(scores, 2):  # the models come in the order of training
        of_pair = {}
        for metric in metrics:
            of_pair[metric] = _difference_of(tables, later, earlier, metric)
        differences[later, earlier] = of_pair
    return Summary(models, differences)


def _failures_of(
    arrays: Mapping[str, Mapping[str, Array]], failed: TablesOfModels | None
) -> dict[str, dict[str, BooleanArray]]:
    """Returns `failed` as arrays of bools, {model: {metric: (rows, prompts)}}; with None, True at
    every NaN of the scores.

    arrays: the scores, {model: {metric: (rows, prompts)}}.
    """
    failures: dict[str, dict[str, BooleanArray]] = {}
    for model, table in arrays.items():
        failures[model] = {}
        for metric, values in table.items():
            if failed is None:
                failures[model][metric] = np.isnan(values)
            else:
                failures[model][metric] = np.asarray(failed[model][metric], bool)
    return failures


def _mean_of(tables: _Tables, model: str, metric: str) -> Estimate:
    """Returns a model's mean over the answers for which all models have a score by the metric.

    A model without any score does not count, because it would empty the means of the other models.
    """
    lacking = []  # for each model that counts, True where an answer has no score
    for table in tables.scores.values():
        without_score = np.isnan(table[metric])
        if not without_score.all():
            lacking.append(without_score)
    comparable = ~np.any(lacking, axis=0)
    values = np.where(comparable, tables.scores[model][metric], np.nan)
    row_seeds = independent_seeds(tables.seeds, tables.runs[model])
    estimate = estimate_of(values, row_seeds, tables.resamples, tables.clusters)
    failed = int(tables.failed[model][metric].sum())
    return replace(estimate, failed=failed)


def _difference_of(tables: _Tables, later: str, earlier: str, metric: str) -> Difference:
    """Returns the difference between two models over the answers for which both have a score."""
    scores = tables.scores[later][metric]
    earlier_scores = tables.scores[earlier][metric]
    failed = tables.failed[later][metric]
    earlier_failed = tables.failed[earlier][metric]
    # Rows with the same two runs hold the same scores, and must not count as several seeds. So if
    # three rows repeat two fixed models, the seeds [0, 1, 2] become [0, 0, 0].
    runs_of_rows = list(zip(tables.runs[later], tables.runs[earlier], strict=True))
    row_seeds = independent_seeds(tables.seeds, runs_of_rows)
    paired = paired_difference(scores, earlier_scores, row_seeds, tables.resamples, tables.clusters)
    scale = tables.scales.get(metric, (0.0, 1.0))
    return replace(
        paired,
        failed=int((failed | earlier_failed).sum()),
        worst_case=worst_case(scores, earlier_scores, failed, earlier_failed, scale),
    )


def parts_by_kind(setup: Setup, answers: AnswersOfSides) -> Summary:
    """Returns means and differences of scores that cover a single kind of phrase.

    A verdict has such scores among its parts. One is "posh_precision_entity", PoSh's precision over
    entities alone.

    answers: by side, the judged answers of each run. A JudgedAnswer has the verdict of one reward,
    the one that the page shows.
    """
    splits = _parts_of_one_kind(setup, answers)
    if not splits:
        return Summary({}, {})
    scores: dict[str, dict[str, Array]] = {}
    # a missing part is no failed judgment: a text without relations has no part for relations
    no_failures: dict[str, dict[str, Array]] = {}
    for side, runs in answers.items():
        scores[side] = {}
        no_failures[side] = {}
        for reward_name, part in splits:
            table = [part_of_run(run, reward_name, part) for run in runs]
            values = np.array(table, float)  # None becomes NaN
            name = f"{reward_name}_{part}"
            scores[side][name] = values
            no_failures[side][name] = np.zeros(values.shape)
    return summarise_models(scores, setup.seeds, no_failures, setup.sides)


def _parts_of_one_kind(setup: Setup, answers: AnswersOfSides) -> list[tuple[str, str]]:
    """Returns (name of the reward, part) of each part of the answers' verdicts that covers a single
    kind of phrase, such as ("posh", "precision_entity"), in the order of appearance.

    The name of such a part begins with the name of a main part and "_".
    """
    prefixes = {}  # {"posh": ("f1_", "precision_", "recall_")}
    for reward in setup.rewards:
        beginnings = [f"{main}_" for main in reward.main_parts]
        prefixes[reward.__name__] = tuple(beginnings)  # as startswith takes them
    splits: dict[tuple[str, str], None] = {}  # a dict, because a set would lose the order
    for runs in answers.values():
        for answer in chain(*runs):
            reward_name = answer.judge  # the reward that gave the verdict
            for part in answer.verdict.parts:
                if part.startswith(prefixes[reward_name]):
                    splits[reward_name, part] = None
    return list(splits)


def part_of_run(run: Sequence[JudgedAnswer], reward_name: str, part: str) -> list[float | None]:
    """Returns a part of the verdict of each answer of a run, such as "precision_entity".

    If a prompt has several sampled answers, its number is the mean over the samples. The number is
    None if no sample has such a part.

    reward_name: verdicts of other rewards do not count. part: the name of the part.
    """
    values: list[float | None] = []
    for answer in run:
        sample_values = []
        for sample in every_sample([answer]):
            parts = sample.verdict.parts
            # `judge` is the name of the reward that gave the verdict
            if sample.judge == reward_name and part in parts:
                sample_values.append(parts[part])
        values.append(fmean(sample_values) if sample_values else None)
    return values


def worst_case(
    a: Array,
    b: Array,
    failed_a: BooleanArray,
    failed_b: BooleanArray,
    scale: tuple[float, float] = (0.0, 1.0),
) -> list[float] | None:
    """Returns the lowest and the highest mean of a - b that failed verdicts allow.

    For the lowest mean, every failed `a` counts as the lowest possible score, and every failed `b`
    as the highest. For the highest mean, it is the other way round.

    Returns None if no verdict failed. Also returns None if the metric applies to no prompt in both
    arrays. It applies to a prompt with a score or with a failed verdict.

    Args:
        a, b: scores of two models, (seeds, prompts).
        failed_a, failed_b: True where a judge failed.
        scale: the lowest and the highest possible score.
    """
    if not (failed_a.any() or failed_b.any()):
        return None
    lowest, highest = scale
    means = []
    # the scores in place of failed verdicts, first for the lowest mean, then for the highest mean
    for score_a, score_b in ((lowest, highest), (highest, lowest)):
        filled_a = np.where(failed_a, score_a, a)
        filled_b = np.where(failed_b, score_b, b)
        prompt_means = means_of_prompts(filled_a - filled_b)
        if not len(prompt_means):  # the metric applies to no prompt in both arrays
            return None
        means.append(float(prompt_means.mean()))
    return means
