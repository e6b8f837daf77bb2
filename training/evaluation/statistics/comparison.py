"""A whole comparison: every number, sentence and warning, from judged answers.

comparison = summarise(setup, evaluation)
comparison.pairs[-1].metrics["posh_f1"].outcome.verdict         # "better"
comparison.warnings                                             # what a reader must know first
"""

from dataclasses import dataclass

from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.evaluation.judged.compute import Compute, compute_of
from spanreward.training.evaluation.judged.evaluate import Evaluation
from spanreward.training.evaluation.judged.metrics import Metric, lost_by, metrics_of, names_of
from spanreward.training.evaluation.statistics.cautions import alike, caveats, leaks, looks, lopsided, unsound
from spanreward.training.evaluation.statistics.estimates import Estimate
from spanreward.training.evaluation.statistics.leaderboard import Ranked, leaderboard
from spanreward.training.evaluation.statistics.needs import needs
from spanreward.training.evaluation.statistics.pairs import Pair, compare_pairs
from spanreward.training.evaluation.statistics.sentences import contradictions
from spanreward.training.evaluation.statistics.summary import Summary, parts_by_kind, summarise_models


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


def summarise(setup: Setup, evaluation: Evaluation) -> Comparison:
    """Returns the comparison. Raises ValueError where nothing could be judged."""
    scores, prompts = evaluation.scores, setup.prompts
    metrics = metrics_of(setup, next(iter(scores.values())))
    if not any(metric.main for metric in metrics.values()):
        names = [reward.__name__ for reward in setup.rewards]
        raise ValueError(f"the rewards {names} apply to none of these answers, and no metric without a judge does.")
    scales = {name: reward.scale for reward in setup.rewards for name in names_of(reward)}
    summary = summarise_models(scores, setup.drawn, evaluation.failed, setup.sides, scales, prompts.clusters)
    pairs = compare_pairs(setup, evaluation, summary.differences, metrics)
    decisive, *_ = order = lost_by(metrics)
    of_scores = {side: table[decisive] for side, table in scores.items()}
    of_models = {model: table[decisive] for model, table in summary.models.items()}
    cut, perhaps = looks(setup, summary.models)
    opposed = [contradictions(pair.later, pair.earlier, pair.metrics, metrics) for pair in pairs]
    warnings = [*lopsided(evaluation.failed), *alike(evaluation.answers), *prompts.told, *leaks(setup)]
    warnings += [*unsound(setup, metrics), *cut, *(text for told, _ in opposed for text in told)]
    notes = [*perhaps, *prompts.noted, *caveats(setup, metrics), *(text for _, told in opposed for text in told)]
    return Comparison(
        setup=setup,
        metrics=metrics,
        models=summary.models,
        pairs=pairs,
        lost_by=order,
        ranking=leaderboard(of_scores, of_models, prompts.clusters),
        parts=parts_by_kind(setup, evaluation.answers),
        compute=compute_of(setup.sides, {side: table.get("length") for side, table in scores.items()}),
        notes=[*notes, *needs(setup, of_scores, pairs, decisive)],
        warnings=warnings,
    )
