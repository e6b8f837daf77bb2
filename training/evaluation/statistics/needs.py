"""How many prompts and training seeds "better" would take, where a pair is undecided.

need(difference, gaps, seeds=[0, 1, 2], clusters=None, fixed=False)
# "1,240 prompts with 3 seeds or 800 prompts with 5 seeds or ..."
"""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil

import numpy as np

from spanreward.rewards.comparison.figures import label
from spanreward.rewards.comparison.power import Spreads, needed, spreads_of
from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.evaluation.statistics.estimates import MIN_SEEDS, Array, Difference, differences, of_seeds
from spanreward.training.evaluation.statistics.outcomes import MIN_PROMPTS, sign
from spanreward.training.evaluation.statistics.pairs import Pair, first_pairs, seeds_of

PLANNED = (3, 5, 10)  # training seeds


def needs(setup: Setup, scores: Mapping[str, Array], pairs: Sequence[Pair], metric: str) -> Iterator[str]:
    """Yields what the pairs that a reader sees first need. scores: by this metric, of each side."""
    for pair in first_pairs(pairs):
        gaps, seeds = differences(scores[pair.later], scores[pair.earlier]), seeds_of(setup, pair.later, pair.earlier)
        enough = need(pair.metrics[metric].difference, gaps, seeds, setup.prompts.clusters, setup.fixed)
        if enough:
            named = f"{pair.later} against {pair.earlier}: by {label(metric)}"
            yield f"{named} a difference as large as this needs {enough}"


def need(found: Difference, gaps: Array, seeds: Sequence[int], clusters: Sequence[int] | None, fixed: bool) -> str:
    """Returns what would show a difference as large as this one as "better" or "worse" in 80 % of comparisons; "" where
    the interval decides already, and for fewer than MIN_SEEDS of trained models, whose scatter is not known. gaps: the
    differences, (rows, prompts). seeds, clusters: of their rows and columns.
    """
    decided = sign(found.both_low, found.both_high) != 0
    if decided or not found.mean or found.counted < MIN_PROMPTS or not (fixed or found.trained >= MIN_SEEDS):
        return ""
    values, size = clustered(of_seeds(gaps, seeds), clusters)
    if values.shape[1] < 2 or np.ptp(values) == 0:
        return ""
    spreads = Spreads(float(values.var(ddof=1)), 0.0, 0.0) if fixed else spreads_of(values)
    counts = {count: needed(spreads, found.mean, count) for count in PLANNED}  # the same for all, if fixed
    enough = [f"{ceil(n * size):,} prompts" + ("" if fixed else f" with {s} seeds") for s, n in counts.items() if n]
    return " or ".join(dict.fromkeys(enough)) or "more than can be had"


def clustered(values: Array, clusters: Sequence[int] | None) -> tuple[Array, float]:
    """Returns the clusters' means of the prompts that every seed has, (seeds, clusters), and how many prompts a cluster
    has on average.
    """
    known = ~np.isnan(values).any(axis=0)
    names = np.flatnonzero(known) if clusters is None else np.asarray(clusters)[known]
    _, of_prompt, counts = np.unique(names, return_inverse=True, return_counts=True)
    sums = [np.bincount(of_prompt, row, minlength=len(counts)) for row in values[:, known]]
    return np.stack(sums) / counts, len(names) / max(len(counts), 1)
