"""Which prompts change sides: one metric gives them to one model, another metric to the other.

flips(scores["dapo"], scores["sft"], ["posh_f1", "overlap"], ids)[0]    # Flips("posh_f1", "overlap", count=12, of=96,
                                                                        #       first=[("7", .2, -.3), ...])
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from spanreward.training.evaluation.statistics.estimates import MARGIN, Array, differences, nan_means

NAMED = 5  # prompts of a pair of metrics


@dataclass(frozen=True, slots=True)
class Flips:
    """On how many prompts the mean differences over the seeds by two metrics have opposite signs, of how many that both
    score. first: id and both differences of those where the smaller one is largest.
    """

    one: str
    other: str
    count: int
    of: int
    first: list[tuple[str, float, float]]


def flips(
    later: Mapping[str, Array], earlier: Mapping[str, Array], metrics: Sequence[str], ids: Sequence[str]
) -> list[Flips]:
    """Returns the prompts that change sides for every two metrics."""
    gaps = {metric: nan_means(differences(later[metric], earlier[metric]).T) for metric in metrics}
    found = []
    for one, other in combinations(metrics, 2):
        smaller = np.minimum(np.abs(gaps[one]), np.abs(gaps[other]))
        opposed = np.flatnonzero((gaps[one] * gaps[other] < 0) & (smaller > MARGIN))
        first = opposed[np.argsort(-smaller[opposed], kind="stable")][:NAMED]
        named = [(ids[at], float(gaps[one][at]), float(gaps[other][at])) for at in first]
        scored = int((~np.isnan(gaps[one] + gaps[other])).sum())
        found.append(Flips(one, other, len(opposed), scored, named))
    return found
