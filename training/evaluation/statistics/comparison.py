"""A whole comparison: every number, sentence and warning, from judged answers.

comparison = summarise(setup, evaluation)
comparison.pairs[-1].metrics["posh_f1"].outcome.verdict         # "better"
comparison.warnings                                             # what a reader must know first
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spanreward.rewards.comparison.length import style_counts
from spanreward.training.evaluation.answers.held_out import leaks
from spanreward.training.evaluation.answers.runs import recipe_of
from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.evaluation.judged.answer import JudgedAnswer
from spanreward.training.evaluation.judged.compute import Compute, compute_of
from spanreward.training.evaluation.judged.evaluate import Evaluation
from spanreward.training.evaluation.judged.metrics import Metric, lost_by, metrics_of, names_of
from spanreward.training.evaluation.statistics.cautions import alike, caveats, looks, lopsided, unsound
from spanreward.training.evaluation.statistics.estimates import Array, Estimate, differences, independent
from spanreward.training.evaluation.statistics.flips import Flips, flips
from spanreward.training.evaluation.statistics.leaderboard import Ranked, leaderboard
from spanreward.training.evaluation.statistics.needs import need
from spanreward.training.evaluation.statistics.outcomes import Compared, adjust, equivalences, judge_pair
from spanreward.training.evaluation.statistics.parts import parts_by_kind
from spanreward.training.evaluation.statistics.sentences import contradictions, headline, sentence
from spanreward.training.evaluation.statistics.slices import Slice, compare_slices
from spanreward.training.evaluation.statistics.summary import Summary, summarise_models
from spanreward.training.evaluation.statistics.win_rate import win_rate

FEW_PAIRS = 3


@dataclass(frozen=True, slots=True)
class Pair:
    """A later model against an earlier one, by each metric, and what that comes to in sentences."""

    later: str
    earlier: str
    metrics: dict[str, Compared]
    slices: list[Slice]
    flips: list[Flips]
    sentence: str
    headline: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is printed and shown.

    Attributes:
        models: {model: {metric: mean}}.
        pairs: every later model against every earlier one.
        lost_by: the main metrics in the order in which they say who lost a prompt.
        ranking: the models by the first of them.
        parts: of the metrics that are split by kind.
        notes: what limits the figures.
        warnings: what a reader must know before them.
    """

    setup: Setup
    metrics: dict[str, Metric]
    models: dict[str, dict[str, Estimate]]
    pairs: list[Pair]
    lost_by: list[str]
    ranking: list[Ranked]
    parts: Summary
    compute: dict[str, Compute]
    notes: list[str]
    warnings: list[str]


def first_pairs(pairs: Sequence[Pair]) -> list[Pair]:
    """Returns the pairs that a reader sees first, the last one first: all of up to FEW_PAIRS, else those of the last
    model.
    """
    return [pair for pair in reversed(pairs) if pair.later == pairs[-1].later or len(pairs) <= FEW_PAIRS]


def summarise(setup: Setup, evaluation: Evaluation) -> Comparison:
    """Returns the comparison. Raises ValueError where nothing could be judged."""
    scores, prompts = evaluation.scores, setup.prompts
    metrics = metrics_of(setup, next(iter(scores.values())))
    if not any(metric.main for metric in metrics.values()):
        names = [reward.__name__ for reward in setup.rewards]
        raise ValueError(f"the rewards {names} apply to none of these answers, and no metric without a judge does.")
    scales = {name: reward.scale for reward in setup.rewards for name in names_of(reward)}
    summary = summarise_models(scores, setup.drawn, evaluation.failed, setup.sides, scales, prompts.clusters)
    pairs = compare_pairs(setup, evaluation, summary, metrics)
    decisive = lost_by(metrics)
    of_models = {model: table[decisive[0]] for model, table in summary.models.items()}
    of_scores = {side: table[decisive[0]] for side, table in scores.items()}
    cut, perhaps = looks(setup, summary.models)
    opposed = [contradictions(pair.later, pair.earlier, pair.metrics, metrics) for pair in pairs]
    leaked = leaks(setup.sides, prompts.rows, prompts.source)
    warnings = [*lopsided(evaluation.failed), *alike(evaluation.answers), *prompts.told, *leaked]
    warnings += [*unsound(setup, metrics), *cut, *(text for told, _ in opposed for text in told)]
    notes = [*perhaps, *prompts.noted, *caveats(setup, metrics), *(text for _, told in opposed for text in told)]
    return Comparison(
        setup=setup,
        metrics=metrics,
        models=summary.models,
        pairs=pairs,
        lost_by=decisive,
        ranking=leaderboard(of_scores, of_models, prompts.clusters),
        parts=parts_by_kind(setup, evaluation.answers),
        compute=compute_of(setup.sides, {side: table.get("length") for side, table in scores.items()}),
        notes=notes + needs(setup, of_scores, pairs, decisive[0]),
        warnings=warnings,
    )


def compare_pairs(setup: Setup, evaluation: Evaluation, summary: Summary, metrics: Mapping[str, Metric]) -> list[Pair]:
    """Returns every later model against every earlier one."""
    mains = [name for name, metric in metrics.items() if metric.main]
    adjusted = adjust(summary.differences, mains)
    equal = {} if setup.within is None else equivalences(summary.differences, mains, setup.within)
    style = {side: style_of(answers) for side, answers in evaluation.answers.items()}
    ids = [str(row.get("id", number)) for number, row in enumerate(setup.prompts.rows, start=1)]
    pairs = []
    for sides, table in summary.differences.items():
        later, earlier = sides
        one, two = evaluation.scores[later], evaluation.scores[earlier]
        lone, clusters = lone_run(setup, later, earlier), setup.prompts.clusters
        lengths, styles = (one["words"], two["words"]), (style[later], style[earlier])
        rates = {metric: win_rate(one[metric], two[metric], *lengths, clusters, styles) for metric in mains}
        entries = {}
        for metric, found in table.items():
            p = adjusted.get((sides, metric))
            outcome = judge_pair(found, metric, p, setup.fixed, lone)
            entries[metric] = Compared(found, outcome, p, equal.get((sides, metric)), rates.get(metric))
        seeds = seeds_of(setup, later, earlier)
        slices = compare_slices(one, two, setup.prompts.slices, mains, seeds, clusters)
        said = sentence(later, earlier, entries, metrics, setup.fixed, lone)
        brief = headline(later, earlier, entries, metrics)
        pairs.append(Pair(later, earlier, entries, slices, flips(one, two, mains, ids), said, brief))
    return pairs


def needs(setup: Setup, scores: Mapping[str, Array], pairs: Sequence[Pair], metric: str) -> list[str]:
    """Returns what a verdict on each undecided pair would take, of those that a reader sees first."""
    told = []
    for pair in first_pairs(pairs):
        gaps, seeds = differences(scores[pair.later], scores[pair.earlier]), seeds_of(setup, pair.later, pair.earlier)
        said = need(pair.metrics[metric].difference, metric, gaps, seeds, setup.prompts.clusters, setup.fixed)
        told += [f"{pair.later} against {pair.earlier}: {said}"] if said else []
    return told


def seeds_of(setup: Setup, later: str, earlier: str) -> list[int]:
    """Returns the independent training seed of each row of a pair."""
    return independent(setup.drawn, list(zip(setup.sides[later], setup.sides[earlier], strict=True)))


def style_of(answers: Sequence[Sequence[JudgedAnswer]]) -> np.ndarray:
    """Returns a side's counts of Markdown elements (`style_counts`), of shape (seeds, prompts, elements)."""
    return np.array([[style_counts(one.text) for one in of_run] for of_run in answers], dtype=float)


def lone_run(setup: Setup, later: str, earlier: str) -> str:
    """Returns the name of a side that is one training run beside several of the other, "" for none. A run that the
    others began from is fixed and no lone one.
    """
    for name, other in ((later, earlier), (earlier, later)):
        runs, others = setup.sides[name], setup.sides[other]
        began = {Path(str((recipe_of(run).get("policy") or {}).get("model", ""))).resolve() for run in set(others)}
        if len(set(runs)) == 1 < len(set(others)) and recipe_of(runs[0]) and Path(runs[0]).resolve() not in began:
            return name
    return ""
