"""Models ranked, with ties, and win rates beside length."""

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from spanreward.training.evaluation.statistics.comparison import leaderboard
from spanreward.training.evaluation.statistics.estimates import estimate_of
from spanreward.training.evaluation.statistics.pairs import win_rate

NAN = float("nan")


def ranked(scores: Any) -> Any:
    means = {model: estimate_of(values, resamples=200) for model, values in scores.items()}
    return leaderboard({model: np.asarray(values) for model, values in scores.items()}, means)


def test_who_cannot_be_told_apart_shares_a_rank() -> None:
    rng = np.random.default_rng(0)
    prompts = rng.uniform(0.3, 0.6, (1, 100))
    gains = {"low": 0, "high": 0.2, "too": 0.2}
    scores = {name: prompts + gain + rng.normal(0, 0.05, (1, 100)) for name, gain in gains.items()}
    board = ranked(scores)
    found = {row.model: (row.rank, row.tied) for row in board}
    assert found == {"high": (1, ["too"]), "too": (1, ["high"]), "low": (3, [])}
    means = [row.mean.mean for row in board]
    assert means == sorted(means, reverse=True)
    assert all(row.mean.low <= row.mean.mean <= row.mean.high for row in board)


def test_one_prompt_ties_all_and_no_score_has_no_rank() -> None:
    board = ranked({"a": [[0.1]], "b": [[0.9]], "c": [[np.nan]]})
    found = [(row.model, row.rank, row.tied) for row in board]
    assert found == [("b", 1, ["a"]), ("a", 1, ["b"]), ("c", None, [])]


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
