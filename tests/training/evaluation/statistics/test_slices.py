"""Differences on parts of the prompts, adjusted for how many are looked at."""

import numpy as np
import pytest

from spanreward.rewards.comparison.crossed import holm_adjusted
from spanreward.training.evaluation.statistics.slices import (
    compare_slices,
    sign_flips,
    usable_values,
)


def test_sign_flips_by_hand() -> None:
    # of 2^3 flips of (1, 1, 1) the means 1 and -1 are as far from 0: p = 2/8
    assert sign_flips(np.array([1.0, 1.0, 1.0])) == 0.25
    assert sign_flips(np.zeros(10)) == 1.0
    assert sign_flips(np.array([0.3])) is None
    assert sign_flips(np.full(200, 0.1)) < 0.001


def test_what_is_sliced_has_a_few_values() -> None:
    slices = {
        "one": [("a",)] * 30,
        "ids": [(str(number),) for number in range(30)],
        "objects": [("10",), ("2",), ("1",)] * 10,
        "words": [("over 31",), ("up to 21",), ("22 to 31",)] * 10,
        "several": [("a", "b"), (), ("b",)] * 10,
    }
    assert usable_values(slices) == {
        "objects": ["1", "2", "10"],
        "words": ["up to 21", "22 to 31", "over 31"],
        "several": ["a", "b"],
    }


def test_where_it_got_worse_is_found_and_the_rest_is_undecided() -> None:
    rng = np.random.default_rng(1)
    sft = rng.uniform(0.4, 0.6, (3, 120))
    hard = np.arange(120) % 3 == 2
    dapo = sft + np.where(hard, -0.2, 0.0) + rng.normal(0, 0.05, (3, 120))
    objects = [(str(1 + number % 3),) for number in range(120)]
    rows = compare_slices({"f1": dapo}, {"f1": sft}, {"objects": objects}, ["f1"], [0, 1, 2])
    assert [row.value for row in rows] == ["1", "2", "3"]
    assert [row.difference.counted for row in rows] == [40, 40, 40]
    assert [row.outcome.verdict for row in rows] == ["undecided", "undecided", "worse"]
    assert [row.holm for row in rows] == pytest.approx(
        holm_adjusted([row.difference.p for row in rows])
    )
    assert rows[2].difference.mean == pytest.approx((dapo - sft)[:, hard].mean())
    alone = compare_slices({"f1": dapo[:1]}, {"f1": sft[:1]}, {"objects": objects}, ["f1"], [0])
    assert (alone[2].outcome.verdict, alone[2].outcome.over_prompts) == ("undecided", "lower")


def test_a_slice_that_stands_out_among_many_by_chance_is_undecided() -> None:
    """15 of 20 prompts are higher, p = .04 alone, in one of twelve slices; else half of them."""
    months = [(str(number % 12),) for number in range(240)]
    higher = np.array([number // 12 < (15 if number % 12 == 0 else 10) for number in range(240)])
    two = np.where(higher, 0.6, 0.4)[None, :]
    half = np.full((1, 240), 0.5)
    rows = compare_slices({"f1": two}, {"f1": half}, {"month": months}, ["f1"], [0])
    assert [row.outcome.over_prompts for row in rows] == ["undecided"] * 12
    assert rows[0].difference.p == pytest.approx(0.041, abs=0.005)
    assert rows[0].holm == pytest.approx(12 * rows[0].difference.p)
    assert "an adjusted p of 0." in rows[0].outcome.why


def test_a_slice_without_a_number_is_left_out() -> None:
    scores = {"f1": np.array([[np.nan, np.nan, 0.5, 0.5]])}
    kinds = {"kind": [("a",), ("a",), ("b",), ("b",)]}
    rows = compare_slices(scores, scores, kinds, ["f1"], [0])
    assert [row.value for row in rows] == ["b"]
