"""PoSh's formulas on hand-computed cases, and the prompts' one-pass filling."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from spanreward.rewards.posh.components import mentions
from spanreward.rewards.posh.prompts import load_prompts, wording
from spanreward.rewards.posh.scores import (
    KINDS,
    beta_of,
    coarse_scores,
    credit,
    direction_score,
    f1,
    f_beta,
    kind_weights,
    span_score,
)
from spanreward.rewards.templates import fill


def test_direction_score_is_the_mean_rating_over_five() -> None:
    assert direction_score([5, 1]) == pytest.approx(0.6)
    assert direction_score([5, 5, 1]) == pytest.approx(11 / 15)
    assert direction_score([1.5, 1, 1, 1, 5, 5]) == pytest.approx(0.4833, abs=1e-4)  # by hand
    assert direction_score([]) == 1.0


def test_a_weighted_mean() -> None:
    assert direction_score([5, 1, 3], [2, 1, 1]) == pytest.approx(14 / 4 / 5)
    assert direction_score([5, 1, 3], [0, 1, 1]) == pytest.approx(2 / 5)
    assert direction_score([5, 1], [0, 0]) == 1.0  # as if there were none
    ratings = [1.7, 4.2, 3.3, 2.9, 4.999]
    assert direction_score(ratings, [1.0] * 5) == direction_score(ratings) == sum(ratings) / 5 / 5


def test_f1() -> None:
    assert f1(0.6, 11 / 15) == pytest.approx(0.66)
    assert f1(0.0, 0.0) == 0.0
    assert f1(1.0, 0.2) == pytest.approx(1 / 3)


def test_f_beta() -> None:
    assert f_beta(0.5, 1.0, 2.0) == pytest.approx(5 * 0.5 / (4 * 0.5 + 1))  # 0.833: recall counts more
    assert f_beta(0.5, 1.0, 0.5) == pytest.approx(1.25 * 0.5 / (0.25 * 0.5 + 1))  # 0.556: precision counts more
    assert f_beta(0.0, 0.0, 2.0) == 0.0
    assert f_beta(0.3, 0.7, 1e-6) == pytest.approx(0.3)
    assert f_beta(0.3, 0.7, 1e6) == pytest.approx(0.7)


@given(st.floats(0.2, 1), st.floats(0.2, 1))
def test_f1_is_the_published_float(precision: Any, recall: Any) -> None:
    assert f1(precision, recall) == 2 * precision * recall / (precision + recall)


def test_scores_by_name() -> None:
    assert [beta_of(score) for score in ("precision", "recall", "f1", "f2", "f0.5", "f.5", "f10")] == [
        *(None, None, 1.0, 2.0, 0.5, 0.5, 10.0)
    ]
    assert coarse_scores(0.5, 1.0, "recall") == {"precision": 0.5, "recall": 1.0, "f1": f1(0.5, 1.0)}
    assert coarse_scores(0.5, 1.0, "f2")["f2"] == f_beta(0.5, 1.0, 2.0)


@pytest.mark.parametrize(
    "score",
    [
        "f0",
        "f-1",
        "fnan",
        "finf",
        "f1e3",
        "f",
        "f.",
        "F1",
        "f 2",
        "f" + "9" * 200,
        "f0." + "0" * 200 + "1",
        "",
        2,
        None,
    ],
)
def test_other_scores_are_refused(score: float) -> None:
    with pytest.raises(
        ValueError, match=r"^score is 'precision', 'recall', 'f1' or another F-score such as 'f0\.5', got "
    ):
        beta_of(score)


def test_weights_per_kind() -> None:
    assert kind_weights(None) == {"entity": 1.0, "attribute": 1.0, "relation": 1.0, "denial": 1.0}
    assert kind_weights({"attribute": 2, "relation": 0, "denial": 0.5}) == {
        "entity": 1.0,
        "attribute": 2.0,
        "relation": 0.0,
        "denial": 0.5,
    }


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"attributes": 2}, "unknown kind in weights 'attributes': did you mean 'attribute'?"),
        ({"entity": -1}, "the weight of 'entity' must be a finite number from 0 up, got -1"),
        ({"entity": float("nan")}, "the weight of 'entity' must be a finite number from 0 up, got nan"),
        ({"entity": float("inf")}, "the weight of 'entity' must be a finite number from 0 up, got inf"),
        ({"entity": "1"}, "the weight of 'entity' must be a finite number from 0 up, got '1'"),
        (
            dict.fromkeys(KINDS[:3], 0),
            "one of the weights of entity, attribute and relation must be above 0, got {'entity': 0, 'attribute': 0, "
            "'relation': 0}",
        ),
        ([1, 2, 3], "weights give kinds a number, such as {'attribute': 2}, got [1, 2, 3]"),
    ],
)
def test_unusable_weights_are_refused(weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        kind_weights(weights)


def test_span_score() -> None:
    assert [span_score(rating) for rating in (1, 2, 3, 5)] == [0.0, 0.25, 0.5, 1.0]


def test_credit_by_hand() -> None:
    """Ratings 5 and 1 of the completion, 5, 5 and 1 of the reference: P = 0.6, R = 11/15, (P + R)^2 = 16/9."""
    precision, recall = 0.6, 11 / 15
    assert credit(5, precision, recall, said=2, wanted=3) == pytest.approx(0.605 * 0.4 / 2 + 0.405 * 1.0 / 3)
    assert credit(1, precision, recall, said=2, wanted=3) == pytest.approx(0.605 * -0.4 / 2 + 0.405 * 0.2 / 3)
    assert credit(1, precision, recall, said=2, wanted=3) == pytest.approx(-0.094)
    assert credit(1, precision, recall, said=2, wanted=3, score="precision") == pytest.approx(-0.2)
    assert credit(1, precision, recall, said=2, wanted=3, score="recall") == 0.0


def test_weighted_credit_by_hand() -> None:
    """Ratings 5 (weight 2) and 1 of the completion: P = 11 / 15. R = 0.6 of total weight 4. F2: b = 4."""
    precision, recall, square = 11 / 15, 0.6, (4 * 11 / 15 + 0.6) ** 2
    of_precision, of_recall = 5 * 0.6**2 / square, 5 * 4 * (11 / 15) ** 2 / square
    right = credit(5, precision, recall, said=3, wanted=4, score="f2", weight=2)
    assert right == pytest.approx(of_precision * 2 * (1 - 11 / 15) / 3 + of_recall * 2 * 1 / 4)
    wrong = credit(1, precision, recall, said=3, wanted=4, score="f2", weight=1)
    assert wrong == pytest.approx(of_precision * (0.2 - 11 / 15) / 3 + of_recall * 0.2 / 4)
    assert credit(5, precision, recall, said=3, wanted=4, score="precision", weight=2) == pytest.approx(2 * 4 / 15 / 3)
    assert credit(5, 1.0, recall, said=0, wanted=4, weight=0) == 0.0


RATED = st.lists(st.tuples(st.floats(1, 5), st.sampled_from([0.0, 0.5, 1.0, 3.0])), min_size=1, max_size=8)


@given(said=RATED, wanted=RATED, score=st.sampled_from(["f1", "f2", "f0.5", "precision"]))
def test_credit_is_the_scores_derivative(said: Any, wanted: Any, score: float) -> None:
    """Measured on the means: a component is said a little more, and as much more of the reference is right."""
    precision, recall = (direction_score(*zip(*side, strict=True)) for side in (said, wanted))
    total_said, total_wanted = (sum(weight for _, weight in side) for side in (said, wanted))
    before, step = coarse_scores(precision, recall, score)[score], 1e-6
    for rating, weight in said:
        more_precision = direction_score(*zip(*said, (rating, step * weight), strict=True))
        more_recall = recall + step * weight * rating / 5 / total_wanted if total_wanted else recall
        slope = (coarse_scores(more_precision, more_recall, score)[score] - before) / step
        found = credit(rating, precision, recall, total_said, total_wanted, score, weight)
        assert found == pytest.approx(slope, abs=1e-3, rel=1e-3)


@given(said=RATED)
def test_credits_of_precision_sum_to_nothing(said: Any) -> None:
    precision, total = direction_score(*zip(*said, strict=True)), sum(weight for _, weight in said)
    shares = [credit(rating, precision, 1.0, total, 1, "precision", weight) for rating, weight in said]
    assert sum(shares) == pytest.approx(0, abs=1e-9)


def test_mentions_join_over_white_space_only() -> None:
    text = "in front of it, front"
    assert mentions([(3, 8), (0, 2), (9, 11), (16, 21), (0, 2)], text) == [(0, 11), (16, 21)]
    assert mentions([], text) == []


def test_fill_is_one_pass() -> None:
    filled = fill("{a} {{b}} {a}", a="{b}", b="{answer}")
    assert filled == "{b} {answer} {b}"
    with pytest.raises(KeyError):
        fill("{a}", b="")


def test_own_prompts_have_both_directions() -> None:
    prompts = load_prompts()
    for templates in (prompts.precision, prompts.recall):
        assert "{source_text}" not in templates.prefix  # a group's completions share what they ask of their reference
        assert "{attributes}" in templates.described


def test_no_level_of_our_scale_is_about_the_wording() -> None:
    """As published (A.1.4): absent, hinted at, in part, clear, explicit. A paraphrase may have every one of them."""
    for templates in (load_prompts().precision, load_prompts().recall):
        levels = re.findall(r"^([1-5]) = (.*)$", templates.instructions, re.MULTILINE)
        assert [level for level, _ in levels] == ["1", "2", "3", "4", "5"]
        assert not [text for _, text in levels if re.search(r"exact|word|term|vague|synonym|paraphrase|same", text)]
        assert "synonym or another wording counts in\nfull" in templates.instructions


def test_prompts_with_wrong_placeholders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="lacks the prompt 'prefix'"):
        wording({}, "here")
    with pytest.raises(ValueError, match="must have placeholders"):
        wording({"prefix": "no text"}, "here")
    with pytest.raises(FileNotFoundError, match=r"exactly one \*precision.json"):
        load_prompts(tmp_path)
