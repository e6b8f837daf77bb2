"""r of a labelled sample: by hand, what it ignores, and what it advises."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from spanreward.rewards.base.verdict import Span
from spanreward.training.evaluation.statistics.span_reliability import (
    Labelled,
    judge_errors,
    pearson_correlation,
    span_coef_advice,
    span_reliability,
)

TEXT = "a red cat and a blue dog"
WORDS = {"red": (2, 5), "cat": (6, 9), "blue": (16, 20), "dog": (21, 24)}


def row(credit: dict[str, float], wrong: list[str], group: int = 0, **others: Any) -> Labelled:
    spans = []
    for number, (word, value) in enumerate(credit.items()):
        kind = "attribute" if word in ("red", "blue") else "entity"
        spans.append(Span(*WORDS[word], 0.5, value, kind, "", number, **others))
    return Labelled(TEXT, tuple(spans), tuple(WORDS[word] for word in wrong), group)


def changed(one: Labelled, change: Callable[[Span], dict[str, Any]]) -> Labelled:
    """The same completion, each of its spans with other fields."""
    return replace(one, spans=tuple(replace(span, **change(span)) for span in one.spans))


def judged(scores: dict[str, float], wrong: list[str], **others: Any) -> Labelled:
    """A completion with these scores of its words."""
    values = list(scores.values())
    given = row(dict.fromkeys(scores, 0.0), wrong, **others)
    return changed(given, lambda span: {"score": values[span.component]})


def test_credit_that_follows_the_labels_has_r_near_1_and_its_opposite_near_minus_1() -> None:
    rows = []
    for group in range(6):
        rows.append(row({"red": 0.2, "cat": 0.2, "blue": -0.1, "dog": 0.2}, ["blue"], group))
        rows.append(row({"red": -0.1, "cat": 0.2, "blue": 0.2, "dog": -0.1}, ["red", "dog"], group))
    found = span_reliability(rows)
    assert [found[kind]["r"] for kind in ("all", "attribute", "entity")] == pytest.approx([1, 1, 1])
    assert (found["all"]["phrases"], found["attribute"]["phrases"]) == (48, 24)
    assert found["all"]["wrong"] == found["all"]["blamed"] == pytest.approx(18 / 48)
    assert found["all"]["low"] <= 1 + 1e-9
    turned = [changed(one, lambda span: {"credit": -span.credit}) for one in rows]
    assert span_reliability(turned)["all"]["r"] == pytest.approx(-1)


def test_blaming_the_kind_that_is_wrong_most_often_is_no_reliability() -> None:
    """All attributes are blamed and no entity is; half of the attributes are wrong."""
    credit = {"red": -0.1, "cat": 0.2, "blue": -0.1, "dog": 0.2}
    rows = [row(credit, [["red"], ["blue"]][number % 2], number) for number in range(40)]
    right = np.array([0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0])
    plain = pearson_correlation(np.array(list(credit.values()) * 2), right)
    assert plain == pytest.approx(0.577, abs=1e-3)
    assert abs(span_reliability(rows)["all"]["r"]) < 0.15


def test_phrases_that_nobody_was_asked_about_are_left_out() -> None:
    rows = [
        row({"red": 0.2, "cat": -0.2}, ["cat"]),
        row({"blue": 0.0, "dog": 0.0}, [], asked=False),
    ]
    assert span_reliability(rows)["all"]["phrases"] == 2


def test_nothing_wrong_is_no_sample() -> None:
    rows = [judged({"red": 1.0, "cat": 1.0}, [])] * 3
    found = span_reliability(rows)["all"]
    assert (found["r"], found["low"], found["high"]) == (None, None, None)
    assert span_coef_advice(found).startswith("No advice: label a sample")
    errors = judge_errors(rows)
    assert errors["wrong"] == {"phrases": 0, "judged_right": None, "low": None, "high": None}
    assert errors["right"] == {"phrases": 6, "judged_wrong": 0.0, "low": 0.0, "high": 0.0}


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.25, 0.8, "span_coef=0.5: r 0.50 [0.25, 0.80] is 0.25 or more."),
        (0.1, 0.2, "span_coef=0: r 0.50 [0.10, 0.20] is below 0.25."),
        (0.2, 0.6, "span_coef=0 until more is labelled: r 0.50 [0.20, 0.60] does not tell"),
    ],
)
def test_the_advice(low: float, high: float, said: str) -> None:
    assert span_coef_advice({"r": 0.5, "low": low, "high": high, "completions": 20}).startswith(
        said
    )
    few = span_coef_advice({"r": 0.5, "low": low, "high": high, "completions": 19})
    assert few.startswith("No advice from 19 completions")


def test_how_often_the_judge_errs_by_hand() -> None:
    rows = [
        judged({"red": 0.4, "cat": 1.0, "blue": 0.5, "dog": 0.0}, ["blue", "dog"]),
        judged({"red": 0.9, "cat": 0.0}, []),
        judged({"cat": 0.0}, [], asked=False),
    ]
    errors = judge_errors(rows)
    right = errors["right"]  # red, cat, red, cat
    assert (right["phrases"], right["judged_wrong"]) == (4, 0.5)
    assert right["low"] <= 0.5 <= right["high"]
    # blue, of a score of .5, and dog. One completion has both, so no interval
    assert errors["wrong"] == {"phrases": 2, "judged_right": 0.5, "low": None, "high": None}


def test_a_later_mention_is_no_second_phrase() -> None:
    """And a wrong range that touches part of a phrase makes it wrong."""
    twice = judged({"red": 0.0, "cat": 0.0}, [])
    (first, second) = WORDS["red"], WORDS["cat"]
    one = changed(twice, lambda span: {"component": 0})
    assert judge_errors([one])["right"]["phrases"] == 1
    touched = replace(twice, wrong=((first[1] - 1, second[0]),))
    assert judge_errors([touched])["wrong"]["phrases"] == 1
