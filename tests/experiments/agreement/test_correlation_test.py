"""LAVE's comparison of two correlations."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from experiments.agreement.correlation_test import compare_correlations, rows_of, two_spearmans
from experiments.labels.statistics import spearman


def test_a_better_metric_is_told_from_a_worse_one() -> None:
    people = [0.0, 0.5, 1.0] * 20
    worse = [score if n % 3 else 1 - score for n, score in enumerate(people)]
    groups = [str(n) for n in range(60)]
    test = compare_correlations(people, people, worse, groups, resamples=200)
    assert test.difference == pytest.approx(1 - spearman(worse, people))
    assert 0 < test.interval.low <= test.difference <= test.interval.high
    assert test.p < 0.05
    assert test.resamples == 200


def test_equal_metrics_are_not_apart() -> None:
    people = [0.0, 0.5, 1.0, 0.0, 1.0]
    test = compare_correlations(people, people, people, list("abcde"), resamples=50)
    assert (test.difference, test.interval.low, test.interval.high) == (0.0, 0.0, 0.0)
    assert np.isnan(test.p)


@given(st.lists(st.tuples(*[st.sampled_from([0.0, 0.5, 1.0, 2.0])] * 3), min_size=2, max_size=20))
def test_the_quick_spearman_is_scipy_s(rows: list[tuple[float, float, float]]) -> None:
    people, first, second = (list(column) for column in zip(*rows, strict=True))
    quick = two_spearmans(np.asarray([people, first, second]))
    slow = (spearman(first, people), spearman(second, people))
    if not np.isnan(slow).any():
        assert quick == pytest.approx(slow)
    else:
        assert np.isnan(quick).all()


def test_the_rows_of_groups() -> None:
    """Groups of rows 0-1, 2 and 3-5, of which the last is drawn twice."""
    assert rows_of(np.array([3, 0, 3]), np.array([3, 2, 3])).tolist() == [3, 4, 5, 0, 1, 3, 4, 5]


def test_rows_of_one_question_are_drawn_together() -> None:
    """One group only: every resample is the data, and there is no interval."""
    test = compare_correlations([0, 1, 0.5], [0, 1, 0.5], [1, 0, 0.5], ["a"] * 3, resamples=5)
    assert (test.difference, test.interval) == (pytest.approx(2.0), None)
    with pytest.raises(ValueError, match="got 1, 2 and 1 values and 1 groups"):
        compare_correlations([0], [0, 1], [1], ["a"])
