"""Compares every later model with every earlier model: differences, verdicts, win rates, slices,
and sentences.

pairs = compare_pairs(setup, evaluation, summary.differences, metrics, failures)
pairs[-1].metrics["posh_f1"].outcome.verdict  # "better"
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spanreward.rewards.comparison.length import LengthControl, control_length
from spanreward.training.evaluation.answer_scores.evaluate import Evaluation
from spanreward.training.evaluation.answer_scores.metrics import Metric
from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.evaluation.answers.sides import recipe_of
from spanreward.training.evaluation.statistics.estimates import (
    Array,
    Difference,
    independent_seeds,
    score_differences,
    signs_of_gaps,
)
from spanreward.training.evaluation.statistics.outcomes import Compared, adjust_p_values, judge_pair
from spanreward.training.evaluation.statistics.sentences import pair_headline, pair_sentence
from spanreward.training.evaluation.statistics.slices import Slice, compare_slices
from spanreward.training.evaluation.statistics.waiting import Failures, waits_for

FEW_PAIRS = 3  # the number of pairs of three models


@dataclass(frozen=True, slots=True)
class Pair:
    """A later model against an earlier model, by every metric and in sentences.

    Attributes:
        later, earlier: the names of the two sides.
        metrics: the difference and the verdict, by metric.
        slices: the difference and the verdict on parts of the prompts.
        sentence: the verdict with figures.
        headline: the verdict in a few words.
        waits: the reason why the pair gets no verdict yet; "" if the pair gets a verdict.
    """

    later: str
    earlier: str
    metrics: dict[str, Compared]
    slices: list[Slice]
    sentence: str
    headline: str
    waits: str = ""


def first_pairs(pairs: Sequence[Pair]) -> list[Pair]:
    """Returns the pairs that a page shows first, the last pair first.

    With more than FEW_PAIRS pairs, only the pairs of the last model are returned, because the last
    model is usually the newest and a page with all pairs would be long.
    """
    if len(pairs) <= FEW_PAIRS:
        return list(reversed(pairs))
    last_model = pairs[-1].later
    return [pair for pair in reversed(pairs) if pair.later == last_model]


def compare_pairs(
    setup: Setup,
    evaluation: Evaluation,
    pair_differences: Mapping[tuple[str, str], Mapping[str, Difference]],
    metrics: Mapping[str, Metric],
    failures: Mapping[str, Failures],
) -> list[Pair]:
    """Returns every later model against every earlier model, in the order of `pair_differences`.

    pair_differences: {(later, earlier): {metric: difference}}. metrics: the metrics by name.
    failures: by side, answers that look like failures. A pair with such a side gets no verdict.
    """
    mains = [name for name, metric in metrics.items() if metric.main]
    # one adjustment (Holm) for all main metrics of all pairs
    p_values = {}
    for sides, table in pair_differences.items():
        for metric in mains:
            p_values[sides, metric] = table[metric].p
    adjusted_p_values = adjust_p_values(p_values)
    pairs = []
    for sides, table in pair_differences.items():
        adjusted_of = {}  # of this pair; None without a p-value
        for metric in mains:
            adjusted_of[metric] = adjusted_p_values.get((sides, metric))
        later, earlier = sides
        waits = waits_for(later, earlier, failures)
        pairs.append(_compare_pair(setup, evaluation, sides, table, metrics, adjusted_of, waits))
    return pairs


def _compare_pair(
    setup: Setup,
    evaluation: Evaluation,
    sides: tuple[str, str],
    differences: Mapping[str, Difference],
    metrics: Mapping[str, Metric],
    adjusted_p_values: Mapping[str, float | None],
    waits: str,
) -> Pair:
    """Returns a later model against an earlier model, with verdicts, win rates, slices and
    sentences.

    Args:
        setup, evaluation: the settings and the scores of the comparison.
        sides: the names of the later and of the earlier model.
        differences: the difference by each metric.
        metrics: the metrics by name. Only a main metric has a win rate and slices.
        adjusted_p_values: the p-value by each main metric, adjusted over all pairs, or None.
        waits: the reason why the pair gets no verdict yet, or "".
    """
    later, earlier = sides
    later_scores = evaluation.scores[later]
    earlier_scores = evaluation.scores[earlier]
    clusters = setup.prompts.clusters
    lone = lone_run(setup, later, earlier)
    entries = {}
    for metric, difference in differences.items():
        adjusted_p = adjusted_p_values.get(metric)
        outcome = judge_pair(difference, metric, adjusted_p, setup.fixed, lone, waits)
        rate = None
        if metrics[metric].main:
            rate = win_rate(
                later_scores[metric],
                earlier_scores[metric],
                later_scores["words"],
                earlier_scores["words"],
                clusters,
            )
        entries[metric] = Compared(difference, outcome, adjusted_p, rate)
    # One number per comparison of two runs. If the user gave the same two runs for several seeds,
    # they are independent only once.
    runs = list(zip(setup.sides[later], setup.sides[earlier], strict=True))
    seeds = independent_seeds(setup.seeds_that_count, runs)
    mains = [name for name, metric in metrics.items() if metric.main]
    slices = compare_slices(
        later_scores, earlier_scores, setup.prompts.slices, mains, seeds, clusters, waits
    )
    return Pair(
        later,
        earlier,
        metrics=entries,
        slices=slices,
        sentence=pair_sentence(later, earlier, entries, metrics, setup.fixed, lone, waits),
        headline=pair_headline(later, earlier, entries, metrics, waits),
        waits=waits,
    )


def win_rate(
    later: Array,
    earlier: Array,
    words_later: Array,
    words_earlier: Array,
    clusters: Sequence[int] | None = None,
) -> LengthControl | None:
    """Returns how often the later model wins, as measured and at equal length
    (comparison/length.py).

    Returns None if no prompt has a score of both models. Answers without both scores are left out.
    All seeds of a prompt, and all prompts of a cluster, are drawn together.

    Args:
        later, earlier: the scores of the two models, (seeds, prompts).
        words_later, words_earlier: the numbers of words of the answers, (seeds, prompts).
        clusters: one number per prompt; None if each prompt is a cluster.
    """
    gaps = score_differences(later, earlier)
    judged = ~np.isnan(gaps)
    if not judged.any():
        return None
    outcomes = 0.5 * (1 + signs_of_gaps(gaps))  # 1 for a win, .5 for a tie, 0 for a loss
    # for each (seed, prompt) pair, the cluster of the prompt
    prompt_clusters = np.arange(judged.shape[1]) if clusters is None else clusters
    drawn_together = np.broadcast_to(prompt_clusters, judged.shape)
    # indexing by `judged` turns (seeds, prompts) into one axis, in the same order for all arrays
    judged_words_later = words_later[judged]
    judged_words_earlier = words_earlier[judged]
    lengths = list(zip(judged_words_later, judged_words_earlier, strict=True))
    judged_outcomes = outcomes[judged].tolist()
    return control_length(judged_outcomes, lengths, drawn_together[judged].tolist())


def lone_run(setup: Setup, later: str, earlier: str) -> str:
    """Returns the name of the side that is a single training run while the other side has several
    runs; "" for no such side.

    Such a side gets no verdict, because one run does not show how far other seeds would be. Two
    exceptions need no other seeds, and give "":

    - The single run is a fixed system, which has no training seeds: its folder has no recipe.
    - A run of the other side began its training from the single run: three runs of "dapo" began
      from the policy of "sft". The comparison is then about what "dapo" made of this very policy.
    """
    for name, other in ((later, earlier), (earlier, later)):
        runs = set(setup.sides[name])
        other_runs = set(setup.sides[other])
        is_one_beside_several = len(runs) == 1 and len(other_runs) > 1
        if not is_one_beside_several:
            continue
        run = setup.sides[name][0]
        has_recipe = bool(recipe_of(run))
        policies_of_other = set(map(first_policy, other_runs))
        other_began_from_run = Path(run).resolve() in policies_of_other
        if has_recipe and not other_began_from_run:
            return name
    return ""


def first_policy(run: str) -> Path:
    """Returns the path of the policy from which a run's training began, by the run's recipe."""
    policy = recipe_of(run).get("policy") or {}
    model = str(policy.get("model", ""))
    return Path(model).resolve()
