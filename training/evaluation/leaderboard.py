"""All models in one table: the best first, and whoever cannot be told from it beside it.

leaderboard(results, scores, "posh_f1")["rows"]     # [{"model": "dapo", "rank": 1, "mean": .9, "tied": ["sft"], ...}]
"""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from rewards.comparison.multiplicity import holm
from training.evaluation.slices import LEVEL, sign_flips
from training.evaluation.statistics import Array, differences, per_prompt


def leaderboard(results: Mapping[str, Any], scores: Mapping[str, Mapping[str, Array]], metric: str) -> dict[str, Any]:
    """{"metric", "rows"}: the models by their mean. A rank is 1 plus the number of models that are higher beyond chance
    over prompts, at LEVEL, adjusted over all pairs (Holm); `tied` are those of which neither is. It speaks of these
    runs: what another training seed gives it does not know. Models without a score come last, without a rank.
    """
    means = {model: table[metric]["mean"] for model, table in results["models"].items()}
    known = [model for model in means if means[model] is not None]
    pairs = list(combinations(known, 2))
    gaps = [per_prompt(differences(scores[one][metric], scores[two][metric])) for one, two in pairs]
    chances = [sign_flips(gap) if len(gap) else None for gap in gaps]
    adjusted = holm([1.0 if chance is None else chance for chance in chances])
    higher: dict[str, set[str]] = {model: set() for model in known}  # than it
    for (one, two), gap, chance in zip(pairs, gaps, adjusted, strict=True):
        if chance < LEVEL:
            (higher[two] if gap.mean() > 0 else higher[one]).add(one if gap.mean() > 0 else two)
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
