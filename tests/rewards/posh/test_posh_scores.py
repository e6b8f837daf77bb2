"""PoSh's formulas on hand-computed cases, and the prompts' one-pass filling."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st

from spanreward.rewards.files.templates import fill
from spanreward.rewards.posh.components import mentions
from spanreward.rewards.posh.prompts import DEFAULT, load_prompts
from spanreward.rewards.posh.scores import coarse_scores, credit, direction_score, f1, span_score


def test_direction_score_is_the_mean_rating_over_five() -> None:
    assert direction_score([5, 1]) == pytest.approx(0.6)
    assert direction_score([5, 5, 1]) == pytest.approx(11 / 15)
    assert direction_score([1.5, 1, 1, 1, 5, 5]) == pytest.approx(0.4833, abs=1e-4)  # by hand
    assert direction_score([]) == 1.0


def test_f1() -> None:
    assert f1(0.6, 11 / 15) == pytest.approx(0.66)
    assert f1(0.0, 0.0) == 0.0
    assert f1(1.0, 0.2) == pytest.approx(1 / 3)


@given(st.floats(0.2, 1), st.floats(0.2, 1))
def test_f1_is_the_published_float(precision: Any, recall: Any) -> None:
    assert f1(precision, recall) == 2 * precision * recall / (precision + recall)


def test_scores_by_name() -> None:
    assert coarse_scores(0.5, 1.0) == {"precision": 0.5, "recall": 1.0, "f1": f1(0.5, 1.0)}


def test_span_score() -> None:
    assert [span_score(rating) for rating in (1, 2, 3, 5)] == [0.0, 0.25, 0.5, 1.0]


def test_credit_by_hand() -> None:
    """Ratings 5 and 1 of the completion, 5, 5 and 1 of the reference: P = 0.6, R = 11/15, (P + R)^2
    = 16/9.
    """
    precision, recall = 0.6, 11 / 15
    assert credit(
        5, precision, recall, completion_components=2, reference_components=3
    ) == pytest.approx(0.605 * 0.4 / 2 + 0.405 * 0.8 / 3)
    # recall gains nothing
    assert credit(
        1, precision, recall, completion_components=2, reference_components=3
    ) == pytest.approx(0.605 * -0.4 / 2)
    assert credit(
        1, precision, recall, completion_components=2, reference_components=3, score="precision"
    ) == pytest.approx(-0.2)
    assert (
        credit(
            1, precision, recall, completion_components=2, reference_components=3, score="recall"
        )
        == 0.0
    )


RATED = st.lists(st.floats(1, 5), min_size=1, max_size=8)


@given(said=RATED, wanted=RATED, score=st.sampled_from(["f1", "precision"]))
def test_credit_is_the_scores_derivative(said: Any, wanted: Any, score: str) -> None:
    """Measured on the means: a component is said a little more, and as much more of the reference
    is right.

    What is not said is rated 1, so a step of recall begins there.
    """
    precision, recall = direction_score(said), direction_score(wanted)
    before, step = coarse_scores(precision, recall)[score], 1e-6
    for rating in said:
        more_precision = (sum(said) + step * rating) / (len(said) + step) / 5
        more_recall = recall + step * (rating - 1) / 5 / len(wanted)
        slope = (coarse_scores(more_precision, more_recall)[score] - before) / step
        found = credit(rating, precision, recall, len(said), len(wanted), score)
        assert found == pytest.approx(slope, abs=1e-3, rel=1e-3)


@given(others=RATED, wanted=RATED)
def test_what_is_rated_lowest_never_has_credit(others: Any, wanted: Any) -> None:
    """No hallucination is called a gain, whatever stands beside it."""
    precision, recall = direction_score([1.0, *others]), direction_score(wanted)
    assert credit(1.0, precision, recall, 1 + len(others), len(wanted)) <= 1e-12


@given(said=RATED)
def test_credits_of_precision_sum_to_nothing(said: Any) -> None:
    shares = [
        credit(rating, direction_score(said), 1.0, len(said), 1, "precision") for rating in said
    ]
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
        # a group's completions share what they ask of their reference
        assert "{source_text}" not in templates.prefix
        assert "{attributes}" in templates.described


def test_no_level_of_our_scale_is_about_the_wording() -> None:
    """As published (A.1.4): absent, hinted at, in part, clear, explicit.

    A paraphrase may have every one of them.
    """
    for templates in (load_prompts().precision, load_prompts().recall):
        levels = re.findall(r"^([1-5]) = (.*)$", templates.instructions, re.MULTILINE)
        assert [level for level, _ in levels] == ["1", "2", "3", "4", "5"]
        assert not [
            text
            for _, text in levels
            if re.search(r"exact|word|term|vague|synonym|paraphrase|same", text)
        ]
        assert "another wording counts" in templates.instructions


def test_prompts_with_wrong_placeholders_are_refused(tmp_path: Path) -> None:
    changes: list[tuple[Any, str]] = [
        (None, r"own.yaml: precision.prefix: Field required$"),
        ("no text", r"precision.prefix: .*\{text\} or \{source_text\}, \{target_text\}, got no"),
        (3, r"precision.prefix: .* got 3 .*quotes"),
    ]
    for prefix, reason in changes:
        data = yaml.safe_load(DEFAULT.read_text())
        data["precision"] = {**data["precision"], "prefix": prefix}
        if prefix is None:
            del data["precision"]["prefix"]
        (tmp_path / "own.yaml").write_text(yaml.safe_dump(data))
        with pytest.raises(ValueError, match=reason):
            load_prompts(tmp_path / "own.yaml")
    with pytest.raises(FileNotFoundError, match=r"exactly one \*precision.json"):
        load_prompts(tmp_path)
