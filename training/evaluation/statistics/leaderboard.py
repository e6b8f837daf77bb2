"""All models in one table: the best first, each with the models that cannot be told from it.

leaderboard(summary.models, scores, "posh_f1").rows     # [Ranked("dapo", rank=1, mean=..., tied=["sft"]), ...]
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from spanreward.rewards.comparison.multiplicity import holm
from spanreward.training.evaluation.statistics.estimates import Array, differences, in_clusters
from spanreward.training.evaluation.statistics.outcomes import LEVEL
from spanreward.training.evaluation.statistics.slices import sign_flips
from spanreward.training.evaluation.statistics.summary import Mean


@dataclass(frozen=True, slots=True)
class Ranked:
    """rank: 1 plus the number of models that are higher beyond chance over prompts, at LEVEL, adjusted over all pairs
    (Holm); None without a score. tied: the models that are neither higher nor lower beyond chance.
    """

    model: str
    rank: int | None
    mean: Mean
    tied: list[str]


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """The models by their mean; those without a score come last. It is about these runs: what another training seed
    would give is not in it.
    """

    metric: str
    rows: list[Ranked]


def leaderboard(
    models: Mapping[str, Mapping[str, Mean]],
    scores: Mapping[str, Mapping[str, Array]],
    metric: str,
    clusters: Sequence[int] | None = None,
) -> Leaderboard:
    """Returns the ranking by a metric. scores: {model: {metric: (seeds, prompts)}}."""
    means = {model: table[metric].mean for model, table in models.items()}
    known = {model: mean for model, mean in means.items() if mean is not None}
    pairs = list(combinations(known, 2))
    gaps = [in_clusters(differences(scores[one][metric], scores[two][metric]), clusters)[0] for one, two in pairs]
    chances = [sign_flips(gap) if len(gap) else None for gap in gaps]
    adjusted = holm([1.0 if chance is None else chance for chance in chances])
    higher: dict[str, set[str]] = {model: set() for model in known}
    for pair, gap, chance in zip(pairs, gaps, adjusted, strict=True):
        if chance < LEVEL:
            upper, lower = pair if gap.mean() > 0 else pair[::-1]
            higher[lower].add(upper)

    def ranked(model: str) -> Ranked:
        tied = [o for o in known if o != model and o not in higher[model] and model not in higher[o]]
        return Ranked(model, 1 + len(higher[model]), models[model][metric], tied)

    rows = [ranked(model) for model in sorted(known, key=lambda model: -known[model])]
    return Leaderboard(metric, rows + [Ranked(m, None, models[m][metric], []) for m in means if m not in known])
