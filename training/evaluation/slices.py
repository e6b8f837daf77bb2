"""On which parts of the prompts one model is better or worse: the same differences by slice.

    table = compare_slices(later, earlier, prompts.slices, ["truth_f1", "posh_f1"], seeds)
    table[0]    # {"slice": "objects", "value": "3", "metric": "truth_f1", "mean": -0.1, "p": 0.004, "holm": 0.02, ...}

Among twenty slices one is "significant" by chance. So verdicts about prompts use p-values adjusted over the whole table
(Holm), from a test that flips the signs of the prompts' differences. The intervals are not adjusted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from scipy.stats import permutation_test

from spanreward.rewards.comparison.multiplicity import holm
from spanreward.rewards.comparison.resampling import DRAWS
from spanreward.training.evaluation.outcomes import judge_pair
from spanreward.training.evaluation.statistics import Array, differences, in_clusters, paired_difference

SLICED = 12  # a column with more values holds names, not slices


def usable(slices: Mapping[str, Sequence[Sequence[str]]]) -> dict[str, list[str]]:
    """Returns the values, sorted, of every slice that has two or more and at most SLICED."""
    found = {name: sorted({value for row in rows for value in row}, key=natural) for name, rows in slices.items()}
    return {name: values for name, values in found.items() if 2 <= len(values) <= SLICED}


def natural(value: str) -> tuple[bool, float, str]:
    """Sort key: numbers by value, "up to 3" before and "over 9" after the numbers of that size."""
    words = value.split()
    number = next((float(word) for word in words if word.replace(".", "", 1).isdigit()), None)
    return number is None, (number or 0.0) + (value.startswith("over ")) - 0.5 * value.startswith("up to "), value


def compare_slices(
    later: Mapping[str, Array],
    earlier: Mapping[str, Array],
    slices: Mapping[str, Sequence[Sequence[str]]],
    metrics: Sequence[str],
    seeds: Sequence[int],
    clusters: Sequence[int] | None = None,
    draws: int = DRAWS,
) -> list[dict[str, Any]]:
    """Returns a row per slice, value and metric, from scores[metric] of shape (seeds, prompts). A row is an entry of
    results.json's `difference` with slice, value, metric, `p` and `holm` (None for fewer than two prompts); its verdict
    over prompts follows `holm`. seeds: of independent runs.
    """
    rows = []
    for name, values in usable(slices).items():
        for value in values:
            chosen = np.array([value in row for row in slices[name]])
            for metric in metrics:
                a, b = later[metric][:, chosen], earlier[metric][:, chosen]
                own = None if clusters is None else np.asarray(clusters)[chosen]
                entry = asdict(paired_difference(a, b, seeds, draws, own))
                if entry["counted"]:
                    what = {"slice": name, "value": value, "metric": metric}
                    sums, _ = in_clusters(differences(a, b), own)
                    rows.append(what | entry | {"p": sign_flips(sums, draws)})
    tested = [row for row in rows if row["p"] is not None]
    for row, adjusted in zip(tested, holm([row["p"] for row in tested]), strict=True):
        row["holm"] = adjusted
    return [row | {"holm": row.get("holm")} | judge_pair(row, row["metric"]) for row in rows]


def sign_flips(per_prompt: Array, draws: int = DRAWS) -> float | None:
    """Returns the two-sided p-value of a mean of 0 when every difference may flip its sign. It is exact for few prompts
    and takes `draws` of the flips for many. None for fewer than two prompts.
    """
    if len(per_prompt) < 2:
        return None
    test = permutation_test(
        (per_prompt,),
        lambda values, axis: np.mean(values, axis=axis),
        permutation_type="samples",
        n_resamples=draws,
        batch=500,
        rng=np.random.default_rng(0),
    )
    return float(min(test.pvalue, 1.0))
