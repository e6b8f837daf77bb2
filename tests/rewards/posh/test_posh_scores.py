"""PoSh's formulas on hand-computed cases, and the prompts' one-pass filling."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st

from spanreward.rewards.files.templates import fill_template
from spanreward.rewards.posh.components import mention_spans
from spanreward.rewards.posh.prompts import DEFAULT_PROMPTS, load_prompts
from spanreward.rewards.posh.scores import (
    coarse_scores,
    credit_of_component,
    direction_score,
    f1,
    span_score,
)


def test_direction_score_is_the_mean_rating_over_five() -> None:
    assert direction_score([1.5, 1, 1, 1, 5, 5]) == pytest.approx(14.5 / 30)
    assert direction_score([]) == 1.0


@pytest.mark.parametrize(
    ("precision", "recall", "score"), [(0.6, 11 / 15, 0.66), (0.0, 0.0, 0.0), (1.0, 0.2, 1 / 3)]
)
def test_f1(precision: float, recall: float, score: float) -> None:
    assert f1(precision, recall) == pytest.approx(score)
    scores = {"precision": precision, "recall": recall, "f1": pytest.approx(score)}
    assert coarse_scores(precision, recall) == scores


@given(st.floats(0.2, 1), st.floats(0.2, 1))
def test_f1_is_the_published_float(precision: Any, recall: Any) -> None:
    assert f1(precision, recall) == 2 * precision * recall / (precision + recall)


def test_span_score() -> None:
    assert [span_score(rating) for rating in (1, 2, 3, 5)] == [0.0, 0.25, 0.5, 1.0]


def test_credit_by_hand() -> None:
    """Ratings 5 and 1 of the completion, 5, 5 and 1 of the reference: P = 0.6, R = 11/15, (P + R)^2
    = 16/9.
    """
    by_hand = {
        (5, "f1"): 0.605 * 0.4 / 2 + 0.405 * 0.8 / 3,
        (1, "f1"): 0.605 * -0.4 / 2,
        (1, "precision"): -0.2,
        (1, "recall"): 0.0,
    }
    for (rating, score), credit in by_hand.items():
        found = credit_of_component(rating, 0.6, 11 / 15, 2, 3, score)
        assert found == pytest.approx(credit)


RATED = st.lists(st.floats(1, 5), min_size=1, max_size=8)


@given(said=RATED, wanted=RATED, score=st.sampled_from(["f1", "precision"]))
def test_credit_is_the_scores_derivative(said: Any, wanted: Any, score: str) -> None:
    """A component is said a little more, and as much more of the reference is right; what is not
    said is rated 1, so a step of recall begins there.
    """
    precision, recall = direction_score(said), direction_score(wanted)
    before, step = coarse_scores(precision, recall)[score], 1e-6
    for rating in said:
        more_precision = (sum(said) + step * rating) / (len(said) + step) / 5
        more_recall = recall + step * (rating - 1) / 5 / len(wanted)
        slope = (coarse_scores(more_precision, more_recall)[score] - before) / step
        found = credit_of_component(rating, precision, recall, len(said), len(wanted), score)
        assert found == pytest.approx(slope, abs=1e-3, rel=1e-3)


@given(others=RATED, wanted=RATED)
def test_what_is_rated_lowest_never_has_credit(others: Any, wanted: Any) -> None:
    """No hallucination is called a gain, whatever stands beside it."""
    precision, recall = direction_score([1.0, *others]), direction_score(wanted)
    assert credit_of_component(1.0, precision, recall, 1 + len(others), len(wanted)) <= 1e-12


@given(said=RATED)
def test_credits_of_precision_sum_to_nothing(said: Any) -> None:
    shares = [
        credit_of_component(rating, direction_score(said), 1.0, len(said), 1, "precision")
        for rating in said
    ]
    assert sum(shares) == pytest.approx(0, abs=1e-9)


def test_mentions_join_over_white_space_only() -> None:
    text = "in front of it, front"
    assert mention_spans([(3, 8), (0, 2), (9, 11), (16, 21), (0, 2)], text) == [(0, 11), (16, 21)]


def test_fill_is_one_pass() -> None:
    filled = fill_template("{a} {{b}} {a}", a="{b}", b="{answer}")
    assert filled == "{b} {answer} {b}"
    with pytest.raises(KeyError):
        fill_template("{a}", b="")


@pytest.mark.parametrize("templates", [load_prompts().precision, load_prompts().recall])
def test_no_level_of_our_scale_is_about_the_wording(templates: Any) -> None:
    """A paraphrase may have each level (A.1.4: absent, hinted at, in part, clear, explicit)."""
    levels = dict(re.findall(r"^([1-5]) = (.*)$", templates.instructions, re.MULTILINE))
    assert [*levels] == ["1", "2", "3", "4", "5"]
    about_words = r"exact|word|term|vague|synonym|paraphrase|same"
    assert not re.search(about_words, " ".join(levels.values()))


@pytest.mark.parametrize("prefix", [None, "no text", 3])
def test_a_prefix_without_its_placeholder_is_refused(tmp_path: Path, prefix: Any) -> None:
    data = yaml.safe_load(DEFAULT_PROMPTS.read_text())
    data["precision"]["prefix"] = prefix
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(data))
    with pytest.raises(ValueError, match=r"own\.yaml: precision\.prefix: "):
        load_prompts(tmp_path / "own.yaml")


def test_a_folder_without_prompts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"\*precision.json"):
        load_prompts(tmp_path)
