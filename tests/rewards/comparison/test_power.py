"""How many prompts a difference needs: against known tables, against simulation, and back again."""

import numpy as np
import pytest
from scipy import stats

from spanreward.rewards.comparison.crossed import crossed
from spanreward.rewards.comparison.power import Spreads, findable, needed, needed_with, power, power_with, spreads_of


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


def test_prompts_and_seeds_together_by_simulation() -> None:
    """Of 600 comparisons planned for 80 %, 76 to 84 % find the difference, by the interval that decides."""
    spreads, rng = Spreads(prompts=0.04, seeds=0.0004, rest=0.02), np.random.default_rng(0)
    count = needed_with(spreads, 0.05, seeds=5)
    assert count is not None
    assert power_with(spreads, 0.05, 5, count) >= 0.8 > power_with(spreads, 0.05, 5, count - 1)
    found = 0
    for _ in range(600):
        drawn = (
            0.05 + rng.normal(0, 0.02, (5, 1)) + rng.normal(0, 0.2, (1, count)) + rng.normal(0, 0.02**0.5, (5, count))
        )
        interval = crossed(drawn)
        assert interval is not None
        found += interval.low > 0
    assert found / 600 == pytest.approx(0.8, abs=0.04)
    assert needed_with(spreads, 0.01, seeds=3) is None  # no number of prompts makes up for three seeds
    again = spreads_of(rng.normal(0, 0.1, (6, 1)) + rng.normal(0, 0.2, (1, 4000)) + rng.normal(0, 0.3, (6, 4000)))
    assert (again.prompts, again.rest) == (pytest.approx(0.04, rel=0.1), pytest.approx(0.09, rel=0.05))
    assert needed(0.001, 1.0) == 6  # fewer decide nothing


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"must be above 0, got 0\.2 and 0"):
        needed(0.2, 0)
    with pytest.raises(ValueError, match="more than 10,000,000 would be needed"):
        needed(1.0, 1e-5)
    with pytest.raises(ValueError, match=r"two or more, got 0\.2 and 1"):
        findable(0.2, 1)
