"""How many prompts a difference needs: against known tables, against simulation, and back again."""

import numpy as np
import pytest
from scipy import stats

from spanreward.rewards.comparison.power import findable, needed, power


@pytest.mark.parametrize(("effect", "count"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_the_usual_effects_need_what_tables_say(effect: float, count: int) -> None:
    """Paired t test, two-sided, 5 %, power 80 %: Cohen's small, medium and large effects (G*Power's figures)."""
    assert needed(1.0, effect) == count
    assert needed(0.1, 0.1 * effect) == count
    assert power(1.0, effect, count) >= 0.8 > power(1.0, effect, count - 1)


def test_power_by_simulation() -> None:
    drawn = np.random.default_rng(0).normal(0.3, 1.0, (4000, 60))
    low = drawn.mean(1) - stats.t.ppf(0.975, 59) * stats.sem(drawn, axis=1)
    assert np.mean(low > 0) == pytest.approx(power(1.0, 0.3, 60), abs=0.02)


def test_what_is_findable_is_found() -> None:
    for count in (3, 10, 256, 5000):
        assert power(0.3, findable(0.3, count), count) == pytest.approx(0.8, abs=1e-6)


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"must be above 0, got 0\.2 and 0"):
        needed(0.2, 0)
    with pytest.raises(ValueError, match="more than 10,000,000 would be needed"):
        needed(1.0, 1e-5)
    with pytest.raises(ValueError, match=r"two or more, got 0\.2 and 1"):
        findable(0.2, 1)
