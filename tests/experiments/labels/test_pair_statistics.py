"""Preferences by hand: ties tuned to people's, and pairs out of a choice of the best."""

from collections.abc import Sequence
from math import inf, isnan

import pytest
from hypothesis import given, strategies as st

from experiments.labels.pair_statistics import (
    best_against_others,
    predicted_signs,
    three_way_accuracy,
    tie_threshold,
)


def accuracy_by_the_formula(pairs: Sequence[tuple[float, int]]) -> float:
    """PoSh's protocol, pair by pair. T is the element of the ascending absolute differences whose
    index is the number of people's ties, and no pair is decided where there is none; a difference
    of T or more decides."""
    ties = [preference for _, preference in pairs].count(0)
    ascending = sorted(abs(difference) for difference, _ in pairs)
    threshold = ascending[ties] if ties < len(ascending) else inf
    right = 0
    for difference, preference in pairs:
        said = 1 if difference >= threshold else -1 if -difference >= threshold else 0
        right += said == (preference > 0) - (preference < 0)
    return right / len(pairs)


DISCRETE = st.integers(-4, 4).map(lambda number: number / 4)


@given(st.lists(st.tuples(DISCRETE | st.floats(-1, 1), st.integers(-2, 2)), min_size=1))
def test_accuracy_is_the_formula_s(pairs: list[tuple[float, int]]) -> None:
    found = three_way_accuracy([one for one, _ in pairs], [other for _, other in pairs])
    assert found == accuracy_by_the_formula(pairs)


def test_as_many_pairs_are_undecided_as_people_see_ties() -> None:
    differences = [0.1, -0.02, 0.4, 0.3]
    assert [tie_threshold(differences, ties) for ties in range(5)] == [0.02, 0.1, 0.3, 0.4, inf]
    for ties in range(5):
        assert list(predicted_signs(differences, ties)).count(0) == ties


def test_equal_sizes_at_the_threshold_are_all_decided() -> None:
    """People call one of three a tie; the threshold is .25, and no pair is a tie."""
    assert list(predicted_signs([0.25, -0.25, 0.5], 1)) == [1, -1, 1]


def test_a_threshold_of_zero_prefers_the_first_of_equals() -> None:
    assert list(predicted_signs([0.0, 0.0, -0.5], 1)) == [1, 1, -1]


def test_accuracy_by_hand() -> None:
    # one of four is a tie to people: -.02 is the tie, which is right; .3 against a preference of
    # the second is wrong
    assert three_way_accuracy([0.1, -0.02, 0.4, 0.3], [1, 0, 2, -1]) == 0.75
    assert isnan(three_way_accuracy([], []))
    with pytest.raises(ValueError, match="got 1 differences and 2 preferences"):
        three_way_accuracy([1.0], [1, 2])


@given(st.lists(st.tuples(st.floats(0.01, 1), st.booleans(), st.integers(-2, 2)), min_size=1))
def test_the_order_of_two_texts_does_not_matter(pairs: list[tuple[float, bool, int]]) -> None:
    there = [(size if first else -size, preference) for size, first, preference in pairs]
    back = [(-difference, -preference) for difference, preference in there]
    of = [three_way_accuracy([d for d, _ in one], [p for _, p in one]) for one in (there, back)]
    assert of[0] == of[1]


def test_pairs_of_the_best() -> None:
    assert best_against_others([0.2, 0.9, 0.5], best=1) == [(0.9, 0.2), (0.9, 0.5)]
