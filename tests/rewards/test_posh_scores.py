"""PoSh's formulas on hand-computed cases, and the prompts' one-pass filling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.posh.prompts import fill, load_prompts, wording
from rewards.posh.scores import credit, direction_score, f1, span_score
from rewards.posh.spans import mentions


def test_direction_score_is_the_mean_rating_over_five():
    assert direction_score([5, 1]) == pytest.approx(0.6)
    assert direction_score([5, 5, 1]) == pytest.approx(11 / 15)
    assert direction_score([1.5, 1, 1, 1, 5, 5]) == pytest.approx(0.4833, abs=1e-4)  # posh_spec section 8
    assert direction_score([]) == 1.0


def test_f1():
    assert f1(0.6, 11 / 15) == pytest.approx(0.66)
    assert f1(0.0, 0.0) == 0.0
    assert f1(1.0, 0.2) == pytest.approx(1 / 3)


def test_span_score():
    assert [span_score(rating) for rating in (1, 2, 3, 5)] == [0.0, 0.25, 0.5, 1.0]


def test_credit_by_hand():
    """Ratings 5 and 1 of the completion, 5, 5 and 1 of the reference: P = 0.6, R = 11/15, (P + R)^2 = 16/9."""
    precision, recall = 0.6, 11 / 15
    assert credit(5, precision, recall, said=2, wanted=3) == pytest.approx(0.605 * 0.4 / 2 + 0.405 * 1.0 / 3)
    assert credit(1, precision, recall, said=2, wanted=3) == pytest.approx(0.605 * -0.4 / 2 + 0.405 * 0.2 / 3)
    assert credit(1, precision, recall, said=2, wanted=3) == pytest.approx(-0.094)
    assert credit(1, precision, recall, said=2, wanted=3, score="precision") == pytest.approx(-0.2)
    assert credit(1, precision, recall, said=2, wanted=3, score="recall") == 0.0


@given(
    said=st.lists(st.floats(1, 5), min_size=1, max_size=8),
    wanted=st.lists(st.floats(1, 5), min_size=1, max_size=8),
)
def test_credit_is_the_scores_derivative(said, wanted):
    """Saying a bit more of a component moves precision by (s - P) / n and recall by s / m."""
    precision, recall, step = direction_score(said), direction_score(wanted), 1e-6
    for rating in said:
        s = rating / 5
        more_precision = precision + step * (s - precision) / len(said)
        more_recall = recall + step * s / len(wanted)
        slope = (f1(more_precision, more_recall) - f1(precision, recall)) / step
        assert credit(rating, precision, recall, len(said), len(wanted)) == pytest.approx(slope, abs=1e-4)
    shares = [credit(rating, precision, recall, len(said), len(wanted), "precision") for rating in said]
    assert sum(shares) == pytest.approx(0, abs=1e-9)


def test_mentions_join_over_white_space_only():
    text = "in front of it, front"
    assert mentions([(3, 8), (0, 2), (9, 11), (16, 21), (0, 2)], text) == [(0, 11), (16, 21)]
    assert mentions([], text) == []


def test_fill_is_one_pass():
    filled = fill("{a} {{b}} {a}", a="{b}", b="{answer}")
    assert filled == "{b} {answer} {b}"
    with pytest.raises(KeyError):
        fill("{a}", b="")


def test_own_prompts_have_both_directions():
    prompts = load_prompts()
    for templates in (prompts.precision, prompts.recall):
        assert "{source_text}" not in templates.prefix  # a group's completions share what they ask of their reference
        assert "{attributes}" in templates.described


def test_prompts_with_wrong_placeholders_are_refused(tmp_path):
    with pytest.raises(ValueError, match="lacks the prompt 'prefix'"):
        wording({}, "here")
    with pytest.raises(ValueError, match="must have placeholders"):
        wording({"prefix": "no text"}, "here")
    with pytest.raises(FileNotFoundError, match=r"exactly one \*precision.json"):
        load_prompts(tmp_path)
