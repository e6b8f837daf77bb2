"""LAVE's quality of five votes, and its comparison of two correlations."""

import numpy as np
import pytest

from rewards.agreement.correlation_test import compare_correlations, quality_of_votes
from rewards.agreement.statistics import kendall_tau_b, spearman


@pytest.mark.parametrize(("right", "quality"), [(0, 0.0), (1, 0.0), (2, 0.5), (3, 0.5), (4, 1.0), (5, 1.0)])
def test_quality_is_what_the_paper_makes_of_five_votes(right: int, quality: float) -> None:
    assert quality_of_votes([1] * right + [0] * (5 - right)) == quality


@pytest.mark.parametrize("votes", [[1, 1, 1, 1], [1, 1, 1, 1, 0.5]])
def test_votes_that_are_none(votes: list[float]) -> None:
    with pytest.raises(ValueError, match="made of five votes of 0 or 1, got"):
        quality_of_votes(votes)


def test_correlations_by_hand() -> None:
    assert spearman([1, 2, 3, 4], [1, 2, 4, 3]) == pytest.approx(1 - 6 * 2 / (4 * 15))
    # 3 concordant, 2 discordant, one of 6 pairs tied in the second
    assert kendall_tau_b([1, 2, 3, 4], [1, 2, 2, 1.5]) == pytest.approx((3 - 2) / (6 * 5) ** 0.5)
    assert np.isnan(spearman([1, 1], [1, 2]))
    assert np.isnan(kendall_tau_b([1, 2], [1, 1]))


def test_a_better_metric_is_told_from_a_worse_one() -> None:
    people = [0.0, 0.5, 1.0] * 20
    worse = [score if n % 3 else 1 - score for n, score in enumerate(people)]
    groups = [str(n) for n in range(60)]
    test = compare_correlations(people, people, worse, groups, spearman, resamples=200)
    assert test.difference == pytest.approx(1 - spearman(worse, people))
    assert 0 < test.interval.low <= test.difference <= test.interval.high
    assert test.p < 0.05
    assert test.resamples == 200


def test_equal_metrics_are_not_apart() -> None:
    people = [0.0, 0.5, 1.0, 0.0, 1.0]
    test = compare_correlations(people, people, people, list("abcde"), spearman, resamples=50)
    assert (test.difference, test.interval.low, test.interval.high) == (0.0, 0.0, 0.0)
    assert np.isnan(test.p)


def test_rows_of_one_question_are_drawn_together() -> None:
    """One group only: every resample is the data, and there is no interval."""
    test = compare_correlations([0, 1, 0.5], [0, 1, 0.5], [1, 0, 0.5], ["a"] * 3, spearman, resamples=5)
    assert (test.difference, test.interval) == (2.0, None)
    with pytest.raises(ValueError, match="got 1, 2 and 1 values and 1 groups"):
        compare_correlations([0], [0, 1], [1], ["a"], spearman)
