"""Makes a whole comparison from judged answers: all numbers, sentences and warnings, and the
ranking of the models.

comparison = summarise_comparison(setup, evaluation)
comparison.pairs[-1].metrics["posh_f1"].outcome.verdict  # "better"
comparison.warnings  # what a reader must know first
"""

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations

from spanreward.rewards.base.unread import NotRead
from spanreward.rewards.comparison.crossed import holm_adjusted
from spanreward.rewards.reward.reward import Reward
from spanreward.training.evaluation.answer_scores.answer import JudgedAnswer
from spanreward.training.evaluation.answer_scores.evaluate import Evaluation
from spanreward.training.evaluation.answer_scores.metrics import (
    Metric,
    main_metrics_by_trust,
    metrics_of,
    names_of,
)
from spanreward.training.evaluation.answer_scores.several import BEST_ENDING, every_sample
from spanreward.training.evaluation.answer_scores.training_cost import Compute, compute_of
from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.evaluation.statistics.cautions import (
    failed_judgments,
    faulty_answers,
    identical_answers,
    leak_warnings,
    much_unread,
    not_read_by,
    notes_on_limits,
    notes_on_samples,
    unequal_failures,
)
from spanreward.training.evaluation.statistics.estimates import (
    Array,
    Estimate,
    in_clusters,
    score_differences,
)
from spanreward.training.evaluation.statistics.outcomes import SIGNIFICANCE_LEVEL
from spanreward.training.evaluation.statistics.pairs import Pair, compare_pairs
from spanreward.training.evaluation.statistics.sentences import contradiction_cautions
from spanreward.training.evaluation.statistics.slices import sign_flips
from spanreward.training.evaluation.statistics.summary import (
    Summary,
    parts_by_kind,
    summarise_models,
)
from spanreward.training.evaluation.statistics.waiting import Failures, failures_of, warnings_of


@dataclass(frozen=True, slots=True)
class Ranked:
    """One model's line of the leaderboard. The rank makes no claim about other training seeds.

    Attributes:
        model: the name of the side.
        rank: 1 plus the number of models that are significantly higher: with a p-value over prompts
            below SIGNIFICANCE_LEVEL, adjusted over all pairs (Holm). None for a model without a
            score, and for a model whose verdict waits (waiting.py).
        mean: the model's mean by the decisive metric, the first of `lost_by`.
        tied: the models that are neither significantly higher nor significantly lower.
    """

    model: str
    rank: int | None
    mean: Estimate
    tied: list[str]


@dataclass(frozen=True, slots=True)
class Comparison:
    """All results of a comparison, as the page and the files show them.

    Attributes:
        setup: the settings of the comparison.
        metrics: the metrics by name, in the column order of tables.
        models: {model: {metric: mean}}.
        pairs: every later model against every earlier model.
        lost_by: the main metrics, the most trusted first. The first one that scored both answers to
            a prompt decides which model lost the prompt.
        ranking: the models by the first metric of `lost_by`, the best model first.
        parts: the metrics that are split by kind of phrase (`parts_by_kind`).
        compute: the cost of each side.
        notes: sentences on what limits the figures.
        warnings: sentences that a reader must know before the figures.
        failures: by side, answers that look like failures of an API or a script. Such a side gets
            no verdict.
        not_read: by side, how many characters of its answers the shown judge did not read; {} if
            every answer was read whole.
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
    failures: dict[str, Failures] = field(default_factory=dict)
    not_read: dict[str, NotRead] = field(default_factory=dict)


def summarise_comparison(setup: Setup, evaluation: Evaluation) -> Comparison:
    """Returns the whole comparison: numbers, verdicts, sentences, warnings and the ranking.

    Raises ValueError if no main metric applies to any answer.
    """
    scores = evaluation.scores
    clusters = setup.prompts.clusters
    first_table = next(iter(scores.values()))  # all sides have the same metrics
    metrics = metrics_of(setup, first_table)
    answers_of = {}
    for side, runs in evaluation.answers.items():
        answers_of[side] = list(every_sample(chain(*runs)))
    if not any(metric.main for metric in metrics.values()):
        raise _nothing_judged(setup, answers_of)
    scales = _scales_of(setup.rewards)
    summary = summarise_models(
        scores, setup.seeds_that_count, evaluation.failed, setup.sides, scales, clusters
    )
    failures = failures_of(setup, evaluation.answers)
    pairs = compare_pairs(setup, evaluation, summary.differences, metrics, failures)
    main_metrics = main_metrics_by_trust(metrics)
    decisive = main_metrics[0]  # the most trusted metric: the ranking is by this metric
    decisive_scores = {side: table[decisive] for side, table in scores.items()}
    decisive_means = {model: means[decisive] for model, means in summary.models.items()}
    # None for each side if all answers come from files, which hold no tokens
    lengths = {side: table.get("length") for side, table in scores.items()}
    unread_of = not_read_by(answers_of)
    comparison = Comparison(
        setup=setup,
        metrics=metrics,
        models=summary.models,
        pairs=pairs,
        lost_by=main_metrics,
        ranking=rank_models(decisive_scores, decisive_means, clusters, failures),
        parts=parts_by_kind(setup, evaluation.answers),
        compute=compute_of(setup.sides, lengths),
        notes=[],
        warnings=[],
        failures=failures,
        not_read=unread_of,
    )
    warnings, notes = _warnings_and_notes(comparison, evaluation, answers_of)
    return replace(comparison, warnings=warnings, notes=notes)


def _warnings_and_notes(
    comparison: Comparison,
    evaluation: Evaluation,
    answers_of: Mapping[str, Sequence[JudgedAnswer]],
) -> tuple[list[str], list[str]]:
    """Returns (warnings, notes) of a comparison, in the order in which a reader needs them.

    comparison: without its warnings and notes. answers_of: by side, every answer of every run.
    """
    setup = comparison.setup
    metrics = comparison.metrics
    fault_warnings, fault_notes = faulty_answers(setup, comparison.models)
    sign_warnings, sign_notes = _opposite_signs(comparison.pairs, metrics)
    # first the warnings of what touches all figures
    warnings = [
        *warnings_of(comparison.failures),
        *unequal_failures(evaluation.failed),
        *failed_judgments(evaluation),
        *identical_answers(evaluation.answers),
        *setup.prompts.warnings,
        *leak_warnings(setup),
        *_left_out(setup, metrics),
        *fault_warnings,
        *sign_warnings,
    ]
    notes = [
        *_notes_on_empty(answers_of),
        *notes_on_samples(evaluation.answers),
        *much_unread(comparison.not_read),
        *fault_notes,
        *setup.prompts.notes,
        *notes_on_limits(setup, metrics),
        *sign_notes,
    ]
    return warnings, notes


def _opposite_signs(
    pairs: Sequence[Pair], metrics: Mapping[str, Metric]
) -> tuple[list[str], list[str]]:
    """Returns warnings and notes on metrics that prefer different sides of a pair
    (`contradiction_cautions`).
    """
    warnings: list[str] = []
    notes: list[str] = []
    for pair in pairs:
        # `waits` is the reason why the pair has no verdict yet: then no metric prefers a side
        if pair.waits:
            continue
        warnings_of_pair, notes_of_pair = contradiction_cautions(
            pair.later, pair.earlier, pair.metrics, metrics
        )
        warnings += warnings_of_pair
        notes += notes_of_pair
    return warnings, notes


def _scales_of(rewards: Sequence[Reward]) -> dict[str, tuple[float, float]]:
    """Returns the lowest and the highest possible score of each metric, and of its best sample."""
    scales = {}
    for reward in rewards:
        for name in names_of(reward):
            scales[name] = reward.scale
            scales[f"{name}{BEST_ENDING}"] = reward.scale
    return scales


def _nothing_judged(setup: Setup, answers_of: Mapping[str, Sequence[JudgedAnswer]]) -> ValueError:
    """Returns the error for answers to which no main metric applies: neither the metric of a
    reward, nor a metric without a judge, such as vqa_accuracy.

    The message ends with the first note of a verdict, in brackets, if some verdict has a note.
    """
    names = [reward.__name__ for reward in setup.rewards]
    why = ""
    for answer in chain(*answers_of.values()):
        if answer.verdict.note:
            why = f" ({answer.verdict.note})"
            break
    return ValueError(
        f"none of these answers can be judged, neither by the rewards {names} nor by a metric "
        f"without a judge{why}."
    )


def _left_out(setup: Setup, metrics: Container[str]) -> Iterator[str]:
    """Yields a warning for every reward that applies to no answer, and so has no column in the
    tables.
    """
    for reward in setup.rewards:
        main_name = names_of(reward)[0]
        if main_name not in metrics:
            yield (
                f"the reward {reward.__name__} applies to none of these answers, and is not in "
                "the tables"
            )


def _notes_on_empty(answers_of: Mapping[str, Sequence[JudgedAnswer]]) -> Iterator[str]:
    """Yields a note for every side that has empty answers."""
    for side, answers in answers_of.items():
        empty = [answer for answer in answers if not answer.text.strip()]
        if empty:
            yield f"{side}: {len(empty)} answers are empty, as a table's cell may be, and score 0"


def rank_models(
    scores: Mapping[str, Array],
    means: Mapping[str, Estimate],
    clusters: Sequence[int] | None = None,
    waiting: Container[str] = (),
) -> list[Ranked]:
    """Returns the models by their mean of one metric, the best first. Models without a rank come
    last.

    scores: by model, the scores by this metric, (seeds, prompts). means: by model, the mean of
    these scores. clusters: one number per prompt; the test treats prompts with equal numbers as
    one. waiting: the models that get no rank yet.
    """
    mean_of = {}  # of the models that get a rank
    for model, estimate in means.items():
        if estimate.mean is not None and model not in waiting:
            mean_of[model] = estimate.mean
    # by model, the models that are significantly higher and lower
    higher: dict[str, set[str]] = defaultdict(set)
    lower: dict[str, set[str]] = defaultdict(set)
    for winner, loser in _significant_pairs(scores, list(mean_of), clusters):
        higher[loser].add(winner)
        lower[winner].add(loser)
    rows = []
    for model in sorted(mean_of, key=mean_of.__getitem__, reverse=True):
        rank = 1 + len(higher[model])
        apart = {model, *higher[model], *lower[model]}
        tied = [other for other in mean_of if other not in apart]
        rows.append(Ranked(model, rank, means[model], tied))
    for model, estimate in means.items():
        if model not in mean_of:
            rows.append(Ranked(model, None, estimate, []))
    return rows


def _significant_pairs(
    scores: Mapping[str, Array], models: Sequence[str], clusters: Sequence[int] | None
) -> list[tuple[str, str]]:
    """Returns (winner, loser) for every two models whose scores differ significantly: with a
    p-value below SIGNIFICANCE_LEVEL after the adjustment over all pairs (Holm).

    scores: by model, the scores by one metric, (seeds, prompts). clusters: as in `rank_models`.
    """
    ordered_pairs = []  # (model with the higher scores, model with the lower scores)
    p_values = []
    for a, b in combinations(models, 2):
        gaps = score_differences(scores[a], scores[b])
        sums, _ = in_clusters(gaps, clusters)
        p = sign_flips(sums)
        if p is None:  # a single prompt allows no test
            p_values.append(1.0)
            ordered_pairs.append((b, a))
            continue
        p_values.append(p)
        ordered_pairs.append((a, b) if sums.mean() > 0 else (b, a))
    adjusted_p_values = holm_adjusted(p_values)
    significant = []
    for pair, adjusted_p in zip(ordered_pairs, adjusted_p_values, strict=True):
        if adjusted_p < SIGNIFICANCE_LEVEL:
            significant.append(pair)
    return significant
