"""Isotonic calibration of a judge's ratings: by hand, and never in sample."""

import numpy as np
import pytest

from experiments.agreement.calibration import FOLDS, fit, held_out, mean_error


def test_a_curve_by_hand() -> None:
    curve = fit([1, 2, 2, 3, 4], [1, 2, 4, 2, 5])
    # 2 and 3 are pooled: (2 + 4 + 2) / 3
    assert curve([1, 2, 3, 4]) == pytest.approx([1, 8 / 3, 8 / 3, 5])
    assert curve([0, 3.5, 9]) == pytest.approx([1, (8 / 3 + 5) / 2, 5])
    assert fit([2.0], [3.0])([1, 2, 5]) == [3, 3, 3]
    with pytest.raises(ValueError, match=r"people's ratings .* got 1"):
        fit([1, 2], [1])


def planted(count: int, told: bool, seed: int = 1) -> tuple[list[float], list[float], list[str]]:
    """A judge that is lenient and monotone, or knows nothing; people's ratings from 1 to 5."""
    draw = np.random.default_rng(seed)
    people = draw.integers(1, 6, count).astype(float)
    ratings = 4 + people / 5 if told else draw.uniform(1, 5, count)
    return ratings.tolist(), people.tolist(), [f"r{number // 2}" for number in range(count)]


def test_a_lenient_judge_is_mended() -> None:
    ratings, people, requests = planted(200, told=True)
    mapped = held_out(ratings, people, requests)
    assert mapped is not None
    assert (mean_error(ratings, people) or 0) > 1.0
    assert mean_error(mapped, people) == pytest.approx(0, abs=1e-9)


def test_a_judge_that_knows_nothing_gains_nothing_on_texts_that_no_curve_saw() -> None:
    inside, outside = [], []
    for seed in range(20):
        ratings, people, requests = planted(200, told=False, seed=seed)
        inside.append(np.corrcoef(fit(ratings, people)(ratings), people)[0, 1])
        outside.append(np.corrcoef(held_out(ratings, people, requests), people)[0, 1])
    assert np.mean(inside) > 0.1  # in sample it would seem to
    assert np.mean(outside) < 0.02


def test_a_requests_texts_share_a_fold_and_order_does_not_matter() -> None:
    ratings, people, requests = planted(60, told=False)
    mapped = held_out(ratings, people, requests) or []
    turned = held_out(ratings[::-1], people[::-1], requests[::-1]) or []
    assert turned[::-1] == pytest.approx(mapped)
    own = [number for number, request in enumerate(requests) if request == "r3"]
    for number in own:
        people[number] = 5.0 - people[number]
    again = held_out(ratings, people, requests) or []
    # its labels do not reach it
    assert [again[number] for number in own] == [mapped[number] for number in own]
    few = [str(number % (FOLDS - 1)) for number in range(8)]
    assert held_out([1.0] * 8, [1.0] * 8, few) is None
    assert mean_error([], []) is None
