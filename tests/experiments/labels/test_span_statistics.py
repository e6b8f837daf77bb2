"""Marked tokens by hand, and the ten thresholds against scikit-learn's way of counting."""

from math import isnan

import numpy as np
import pytest
from hypothesis import given, strategies as st

from experiments.labels.span_statistics import (
    best_macro_f1,
    token_flags,
    token_places,
    token_scores,
)


def macro_f1(predicted: list[bool], true: list[bool]) -> float:
    """The mean of the F1 of the flagged tokens and of the others."""

    def f1(flag: bool) -> float:
        both = sum(p == t == flag for p, t in zip(predicted, true, strict=True))
        total = predicted.count(flag) + true.count(flag)
        return 2 * both / total if total else 0.0

    return (f1(True) + f1(False)) / 2


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("A dark-red cat, here.", ["A", "dark", "red", "cat", "here"]),
        ("The man's  hat\n(old) ...", ["The", "man", "'s", "hat", "old", "..."]),
        ("It isn't $5.", ["It", "is", "n't", "5"]),
        ("  \n ", []),
        ("", []),
        ("日本 é", ["日本", "é"]),
    ],
)
def test_tokens_are_spacys_without_single_signs(text: str, tokens: list[str]) -> None:
    assert [text[start:end] for start, end in token_places(text)] == tokens


def test_a_token_has_the_highest_score_that_touches_it() -> None:
    places = token_places("A dark red cat.")
    assert token_scores(places, [(2, 10, 0.5), (7, 14, 0.25)]) == [1.0, 0.5, 0.5, 0.25]
    assert token_scores(places, [(7, 14, 0.25), (0, 15, 0.0)]) == [0.0, 0.0, 0.25, 0.25]
    assert token_scores(places, [(14, 99, 0.0)]) == [1.0] * 4  # the full stop is no token
    assert token_flags(places, [(7, 10)]) == [False, False, True, False]
    assert token_flags(places, []) == [False] * 4
    assert token_scores([], []) == []


def test_macro_f1_by_hand() -> None:
    # flagged: 1 of 2 found is right, 1 of 2 there is found: F1 .5; the others: 2 of 3 and 2 of 3
    predicted, true = [True, True, False, False, False], [True, False, True, False, False]
    assert macro_f1(predicted, true) == pytest.approx((0.5 + 2 / 3) / 2)
    # nobody flags: the flagged class has F1 0
    assert macro_f1([False, False], [False, False]) == 0.5


def test_the_best_threshold_by_hand() -> None:
    assert best_macro_f1([1.0, 0.25, 1.0], [False, True, False]) == 1.0
    # at .1: F1 2/3 and 6/7; at .4 one false alarm more: 1/2 and 2/3
    best = best_macro_f1([0.1, 0.4, 1.0, 1.0, 1.0], [True, False, True, False, False])
    assert best == pytest.approx((2 / 3 + 6 / 7) / 2)
    # the thresholds are 1, 1.44, 1.89 ... 5, so none is between 1.1 and 1.3
    best = best_macro_f1([1.0, 1.1, 1.3, 5.0], [True, True, False, False])
    assert best == pytest.approx(max((2 / 3 + 0.8) / 2, 0.7333))
    # one value: all are flagged
    assert best_macro_f1([1.0, 1.0], [False, True]) == pytest.approx((2 / 3) / 2)
    assert isnan(best_macro_f1([], []))
    with pytest.raises(ValueError, match="got 1 scores and 0 flags"):
        best_macro_f1([0.5], [])


@given(st.lists(st.tuples(st.floats(1, 5), st.booleans()), min_size=1))
def test_it_is_the_best_of_ten_thresholds(tokens: list[tuple[float, bool]]) -> None:
    scores, flags = [score for score, _ in tokens], [flag for _, flag in tokens]
    thresholds = np.linspace(min(scores), max(scores), 10)
    tried = [macro_f1([score <= at for score in scores], flags) for at in thresholds]
    assert best_macro_f1(scores, flags) == pytest.approx(max(tried))
