"""Length: what a judge that only looks at it gets, and what is refused."""

import numpy as np
import pytest

from spanreward.rewards.comparison.length import control_length


def lengths(rng: np.random.Generator, count: int, longer: float) -> tuple[np.ndarray, np.ndarray]:
    """Words of ours, longer by this much on the log scale, and of the other."""
    ours = np.round(np.exp(rng.normal(4.3 + longer, 0.6, count))) + 1
    return ours, np.round(np.exp(rng.normal(4.3, 0.6, count))) + 1


@pytest.mark.parametrize("longer", [0.0, 0.3, 0.8])
def test_a_planted_length_only_preference_comes_out_as_half(longer: float) -> None:
    ours, other = lengths(np.random.default_rng(0), 500, longer)
    won = np.where(ours == other, 0.5, ours > other)
    found = control_length(won, np.stack([ours, other], axis=1))
    assert found.controlled == pytest.approx(0.5, abs=0.03)
    assert found.note == ""
    if longer:
        assert found.raw > 0.6
        assert found.raw_interval.low > 0.55


@pytest.mark.parametrize("skill", [0.5, 0.65])
def test_skill_is_told_from_length_and_the_interval_covers(skill: float) -> None:
    """The judge likes length; the model wins at equal length with chance `skill`, and is longer."""
    rng = np.random.default_rng(1)
    covered = 0
    controlled, raw = [], []
    for _ in range(600):
        ours, other = lengths(rng, 300, 0.3)
        chance = 1 / (1 + np.exp(-2 * np.log(ours / other)) * (1 - skill) / skill)
        found = control_length(rng.random(300) < chance, np.stack([ours, other], axis=1))
        covered += found.controlled_interval.low <= skill <= found.controlled_interval.high
        controlled.append(found.controlled)
        raw.append(found.raw)
    assert np.mean(controlled) == pytest.approx(skill, abs=0.02)
    assert np.mean(raw) > skill + 0.03
    assert 0.93 * 600 <= covered <= 0.97 * 600


def test_it_refuses_to_extrapolate() -> None:
    ours = np.arange(100, 200)
    found = control_length([1.0] * 100, np.stack([ours, ours - 80], axis=1))
    assert (found.controlled, found.longer) == (None, 1.0)
    assert found.raw == 1.0
    assert "100 of 100 pairs" in found.note


def test_votes_of_one_prompt_are_one() -> None:
    """The same pairs twice say nothing more: the intervals are those of half as many."""
    rng = np.random.default_rng(2)
    ours, other = lengths(rng, 100, 0.0)
    won = (rng.random(100) < 0.6) * 1.0
    pairs = np.stack([ours, other], axis=1)
    once = control_length(won, pairs)
    twice = control_length(np.tile(won, 2), np.tile(pairs, (2, 1)), [*range(100), *range(100)])
    for name in ("raw_interval", "controlled_interval"):
        one, two = getattr(once, name), getattr(twice, name)
        assert two.high - two.low == pytest.approx(one.high - one.low, rel=0.03)


def test_relabelling_mirrors_every_rate() -> None:
    rng = np.random.default_rng(3)
    ours, other = lengths(rng, 200, 0.3)
    won = (rng.random(200) < 0.6) * 1.0
    one = control_length(won, np.stack([ours, other], axis=1))
    two = control_length(1 - won, np.stack([other, ours], axis=1))
    for name in ("raw", "controlled", "longer"):
        assert getattr(one, name) == pytest.approx(1 - getattr(two, name), abs=1e-6)
