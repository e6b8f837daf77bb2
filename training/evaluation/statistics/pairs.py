"""Every later model against every earlier one: differences, verdicts, win rates, slices, and
sentences on them.

pairs = compare_pairs(setup, evaluation, summary.differences, metrics)
pairs[-1].metrics["posh_f1"].outcome.verdict        # "better"
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
    differences,
    independent,
    signs,
)
from spanreward.training.evaluation.statistics.outcomes import Compared, adjusted, judge_pair
from spanreward.training.evaluation.statistics.sentences import headline, sentence
from spanreward.training.evaluation.statistics.slices import Slice, compare_slices
from spanreward.training.evaluation.statistics.waiting import Failures, waits_for

FEW_PAIRS = 3


@dataclass(frozen=True, slots=True)
class Pair:
    """A later model against an earlier one, by each metric, and what that comes to in sentences.
    waits: why there is no verdict yet, "" where there may be one.
    """

    later: str
    earlier: str
    metrics: dict[str, Compared]
    slices: list[Slice]
    sentence: str
    headline: str
    waits: str = ""


def first_pairs(pairs: Sequence[Pair]) -> list[Pair]:
    """Returns the pairs that a reader sees first, the last one first: up to FEW_PAIRS, else the
    last model's.
    """
    return [
        pair for pair in reversed(pairs) if pair.later == pairs[-1].later or len(pairs) <= FEW_PAIRS
    ]


def compare_pairs(
    setup: Setup,
    evaluation: Evaluation,
    found: Mapping[tuple[str, str], Mapping[str, Difference]],
    metrics: Mapping[str, Metric],
    failures: Mapping[str, Failures],
) -> list[Pair]:
    """Returns the pairs, the first models' first. found: {(later, earlier): {metric:
    difference}}. failures: of the sides on which no verdict is given.
    """
    mains = [name for name, metric in metrics.items() if metric.main]
    of_mains = {
        (sides, metric): table[metric] for sides, table in found.items() for metric in mains
    }
    holm = adjusted({key: one.p for key, one in of_mains.items()})
    prompts = setup.prompts
    scores = evaluation.scores
    pairs = []
    for sides, table in found.items():
        lone = lone_run(setup, *sides)
        waits = waits_for(*sides, failures)
        one, two = (scores[side] for side in sides)
        seeds = independent(
            setup.drawn, list(zip(*(setup.sides[side] for side in sides), strict=True))
        )
        entries = {}
        for metric, difference in table.items():
            key = sides, metric
            outcome = judge_pair(difference, metric, holm.get(key), setup.fixed, lone, waits)
            shape = one["words"], two["words"], prompts.clusters
            rate = win_rate(one[metric], two[metric], *shape) if metric in mains else None
            entries[metric] = Compared(difference, outcome, holm.get(key), rate)
        pairs.append(
            Pair(
                *sides,
                metrics=entries,
                slices=compare_slices(
                    one, two, prompts.slices, mains, seeds, prompts.clusters, waits
                ),
                sentence=sentence(*sides, entries, metrics, setup.fixed, lone, waits),
                headline=headline(*sides, entries, metrics, waits),
                waits=waits,
            )
        )
    return pairs


def win_rate(
    later: Array,
    earlier: Array,
    words_later: Array,
    words_earlier: Array,
    clusters: Sequence[int] | None = None,
) -> LengthControl | None:
    """Returns how often the later model wins, as it is and at equal length (comparison/length.py);
    None where no answer has a partner. The seeds of a prompt are drawn together, and the prompts of
    a cluster. Pairs without both scores are left out.
    """
    difference = differences(later, earlier)
    known = ~np.isnan(difference)
    if not known.any():
        return None
    outcomes = 0.5 * (1 + signs(difference))
    prompts = np.broadcast_to(
        np.arange(known.shape[1]) if clusters is None else clusters, known.shape
    )
    lengths = list(zip(words_later[known], words_earlier[known], strict=True))
    return control_length(outcomes[known].tolist(), lengths, prompts[known].tolist())


def lone_run(setup: Setup, later: str, earlier: str) -> str:
    """Returns the side that is one run beside several of the other, or "".

    A run that the others began from is none.
    """
    for name, other in ((later, earlier), (earlier, later)):
        runs = setup.sides[name]
        others = setup.sides[other]
        began = {
            Path(str((recipe_of(run).get("policy") or {}).get("model", ""))).resolve()
            for run in set(others)
        }
        if (
            len(set(runs)) == 1 < len(set(others))
            and recipe_of(runs[0])
            and Path(runs[0]).resolve() not in began
        ):
            return name
    return ""
