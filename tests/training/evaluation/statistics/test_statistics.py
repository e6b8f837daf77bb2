"""The statistics behind "RL beat SFT", on cases computed by hand."""

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from spanreward.training.evaluation.statistics.comparison import rank_models
from spanreward.training.evaluation.statistics.estimates import (
    estimate_of,
    independent_seeds,
    interval_over_seeds,
    paired_difference,
)
from spanreward.training.evaluation.statistics.pairs import win_rate
from spanreward.training.evaluation.statistics.summary import summarise_models, worst_case

NAN = float("nan")


def tally(a: Any, b: Any) -> tuple[int, int, int]:
    found = paired_difference(a, b, resamples=50)
    return found.win, found.tie, found.loss


FEW = [[0.50, 0.54, 0.46, 0.6, 0.3]]
THREE = [[0.6, 0.8, 0.4], [0.7, 0.9, 0.5]]
BEFORE = [[0.5, 0.6, 0.4], [0.5, 0.8, 0.2]]
FAILED = [[0.5, NAN, 0.9], [0.5, NAN, None]]


@pytest.mark.parametrize(
    ("a", "b", "mean", "per_seed", "wins_ties_losses"),
    [
        # differences 0.1 0.2 0.0 and 0.2 0.1 0.3
        (THREE, BEFORE, 0.15, [0.1, 0.2], (5, 1, 0)),
        ([[0.7] * 5] * 3, [[0.7] * 5] * 3, 0, [0, 0, 0], (0, 15, 0)),
        ([[0.9], [0.7]], [[0.5], [0.5]], 0.3, [0.4, 0.2], (2, 0, 0)),
        # failed verdicts are left out pairwise: pairs on prompt 0 alone
        (FAILED, [[0.4, 0.1, NAN], [0.2, 0.1, 0.1]], 0.2, [0.1, 0.3], (2, 0, 0)),
        (FEW, [[0.5] * 5], -0.02, [-0.02], (2, 1, 2)),
        (FEW, np.add(FEW, 1e-10), 0, [0], (0, 5, 0)),
    ],
)
def test_difference_by_hand(
    a: Any, b: Any, mean: float, per_seed: list[float], wins_ties_losses: tuple[int, int, int]
) -> None:
    difference = paired_difference(a, b)
    assert difference.mean == pytest.approx(mean, abs=1e-9)
    assert difference.per_seed == pytest.approx(per_seed, abs=1e-9)
    assert tally(a, b) == wins_ties_losses
    one_prompt = difference.counted == 1
    assert (difference.low is None, difference.high is None) == (one_prompt, one_prompt)


def test_equal_prompts_have_an_interval_of_no_width() -> None:
    """The average over seeds is 0.15 on every prompt: another draw of them moves nothing."""
    found = paired_difference(THREE, BEFORE)
    assert (found.low, found.high) == pytest.approx((0.15, 0.15))


@pytest.mark.parametrize("prompts", [20, 80])
def test_intervals_over_prompts_cover_what_they_say(prompts: int) -> None:
    """95 % intervals of seeds that share their prompt, simulated: 93 to 97 % of 1,000 hold."""
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(1000):
        shared = rng.beta(2, 1, size=(1, prompts))  # mean 2/3, skewed
        seeds = rng.random((3, prompts)) < shared
        estimate = estimate_of(seeds.astype(float), resamples=999)
        covered += estimate.low <= 2 / 3 <= estimate.high
    assert 0.93 <= covered / 1000 <= 0.97


@pytest.mark.parametrize(
    ("values", "mean", "per_seed"),
    [
        # a prompt weighs the same however many seeds judged it
        ([[1.0, 0.0], [1.0, NAN], [1.0, NAN]], 0.5, [0.5, 1.0, 1.0]),
        ([[NAN, NAN], [0.25, 0.75]], 0.5, [None, 0.5]),
        ([[NAN, NAN], [NAN, NAN]], None, [None, None]),
    ],
)
def test_means_of_what_could_be_judged(values: Any, mean: Any, per_seed: Any) -> None:
    estimate = estimate_of(values)
    assert (estimate.mean, estimate.per_seed) == (mean, per_seed)
    assert [estimate.low, estimate.high].count(None) == (0 if mean else 2)


TABLES = arrays(np.float64, (2, 6), elements=st.floats(0, 1))


@given(TABLES, TABLES)
def test_difference_is_antisymmetric_and_blind_to_prompt_order(a: Any, b: Any) -> None:
    one, other = paired_difference(a, b, resamples=50), paired_difference(b, a, resamples=50)
    assert one.mean == pytest.approx(-other.mean)
    assert one.low - 1e-9 <= one.high
    wins, losses = tally(a, b), tally(b, a)
    assert wins == losses[::-1]
    assert paired_difference(a[:, ::-1], b[:, ::-1], resamples=50).mean == pytest.approx(one.mean)


def scores() -> Any:
    rng = np.random.default_rng(0)
    return {
        model: {"truth_f1": rng.uniform(0, 1, (2, 8)), "length": rng.integers(5, 40, (2, 8))}
        for model in ("base", "sft", "dapo")
    }


def test_summary_has_the_promised_form() -> None:
    table = scores()
    table["dapo"]["truth_f1"][1, 3] = NAN
    summary = summarise_models(table, seeds=[7, 9])
    length = summary.models["base"]["length"]
    mean = table["base"]["length"].mean()
    assert (length.mean, np.mean(length.per_seed)) == pytest.approx((mean, mean))
    assert list(summary.models) == ["base", "sft", "dapo"]
    assert list(summary.differences) == [("sft", "base"), ("dapo", "base"), ("dapo", "sft")]
    gain = summary.differences["dapo", "sft"]["truth_f1"]
    assert (gain.runs_low, gain.runs_high) == (None, None)  # of two seeds there is none
    assert gain.win + gain.tie + gain.loss == 15
    assert summary.models["dapo"]["truth_f1"].failed == 1
    assert summary.models["sft"]["truth_f1"].failed == 0


def test_an_interval_over_seeds_by_hand() -> None:
    # means of three seeds .1, .2, .3: mean .2, standard error .1 / sqrt 3, t of 2 degrees of
    # freedom 4.3027
    half = 4.302652729911275 * 0.1 / 3**0.5
    assert interval_over_seeds([0.1, 0.2, 0.3]) == pytest.approx((0.2 - half, 0.2 + half))
    assert interval_over_seeds([0.5] * 3) == (0.5, 0.5)
    assert interval_over_seeds([0.1, 0.2]) == (None, None)

    def over(per_seed: Any, seeds: Any) -> Any:
        values = [[mean] for mean in per_seed]
        estimate = estimate_of(values, seeds)
        return estimate.runs_low, estimate.runs_high, estimate.trained

    # two environments of a seed are one seed: means .1, .2, .3 again
    twice = [0.05, 0.15, 0.2, 0.2, 0.35, 0.25]
    assert over(twice, [0, 0, 1, 1, 2, 2]) == pytest.approx((0.2 - half, 0.2 + half, 3))
    assert over([0.1, 0.2, 0.3, 0.4], [0, 0, 1, 1]) == (None, None, 2)
    assert over([0.1, None, 0.3], [0, 1, 2]) == (None, None, 2)


def test_a_fixed_model_beside_three_seeds_is_one_run() -> None:
    assert independent_seeds([0, 1, 2], [("a", "x"), ("b", "x"), ("c", "x")]) == [0, 1, 2]
    assert independent_seeds([0, 1, 2], [("api", "x"), ("api", "x"), ("api", "x")]) == [0, 0, 0]
    assert independent_seeds([0, 0, 1], ["base0", "base0", "base1"]) == [0, 0, 1]
    fixed, trained = np.full((3, 4), 0.5), np.array([[0.6] * 4, [0.7] * 4, [0.8] * 4])
    table = {"api": {"f1": fixed}, "hub": {"f1": fixed + 0.1}, "dapo": {"f1": trained}}
    runs = {"api": ["a"] * 3, "hub": ["h"] * 3, "dapo": ["d0", "d1", "d2"]}
    summary = summarise_models(table, runs=runs, resamples=50)
    assert summary.models["api"]["f1"].trained == 1
    trained_seeds = {pair: entries["f1"].trained for pair, entries in summary.differences.items()}
    assert trained_seeds == {("hub", "api"): 1, ("dapo", "api"): 3, ("dapo", "hub"): 3}
    assert summary.differences["hub", "api"]["f1"].runs_low is None


def test_the_worst_case_of_what_failed_by_hand() -> None:
    a, b = np.array([[0.5, NAN, 0.9, NAN]]), np.array([[0.4, 0.2, NAN, NAN]])
    failed_a, failed_b = (np.arange(4)[None] == number for number in (1, 2))
    # differences .1, (0 or 1) - .2, .9 - (1 or 0); the last prompt has no score on either side, and
    # nobody failed
    ends = worst_case(a, b, failed_a, failed_b)
    assert ends == pytest.approx(((0.1 - 0.2 - 0.1) / 3, (0.1 + 0.8 + 0.9) / 3))
    rated = worst_case(a, b, failed_a, failed_b, scale=(1.0, 5.0))
    assert rated == pytest.approx(((0.1 + 0.8 - 4.1) / 3, (0.1 + 4.8 - 0.1) / 3))
    assert worst_case(a, b, failed_a & False, failed_b & False) is None


def test_failures_are_counted_apart_from_what_there_cannot_be() -> None:
    table = {"a": {"f1": [[0.5, NAN, NAN]]}, "b": {"f1": [[0.5, 0.75, NAN]]}}
    failed = {"a": {"f1": [[False, True, False]]}, "b": {"f1": [[False, False, False]]}}
    summary = summarise_models(table, failed=failed, resamples=50)
    assert [summary.models[model]["f1"].failed for model in "ab"] == [1, 0]
    # over the same answers: `b` is not praised for the prompt on which `a` has no score
    assert [summary.models[model]["f1"].mean for model in "ab"] == [0.5, 0.5]
    entry = summary.differences["b", "a"]["f1"]
    assert (entry.failed, entry.counted, entry.worst_case) == (1, 1, pytest.approx([-0.125, 0.375]))
    assert (entry.win, entry.tie, entry.loss) == (0, 1, 0)  # what failed is no tie


def test_prompts_of_one_picture_are_drawn_together() -> None:
    """Four questions about each of 64 pictures, correlated by .5: 93 to 97 % of 400 hold."""
    rng = np.random.default_rng(5)
    clusters = np.repeat(np.arange(64), 4)
    held = {"clusters": [0, 0], "prompts": [0, 0]}
    for _ in range(400):
        shared = rng.normal(0, 0.5**0.5, 64).repeat(4)
        values = (shared + rng.normal(0, 0.5**0.5, 256))[None]
        for name, together in (("clusters", clusters.tolist()), ("prompts", None)):
            nothing = np.zeros_like(values)
            one = paired_difference(values, nothing, [0], resamples=499, clusters=together)
            held[name][0] += one.low <= 0 <= one.high
            held[name][1] += one.both_low <= 0 <= one.both_high
    assert all(0.93 <= count / 400 <= 0.97 for count in held["clusters"])
    assert all(count / 400 < 0.9 for count in held["prompts"])


def test_summary_is_deterministic_and_each_part_independent_of_the_others() -> None:
    assert summarise_models(scores()) == summarise_models(scores())
    alone = summarise_models({m: t for m, t in scores().items() if m != "base"})
    everyone = summarise_models(scores())
    assert alone.differences["dapo", "sft"] == everyone.differences["dapo", "sft"]


def test_tables_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(2, 3\) and \(1, 3\)"):
        paired_difference(np.zeros((2, 3)), np.zeros((1, 3)))
    with pytest.raises(ValueError, match=r"got \(3,\)"):
        estimate_of([0.1, 0.2, 0.3])


def ranked(scores: Any) -> Any:
    means = {model: estimate_of(values, resamples=200) for model, values in scores.items()}
    return rank_models({model: np.asarray(values) for model, values in scores.items()}, means)


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


def test_a_judge_that_only_likes_length_is_exposed() -> None:
    """The longer model wins three quarters of the answers, and one half at equal length."""
    rng = np.random.default_rng(0)
    words = np.maximum(3, np.rint(rng.normal([[40], [52]], 12, (2, 240))))
    short, long = np.minimum(words / 100, 1.0)[:, None, :]
    rate = win_rate(long, short, words[1:], words[:1])
    assert rate.raw > 0.7
    assert rate.raw_interval.low > 0.65
    assert rate.controlled == pytest.approx(0.5, abs=0.03)
    assert rate.controlled_interval.low <= 0.5 <= rate.controlled_interval.high


def test_the_seeds_of_a_prompt_are_drawn_together() -> None:
    """Three equal seeds say no more than one."""
    rng = np.random.default_rng(0)
    later, earlier = rng.random((1, 60)), rng.random((1, 60))
    words = rng.integers(5, 30, (2, 1, 60)).astype(float)
    once = win_rate(later, earlier, *words)
    thrice = win_rate(*(np.repeat(array, 3, axis=0) for array in (later, earlier, *words)))
    assert asdict(once.raw_interval) == pytest.approx(asdict(thrice.raw_interval))
    assert once.controlled == pytest.approx(thrice.controlled, abs=0.01)
