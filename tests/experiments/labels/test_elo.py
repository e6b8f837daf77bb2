"""Elo ratings: the formula's over the same resamples, and by hand."""

import numpy as np

from experiments.labels.elo import median_elo
from spanreward.rewards.comparison.ratings import Pair
from tests.support.elo import elo_by_the_formula


def test_elo_is_the_formula_s_over_the_same_resamples() -> None:
    generator = np.random.default_rng(3)
    strengths = {"a": 0.8, "b": 0.6, "c": 0.5, "d": 0.2}
    pairs = []
    for _ in range(60):
        one, other = generator.choice(list(strengths), size=2, replace=False).tolist()
        tie = generator.random() < 0.2
        outcome = 0 if tie else 1 if generator.random() < strengths[one] else -1
        pairs.append((one, other, outcome))
    pairs.append(("a", "seldom", 1))  # about a third of the resamples lack it
    expected = elo_by_the_formula(pairs)
    assert len(set(expected.values())) > 3
    assert median_elo([Pair(*pair) for pair in pairs]) == expected


def test_elo_of_two_battles_by_hand() -> None:
    """k 32; a wins both: 1000 + 16 + 32 (1 - 1 / (1 + 10^(-32/400)))."""
    found = median_elo([Pair("a", "b", 1), Pair("b", "a", -1)], k=32)
    assert found == {"a": 1031.0, "b": 969.0}  # 1030.53 and 969.47


def test_nobody_has_no_rating() -> None:
    assert median_elo([]) == {}
