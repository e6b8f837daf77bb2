"""What a verdict on an undecided pair would take."""

from typing import Any

import numpy as np
import pytest

from spanreward.rewards.comparison.power import needed, spreads_of
from spanreward.training.evaluation.statistics.estimates import paired_difference
from spanreward.training.evaluation.statistics.needs import clustered, need

RNG = np.random.default_rng(0)
GAPS = 0.02 + RNG.normal(0, 0.2, (1, 60)) + RNG.normal(0, 0.002, (3, 1)) + RNG.normal(0, 0.1, (3, 60))


def said(gaps: Any, seeds: Any, clusters: Any = None, fixed: bool = False) -> str:
    found = paired_difference(gaps, np.zeros_like(gaps), seeds, clusters=clusters)
    return need(found, gaps, seeds, clusters, fixed)


def test_an_undecided_pair_says_what_it_needs() -> None:
    counts = [needed(spreads_of(GAPS), float(GAPS.mean()), seeds) for seeds in (3, 5, 10)]
    three, five, ten = (
        f"{count:,} prompts with {seeds} seeds" for count, seeds in zip(counts, (3, 5, 10), strict=True)
    )
    assert said(GAPS, [0, 1, 2]) == f"{three} or {five} or {ten}"


def test_a_fixed_system_needs_prompts_alone() -> None:
    """By hand: t tests need about (1.96 + .84)^2 variances over the squared difference."""
    told = said(GAPS[:1], [0], fixed=True)
    assert "seeds" not in told
    count = int(told.split(" prompts")[0].replace(",", ""))
    assert count == pytest.approx((1.96 + 0.84) ** 2 * GAPS[0].var(ddof=1) / GAPS[0].mean() ** 2, rel=0.02)


def test_nothing_is_said_of_what_is_decided_or_not_known() -> None:
    assert said(GAPS + 1, [0, 1, 2]) == ""
    assert said(GAPS[:2], [0, 1]) == ""  # the scatter of seeds is not known
    assert said(GAPS[:, :5], [0, 1, 2]) == ""
    assert said(GAPS * 0, [0, 1, 2]) == ""


def test_prompts_of_one_picture_count_once() -> None:
    values, size = clustered(np.array([[1.0, 3.0, np.nan, 5.0], [2.0, 4.0, 0.0, 5.0]]), [7, 7, 7, 8])
    assert values.tolist() == [[2.0, 5.0], [3.0, 5.0]]
    assert size == 1.5
