"""Statistics of pairs: cases by hand, coverage by simulation, known answers of other methods."""

from math import isclose
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize

from spanreward.rewards.comparison.crossed import holm_adjusted
from spanreward.rewards.comparison.ratings import Pair, bradley_terry
from spanreward.rewards.comparison.resampling import Interval, drawn_places, ratio_interval
from spanreward.rewards.pairwise.votes import first_slot_share, settled_vote


@pytest.mark.parametrize(("first", "second", "settled"), [
    # a failed vote is no tie
    (1, 1, 1), (-1, -1, -1), (0, 0, 0), (1, -1, 0), (-1, 1, 0), (1, 0, 0), (None, 1, None),
    (1, None, None),
])  # fmt: skip
def test_both_orders_settle_a_pair(first: Any, second: Any, settled: Any) -> None:
    assert settled_vote(first, second) == settled


def test_the_first_slot_by_hand() -> None:
    assert first_slot_share([True, True, False, None]) == pytest.approx(2 / 3)
    assert first_slot_share([None]) is None


def test_holm_by_hand() -> None:
    assert holm_adjusted([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm_adjusted([0.9, 0.8]) == [1.0, 1.0]
    assert holm_adjusted([]) == []
    # it finds nothing where nothing is
    p_values = np.random.default_rng(0).uniform(size=(2000, 8))
    assert 0.03 < np.mean([min(holm_adjusted(row)) <= 0.05 for row in p_values.tolist()]) < 0.065


def test_the_same_draws_for_the_same_prompts() -> None:
    places = np.concatenate(list(drawn_places(7, 1001)))
    assert places.shape == (1001, 7)
    assert {*places.ravel()} == {*range(7)}
    assert ratio_interval([0, 1, 1, 0]) == ratio_interval([0, 1, 1, 0])
    interval = ratio_interval([1, 0] * 50)
    assert (interval.low, interval.high) == pytest.approx((0.4, 0.6), abs=0.02)
    assert ratio_interval([1.0]) is ratio_interval([]) is ratio_interval([1, 1], [0, 0]) is None
    assert ratio_interval([1, 1, 1]) == Interval(1.0, 1.0)


def test_intervals_over_prompts_cover_where_those_over_rows_do_not() -> None:
    """Two votes on a prompt that mostly agree pretend to be twice the evidence as rows."""
    rng = np.random.default_rng(3)
    over_prompts = over_rows = 0
    for _ in range(600):
        first = rng.random(80) < 0.6
        second = np.where(rng.random(80) < 0.1, rng.random(80) < 0.6, first)
        by_prompt = ratio_interval((first * 1.0 + second), np.full(80, 2.0), draws=499)
        by_row = ratio_interval(np.concatenate([first, second]) * 1.0, draws=499)
        over_prompts += by_prompt.low <= 0.6 <= by_prompt.high
        over_rows += by_row.low <= 0.6 <= by_row.high
    assert 0.93 <= over_prompts / 600 <= 0.97
    assert over_rows / 600 < 0.87


@pytest.mark.parametrize("prompts", [20, 60])
def test_the_interval_of_a_few_prompts_covers(prompts: int) -> None:
    rng = np.random.default_rng(6)
    values = rng.uniform(size=(1000, prompts)) ** 2  # mean 1/3, skewed
    intervals = [ratio_interval(row, draws=499) for row in values]
    covered = [interval.low <= 1 / 3 <= interval.high for interval in intervals]
    assert 0.93 <= np.mean(covered) <= 0.97


def test_the_interval_of_a_weighted_score_covers() -> None:
    """WildVision's score, a ratio of two sums, of votes with known chances."""
    rng = np.random.default_rng(4)
    numerators, denominators = np.array([3, 1, 0.5, 0, 0]), np.array([3.0, 1, 1, 1, 3])
    chances = np.array([0.2, 0.3, 0.1, 0.25, 0.15])
    truth = (chances @ numerators) / (chances @ denominators)
    hits = 0
    for _ in range(600):
        labels = rng.choice(5, size=150, p=chances)
        interval = ratio_interval(numerators[labels], denominators[labels], draws=499)
        hits += interval.low <= truth <= interval.high
    assert 0.93 <= hits / 600 <= 0.97


def planted(strengths: dict[str, float], count: int) -> list[Pair]:
    rng, names = np.random.default_rng(0), list(strengths)
    pairs = []
    for _ in range(count):
        one, other = rng.choice(names, size=2, replace=False).tolist()
        won = rng.random() < strengths[one] / (strengths[one] + strengths[other])
        pairs.append(Pair(one, other, 1 if won else -1))
    return pairs


def test_bradley_terry_is_the_maximum_of_its_likelihood() -> None:
    pairs = [*planted({"a": 3.0, "b": 1.0, "c": 0.5}, 60), Pair("a", "c", 0), Pair("a", "c", 0)]
    names = ["a", "b", "c"]

    def loss(logs: Any) -> Any:
        total = 0.0
        drawn = [(Pair(name, "average", 0), 0.5) for name in names]
        for pair, weight in [*((pair, 1.0) for pair in pairs), *drawn]:
            of = {**dict(zip(names, logs, strict=True)), "average": 0.0}
            margin = of[pair.one] - of[pair.other]
            share = (1 + pair.outcome) / 2
            total += weight * share * np.log1p(np.exp(-margin))
            total += weight * (1 - share) * np.log1p(np.exp(margin))
        return total

    best = 1 / (1 + np.exp(-minimize(loss, np.zeros(3), tol=1e-12).x))
    assert bradley_terry(pairs) == pytest.approx(dict(zip(names, best, strict=True)), abs=1e-4)


def test_players_that_always_win_and_that_never_met() -> None:
    """evalica alone gives all three the same, in silence."""
    chances = bradley_terry([Pair("a", "b", 1), Pair("a", "c", 1), Pair("b", "c", 1)])
    assert 1 > chances["a"] > chances["b"] > chances["c"] > 0
    chances = bradley_terry([Pair("a", "b", 1), Pair("c", "d", 1)])
    assert chances["a"] == pytest.approx(chances["c"]) == pytest.approx(1 - chances["b"])
    assert bradley_terry([]) == {}


ROWS = st.tuples(st.sampled_from("abcd"), st.sampled_from("efgh"), st.integers(-1, 1))


@settings(deadline=None)  # pandas takes a second the first time
@given(st.lists(ROWS, min_size=1, max_size=12))
def test_verdicts_are_symmetric_under_relabelling(rows: list[tuple[str, str, int]]) -> None:
    as_they_are = bradley_terry([Pair(one, other, outcome) for one, other, outcome in rows])
    swapped = bradley_terry([Pair(other, one, -outcome) for one, other, outcome in rows])
    lost = bradley_terry([Pair(one, other, -outcome) for one, other, outcome in rows])
    for name, chance in as_they_are.items():
        assert isclose(chance, swapped[name], abs_tol=1e-6)
        assert isclose(chance, 1 - lost[name], abs_tol=1e-5)
