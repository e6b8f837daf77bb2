"""All models in one table: the best first, each with the models that cannot be told from it.

leaderboard({"sft": sft, "dapo": dapo}, means)      # [Ranked("dapo", rank=1, mean=..., tied=["sft"]), ...]
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from spanreward.rewards.comparison.multiplicity import holm
from spanreward.training.evaluation.statistics.estimates import Array, Estimate, differences, in_clusters
from spanreward.training.evaluation.statistics.outcomes import LEVEL
from spanreward.training.evaluation.statistics.slices import sign_flips


@dataclass(frozen=True, slots=True)
class Ranked:
    """rank: 1 plus the number of models that are higher beyond chance over prompts, at LEVEL, adjusted over all pairs
    (Holm); None without a score. tied: the models that are neither higher nor lower beyond chance. Of other training
    seeds this says nothing.
    """

    model: str
    rank: int | None
    mean: Estimate
    tied: list[str]


def leaderboard(
    scores: Mapping[str, Array], means: Mapping[str, Estimate], clusters: Sequence[int] | None = None
) -> list[Ranked]:
    """Returns the models by their mean of one metric; those without a score come last. scores: (seeds, prompts)."""
    known = {model: found.mean for model, found in means.items() if found.mean is not None}
    pairs = list(combinations(known, 2))
    gaps = [in_clusters(differences(scores[one], scores[two]), clusters)[0] for one, two in pairs]
    chances = holm([1.0 if (chance := sign_flips(gap)) is None else chance for gap in gaps])
    higher: dict[str, set[str]] = {model: set() for model in known}
    for pair, gap, chance in zip(pairs, gaps, chances, strict=True):
        if chance < LEVEL:
            upper, lower = pair if gap.mean() > 0 else pair[::-1]
            higher[lower].add(upper)
    rows = []
    for model in sorted(known, key=lambda model: -known[model]):
        tied = [o for o in known if o != model and o not in higher[model] and model not in higher[o]]
        rows.append(Ranked(model, 1 + len(higher[model]), means[model], tied))
    return rows + [Ranked(model, None, means[model], []) for model in means if model not in known]
