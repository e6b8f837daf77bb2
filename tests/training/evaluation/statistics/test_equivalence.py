"""Models that are shown to be alike."""

import numpy as np
import pytest
from scipy import stats

from spanreward.rewards.comparison.crossed import crossed, equivalence
from spanreward.training.evaluation.statistics.estimates import Difference
from spanreward.training.evaluation.statistics.outcomes import equivalences


def test_two_one_sided_tests_are_scipys() -> None:
    values = np.random.default_rng(0).normal(0.01, 0.1, 200)
    found = crossed(values[None])
    assert found is not None
    lower = stats.ttest_1samp(values, -0.05, alternative="greater").pvalue
    upper = stats.ttest_1samp(values, 0.05, alternative="less").pvalue
    assert equivalence(found.mean, found.error, found.freedom, 0.05) == pytest.approx(max(lower, upper))


@pytest.mark.parametrize(("worst", "holds"), [(None, True), ([-0.02, 0.02], True), ([-0.2, 0.02], False)])
def test_failed_judgments_may_forbid_equivalence(worst: list[float] | None, holds: bool) -> None:
    found = Difference(0.001, None, None, [], error=0.005, freedom=50.0, counted=50, worst_case=worst)
    told = equivalences({"f1": found}, 0.05)["f1"]
    assert told.holds is holds
    assert told.p < 0.001
