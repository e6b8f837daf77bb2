"""Preferences by hand: ties tuned to people's, and pairs out of a choice of the best."""

from math import isnan

import pytest
from hypothesis import given, strategies as st

from spanreward.rewards.labels.pair_statistics import best_against_others, three_way_accuracy, tie_threshold


def test_the_threshold_makes_as_many_ties_as_people_see() -> None:
    differences = [0.1, -0.02, 0.4, 0.3]
    assert tie_threshold(differences, gold_ties=0.25) == 0.02
    assert tie_threshold(differences, gold_ties=0.5) == 0.1
    assert tie_threshold(differences, gold_ties=0.0) == 0.0
    assert tie_threshold(differences, gold_ties=1.0) == 0.4


def test_equal_scores_are_always_a_tie() -> None:
    assert tie_threshold([0.0, 0.0, 0.5], gold_ties=0.0) == 0.0
    assert three_way_accuracy([0.0, 0.0, 0.5], [1, -1, 1]) == pytest.approx(1 / 3)


def test_of_two_thresholds_that_are_as_near_the_smaller() -> None:
    assert tie_threshold([0.1, 0.2], gold_ties=0.25) == 0.0  # shares 0, .5 and 1


def test_accuracy_by_hand() -> None:
    # one of four is a tie to people: -.02 is the tie, which is right; .3 against a preference of the second is wrong
    assert three_way_accuracy([0.1, -0.02, 0.4, 0.3], [1, 0, 2, -1]) == 0.75
    assert isnan(three_way_accuracy([], []))
    with pytest.raises(ValueError, match="got 1 differences and 2 preferences"):
        three_way_accuracy([1.0], [1, 2])


@given(st.lists(st.tuples(st.floats(-1, 1), st.integers(-2, 2)), min_size=1))
def test_the_order_of_two_texts_does_not_matter(pairs: list[tuple[float, int]]) -> None:
    there = three_way_accuracy([d for d, _ in pairs], [p for _, p in pairs])
    back = three_way_accuracy([-d for d, _ in pairs], [-p for _, p in pairs])
    assert there == back


def test_pairs_of_the_best() -> None:
    assert best_against_others([0.2, 0.9, 0.5], best=1) == [(0.9, 0.2), (0.9, 0.5)]
