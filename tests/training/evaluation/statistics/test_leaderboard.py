"""Models ranked, with ties."""

from typing import Any

import numpy as np

from spanreward.training.evaluation.statistics.comparison import leaderboard
from spanreward.training.evaluation.statistics.estimates import estimate_of


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
