"""A comparison that stops by itself: seldom wrong whenever it stops, and early where a difference is plain."""

from collections.abc import Iterator

import numpy as np
import pytest

from experiments.agreement.votes import read_votes
from spanreward.rewards.comparison.resampling import Array
from spanreward.rewards.comparison.until_decided import STAKES, Decision, decide
from tests.support.paths import DATA

SETS = ("wildvision_bench", "mllm_bench", "iiw_votes")


def test_by_hand() -> None:
    """After n prompts that ours wins outright the mean capital is mean((1 + stake) ** n), and 40 are wanted."""
    count = next(n for n in range(1, 99) if ((1 + STAKES) ** n).mean() >= 40)
    assert decide([1.0] * 99) == Decision(1, count)
    assert decide([-1.0] * 99) == Decision(-1, count)
    assert count == 8


def test_what_comes_after_the_decision_changes_nothing() -> None:
    assert decide([1.0] * 8 + [-1.0] * 500) == Decision(1, 8)


def test_ties_and_failures_decide_nothing() -> None:
    assert decide([0.0, None, 0.0, None]) == Decision(None, 2)
    assert decide([]) == Decision(None, 0)


def test_a_difference_outside_the_bounds_is_refused() -> None:
    with pytest.raises(ValueError, match=r"lies in \[-1, 1\], got -1.5"):
        decide([0.2, -1.5])


@pytest.mark.parametrize(
    "values",
    [[-1.0, 1.0], [-1.0, 0.0, 0.0, 1.0], [-1.0, *[0.1] * 10], [-0.05, 0.05]],
    ids=["coin", "ties", "skew", "small"],
)
def test_without_a_difference_it_seldom_decides(values: list[float]) -> None:
    generator = np.random.default_rng(0)
    decided = [decide(generator.choice(values, 1000)).side is not None for _ in range(400)]
    assert np.mean(decided) <= 0.05


def real_comparisons() -> Iterator[Array]:
    """Per model of the sets with votes, what was voted on each prompt: better 1, worse -1."""
    for name in SETS:
        for battles in read_votes(DATA / name).by_model().values():
            levels = {battle.prompt: [vote.level for vote in battle.votes] for battle in battles}
            read = [np.sign([level for level in of if level is not None]) for of in levels.values() if None not in of]
            outcomes = np.array([signs.mean() for signs in read])
            if outcomes.any():
                yield outcomes


@pytest.mark.skipif(not all((DATA / name).is_dir() for name in SETS), reason="the sets with votes are not here")
def test_on_real_votes_it_stops_early_and_on_the_side_of_all_votes() -> None:
    shares, wrong, undecided = [], 0, 0
    for outcomes in real_comparisons():
        for seed in range(5):
            decision = decide(np.random.default_rng(seed).permutation(outcomes))
            shares.append(decision.prompts / len(outcomes))
            undecided += decision.side is None
            wrong += decision.side not in (None, np.sign(outcomes.mean()))
    print(
        f"{len(shares)} replays: median share of prompts {np.median(shares):.2f}, undecided {undecided}, wrong {wrong}"
    )
    assert wrong <= 0.05 * len(shares)
    assert np.median(shares) < 0.5
