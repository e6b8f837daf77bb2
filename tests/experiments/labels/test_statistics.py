"""Correlations by hand, and LAVE's quality of five votes."""

import numpy as np
import pytest

from experiments.labels.measures import quality_of_votes
from experiments.labels.statistics import kendall_tau_b, spearman


@pytest.mark.parametrize(
    ("right", "quality"), [(0, 0.0), (1, 0.0), (2, 0.5), (3, 0.5), (4, 1.0), (5, 1.0)]
)
def test_quality_is_what_the_paper_makes_of_five_votes(right: int, quality: float) -> None:
    assert quality_of_votes([1] * right + [0] * (5 - right)) == quality


@pytest.mark.parametrize("votes", [[1, 1, 1, 1], [1, 1, 1, 1, 0.5]])
def test_votes_that_are_none(votes: list[float]) -> None:
    with pytest.raises(ValueError, match="five votes of 0 or 1, got"):
        quality_of_votes(votes)


def test_correlations_by_hand() -> None:
    assert spearman([1, 2, 3, 4], [1, 2, 4, 3]) == pytest.approx(1 - 6 * 2 / (4 * 15))
    # 3 concordant, 2 discordant, one of 6 pairs tied in the second
    assert kendall_tau_b([1, 2, 3, 4], [1, 2, 2, 1.5]) == pytest.approx((3 - 2) / (6 * 5) ** 0.5)
    assert np.isnan(spearman([1, 1], [1, 2]))
    assert np.isnan(kendall_tau_b([1, 2], [1, 1]))
