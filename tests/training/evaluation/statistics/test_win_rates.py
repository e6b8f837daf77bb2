"""Win rates beside length."""

from dataclasses import asdict

import numpy as np
import pytest

from spanreward.training.evaluation.statistics.pairs import win_rate

NAN = float("nan")


def test_ties_are_half_and_what_failed_is_left_out() -> None:
    later, earlier = np.array([[0.9, 0.5, 0.1, NAN, 0.9]]), np.array([[0.1, 0.5, 0.2, 0.1, NAN]])
    rate = win_rate(later, earlier, np.full((1, 5), 10.0), np.full((1, 5), 10.0))
    assert rate.raw == pytest.approx(0.5)
    assert win_rate(np.full((1, 2), NAN), earlier[:, :2], earlier[:, :2], earlier[:, :2]) is None


def test_the_seeds_of_a_prompt_are_drawn_together() -> None:
    """Three equal seeds say no more than one."""
    rng = np.random.default_rng(0)
    later, earlier = rng.random((1, 60)), rng.random((1, 60))
    words = rng.integers(5, 30, (2, 1, 60)).astype(float)
    once = win_rate(later, earlier, *words)
    thrice = win_rate(*(np.repeat(array, 3, axis=0) for array in (later, earlier, *words)))
    assert asdict(once.raw_interval) == pytest.approx(asdict(thrice.raw_interval))
    assert once.controlled == pytest.approx(thrice.controlled, abs=0.01)
