"""HarmonicEval's equations, computed by hand."""

import math
from typing import Any

import pytest
from hypothesis import given, strategies as st

from spanreward.rewards.harmonic import aggregate, scores
from spanreward.rewards.harmonic.scores import (
    harmonic_weights,
    mean_rating,
    overall_rating,
    rating_deviation,
    rating_distribution,
)

CERTAIN_FIVE = (0, 0, 0, 0, 1)
HALVES = (0, 0, 0, 0.5, 0.5)  # mean 4.5, std 0.5
WIDE = (0.5, 0, 0, 0, 0.5)  # mean 3, std 2
TILTED = (0.1, 0, 0.2, 0.3, 0.4)  # mean 3.9, variance 0.841 + 0.162 + 0.003 + 0.484 = 1.49

rows = st.lists(st.floats(0, 1), min_size=5, max_size=5).filter(lambda row: sum(row) > 0.01)
distributions = rows.map(lambda row: [p / sum(row) for p in row])


def test_smoothed_score_and_standard_deviation() -> None:
    """Equations 1 and 4."""
    found = aggregate({"a": TILTED, "b": HALVES, "c": WIDE, "d": CERTAIN_FIVE}, gamma=1)
    assert found.means == pytest.approx({"a": 3.9, "b": 4.5, "c": 3.0, "d": 5.0})
    assert found.stds == pytest.approx({"a": math.sqrt(1.49), "b": 0.5, "c": 2.0, "d": 0.0})


@pytest.mark.parametrize(("gamma", "weight"), [
    (1, 1 / 2),  # sigma^(-2/3): 0.5 and 2
    # inverse variance
    (0.75, 2 ** (2 / 3) / (2 ** (2 / 3) + 2 ** (-2 / 3))), (0.5, 4 / (4 + 1 / 4)),
    (0.01, 1.0),  # 4^198 to 1
])  # fmt: skip
def test_weights_by_hand(gamma: float, weight: Any) -> None:
    """Equations 2 and 3 for standard deviations of 0.5 and 2."""
    found = aggregate({"b": HALVES, "c": WIDE}, gamma)
    assert found.weights == pytest.approx({"b": weight, "c": 1 - weight})
    assert found.overall == pytest.approx(4.5 * weight + 3 * (1 - weight))


def test_gamma_of_a_hundredth_selects_and_does_not_overflow() -> None:
    found = aggregate({"sure": (0, 1, 0, 0, 0), "b": HALVES, "c": WIDE}, 0.01)
    assert found.weights == {"sure": 1.0, "b": 0.0, "c": 0.0}
    assert found.overall == 2.0
    # the exponent is -198: (1.05 / 0.95)^198 is 4e8, (1.001 / 0.999)^198 only 1.486
    close = harmonic_weights({"a": 0.999, "b": 1.001}, 0.01)
    assert close["a"] / close["b"] == pytest.approx((1.001 / 0.999) ** 198)


def test_a_standard_deviation_of_zero_counts_as_the_floor() -> None:
    one = aggregate({"sure": CERTAIN_FIVE, "b": HALVES}, 0.5, sigma_floor=0.1)
    assert one.weights == pytest.approx({"sure": 100 / 104, "b": 4 / 104})
    assert one.stds["sure"] == 0.0
    # below what distinguishes ratings
    almost = rating_deviation((0, 0, 0, 1e-6, 1 - 1e-6), 5 - 1e-6)
    assert almost == pytest.approx(scores.SIGMA_FLOOR, rel=1e-5)


@pytest.mark.parametrize("gamma", [0.01, 0.5, 0.75, 1])
def test_sure_ratings_weigh_alike(gamma: float) -> None:
    sure = {"a": CERTAIN_FIVE, "b": (0, 1, 0, 0, 0), "c": (0, 0, 0, 1, 0)}
    found = aggregate(sure, gamma)
    assert found.weights == pytest.approx(dict.fromkeys("abc", 1 / 3))
    assert found.overall == pytest.approx(11 / 3)
    assert aggregate({"a": CERTAIN_FIVE}, gamma).weights == {"a": 1.0}


def test_without_smoothing_the_most_probable_rating_is_the_score() -> None:
    found = aggregate({"a": TILTED, "b": HALVES}, 0.5, smooth=False)
    assert found.means == {"a": 5.0, "b": 4.0}
    assert found.weights == aggregate({"a": TILTED, "b": HALVES}, 0.5).weights
    assert found.overall == pytest.approx((5 / 1.49 + 4 * 4) / (1 / 1.49 + 4))


def test_two_wrong_criteria_beside_three_sure_ones() -> None:
    """4.4 of 5 by default, 3.8 when all weigh alike; the variances are 1 and 0.05 * 0.95."""
    wrong, sure = (0.4, 0.3, 0.2, 0.1, 0), (0, 0, 0, 0.05, 0.95)
    texts = dict.fromkeys(("correctness", "completeness"), wrong)
    texts |= dict.fromkeys(("clarity", "fluency", "conciseness"), sure)
    weight = 0.0475 ** (-1 / 3)  # 2.76 to 1
    expected = (2 * 2 + 3 * 4.95 * weight) / (2 + 3 * weight)
    assert expected == pytest.approx(4.38, abs=0.005)
    assert aggregate(texts, 0.75).overall == pytest.approx(expected)
    assert aggregate(texts, 1).overall == pytest.approx((2 * 2 + 3 * 4.95) / 5)


def test_overall_can_fall_as_one_score_rises() -> None:
    """The lower criterion becomes better, and surer still: it gains weight."""
    before = aggregate({"low": WIDE, "high": HALVES}, 0.5)  # 3.0 with sigma 2, 4.5 with sigma 0.5
    after = aggregate({"low": (0, 0, 0.9, 0.1, 0), "high": HALVES}, 0.5)  # 3.1 with sigma 0.3
    assert after.means["low"] > before.means["low"]
    assert before.overall == pytest.approx((3 / 4 + 4.5 * 4) / (1 / 4 + 4))  # 4.41
    assert after.overall == pytest.approx((3.1 / 0.09 + 4.5 * 4) / (1 / 0.09 + 4))  # 3.47
    assert after.overall < before.overall


NAMED = st.dictionaries(st.text(min_size=1, max_size=3), distributions, min_size=1, max_size=6)


@given(NAMED, st.floats(0.01, 1))
def test_weights_sum_to_one_and_overall_is_a_mean(tables: Any, gamma: Any) -> None:
    found = aggregate(tables, gamma)
    assert math.fsum(found.weights.values()) == pytest.approx(1)
    assert all(0 <= weight <= 1 for weight in found.weights.values())
    assert min(found.means.values()) - 1e-9 <= found.overall <= max(found.means.values()) + 1e-9
    assert 1 <= found.overall <= 5


@given(st.permutations("abcdef"), st.tuples(*[distributions] * 6), st.floats(0.01, 1))
def test_the_order_of_criteria_does_not_matter(names: list[str], tables: Any, gamma: Any) -> None:
    ordered = dict(zip("abcdef", tables, strict=True))
    assert aggregate(ordered, gamma) == aggregate({name: ordered[name] for name in names}, gamma)


RATED = st.lists(st.tuples(st.floats(1, 5), st.floats(0.01, 1)), min_size=1, max_size=5)


@given(RATED, st.integers(0, 4), st.floats(0.001, 1))
def test_monotone_in_each_score_at_fixed_weights(rated: Any, which: Any, more: Any) -> None:
    total = sum(weight for _, weight in rated)
    weights = {str(n): weight / total for n, (_, weight) in enumerate(rated)}
    means = {str(n): value for n, (value, _) in enumerate(rated)}
    raised = str(which % len(rated))
    better = {**means, raised: min(means[raised] + more, 5.0)}
    assert overall_rating(better, weights) >= overall_rating(means, weights)
    if better[raised] > means[raised] + 1e-6:
        assert overall_rating(better, weights) > overall_rating(means, weights)


def test_probabilities_by_rating_or_in_order() -> None:
    for probabilities in ({"5": 0.5, "4": 0.5}, {5: 0.5, 4: 0.5}):
        assert rating_distribution(probabilities, "a") == HALVES
    rounded = rating_distribution([0.0, 0.0, 0.0, 0.5005, 0.4999], "a")
    assert mean_rating(rounded) == pytest.approx(4.4997, abs=1e-4)


@pytest.mark.parametrize(("tables", "told"), [
    ({}, "at least one"), ({"fluency": [0.5, 0.1, 0, 0, 0]}, "sum to 1"),
    ({"fluency": [1.5, -0.5, 0, 0, 0]}, "at least 0"),
    ({"fluency": [math.nan, 0, 0, 0, 1]}, "at least 0"),
])  # fmt: skip
def test_what_is_no_distribution(tables: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        aggregate(tables, 0.75)


@pytest.mark.parametrize("number", [0, -0.1, math.nan, math.inf])
def test_gamma_and_floor_outside_their_range(number: float) -> None:
    for gamma in (number, 1.01):
        with pytest.raises(ValueError, match="gamma"):
            aggregate({"a": HALVES}, gamma)
    with pytest.raises(ValueError, match="sigma_floor"):
        aggregate({"a": HALVES}, 0.5, sigma_floor=number)
