"""Which prompts change sides: one referee gives them to one model, another referee to the other.

flips(scores["dapo"], scores["sft"], ["posh_f1", "overlap"], ids)[0]   # {"one": "posh_f1", "other": "overlap",
                                            # "count": 12, "of": 96, "first": [{"id": "7", "one": .2, "other": -.3}]}
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from spanreward.training.evaluation.statistics import MARGIN, Array, differences, nan_means

NAMED = 5  # prompts of a pair of referees


def flips(
    later: Mapping[str, Array], earlier: Mapping[str, Array], metrics: Sequence[str], ids: Sequence[str]
) -> list[dict[str, Any]]:
    """Returns, for every two metrics, on how many prompts their mean differences over the seeds have opposite signs,
    `of` how many that both score, and the NAMED ones where the smaller of the two differences is largest.
    """
    gaps = {metric: nan_means(differences(later[metric], earlier[metric]).T) for metric in metrics}
    found = []
    for one, other in combinations(metrics, 2):
        smaller = np.minimum(np.abs(gaps[one]), np.abs(gaps[other]))
        opposed = np.flatnonzero((gaps[one] * gaps[other] < 0) & (smaller > MARGIN))
        first = opposed[np.argsort(-smaller[opposed], kind="stable")][:NAMED]
        named = [{"id": ids[at], "one": float(gaps[one][at]), "other": float(gaps[other][at])} for at in first]
        scored = int((~np.isnan(gaps[one] + gaps[other])).sum())
        found.append({"one": one, "other": other, "count": len(opposed), "of": scored, "first": named})
    return found
