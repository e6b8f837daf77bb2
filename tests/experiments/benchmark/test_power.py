"""How many prompts and seeds a difference needs: against known tables, and against simulation."""

import numpy as np
import pytest

from experiments.benchmark.power import FEWEST, Spreads, needed, power, spreads_of
from spanreward.rewards.comparison.crossed import crossed_estimate


@pytest.mark.parametrize(("effect", "count"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_the_usual_effects_need_what_tables_say(effect: float, count: int) -> None:
    """Paired t test, 5 %, power 80 %: Cohen's effects (G*Power's figures), for prompts alone."""
    spreads = Spreads(prompts=1.0, seeds=0.0, rest=0.0)
    assert needed(spreads, effect, seeds=2) == needed(spreads, -effect, seeds=2) == count
    assert power(spreads, effect, 2, count) >= 0.8 > power(spreads, effect, 2, count - 1)


def test_prompts_and_seeds_together_by_simulation() -> None:
    """Of 600 comparisons planned for 80 %, 76 to 84 % find the difference."""
    spreads, rng = Spreads(prompts=0.04, seeds=0.0004, rest=0.02), np.random.default_rng(0)
    count = needed(spreads, 0.05, seeds=5)
    assert count is not None
    assert power(spreads, 0.05, 5, count) >= 0.8 > power(spreads, 0.05, 5, count - 1)
    found = 0
    for _ in range(600):
        drawn = 0.05 + rng.normal(0, 0.02, (5, 1)) + rng.normal(0, 0.2, (1, count))
        drawn += rng.normal(0, 0.02**0.5, (5, count))
        interval = crossed_estimate(drawn)
        assert interval is not None
        found += interval.low > 0
    assert found / 600 == pytest.approx(0.8, abs=0.04)


def test_no_number_of_prompts_makes_up_for_few_seeds() -> None:
    spreads = Spreads(prompts=0.04, seeds=0.0004, rest=0.02)
    assert needed(spreads, 0.01, seeds=3) is None
    assert needed(spreads, 0.0, seeds=10) is None
    assert needed(spreads, 100.0, seeds=3) == FEWEST


def test_variances_are_found_again() -> None:
    rng = np.random.default_rng(1)
    drawn = rng.normal(0, 0.1, (40, 1)) + rng.normal(0, 0.2, (1, 4000))
    drawn += rng.normal(0, 0.3, (40, 4000))
    spreads = spreads_of(drawn)
    assert spreads.prompts == pytest.approx(0.04, rel=0.1)
    assert spreads.seeds == pytest.approx(0.01, rel=0.5)
    assert spreads.rest == pytest.approx(0.09, rel=0.05)
