"""All models in one table: the best first, each with the models that cannot be told from it.

leaderboard(results, scores, "posh_f1")["rows"]     # [{"model": "dapo", "rank": 1, "mean": .9, "tied": ["sft"], ...}]
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from spanreward.rewards.comparison.multiplicity import holm
from spanreward.training.evaluation.outcomes import LEVEL
from spanreward.training.evaluation.slices import sign_flips
from spanreward.training.evaluation.statistics import Array, differences, in_clusters


def leaderboard(
    results: Mapping[str, Any],
    scores: Mapping[str, Mapping[str, Array]],
    metric: str,
    clusters: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Returns {"metric", "rows"}: the models by their mean; models without a score come last, without a rank.

    A rank is 1 plus the number of models that are higher beyond chance over prompts, at LEVEL, adjusted over all pairs
    (Holm). `tied` are the models that are neither higher nor lower beyond chance. The table is about these runs: what
    another training seed would give is not in it.
    """
    means = {model: table[metric]["mean"] for model, table in results["models"].items()}
    known = [model for model in means if means[model] is not None]
    pairs = list(combinations(known, 2))
    gaps = [in_clusters(differences(scores[one][metric], scores[two][metric]), clusters)[0] for one, two in pairs]
    chances = [sign_flips(gap) if len(gap) else None for gap in gaps]
    adjusted = holm([1.0 if chance is None else chance for chance in chances])
    higher: dict[str, set[str]] = {model: set() for model in known}
    for pair, gap, chance in zip(pairs, gaps, adjusted, strict=True):
        if chance < LEVEL:
            upper, lower = pair if gap.mean() > 0 else pair[::-1]
            higher[lower].add(upper)
    rows = [
        {
            "model": model,
            "rank": 1 + len(higher[model]),
            **{key: results["models"][model][metric][key] for key in ("mean", "low", "high", "counted", "failed")},
            "tied": [o for o in known if o != model and o not in higher[model] and model not in higher[o]],
        }
        for model in sorted(known, key=lambda model: -means[model])
    ]
    unknown = [{"model": model, "rank": None, "mean": None, "tied": []} for model in means if means[model] is None]
    return {"metric": metric, "rows": rows + unknown}
