"""Marked words by hand, and the sweep over thresholds against trying each of them."""

from math import isnan

import pytest
from hypothesis import given, strategies as st

from experiments.labels.span_statistics import best_macro_f1, word_flags, word_scores


def macro_f1(predicted: list[bool], true: list[bool]) -> float:
    """The mean of the F1 of the flagged words and of the others."""

    def f1(flag: bool) -> float:
        both = sum(p == t == flag for p, t in zip(predicted, true, strict=True))
        total = predicted.count(flag) + true.count(flag)
        return 2 * both / total if total else 0.0

    return (f1(True) + f1(False)) / 2


def test_a_word_has_the_lowest_score_that_touches_it() -> None:
    text = "A dark red cat."
    assert word_scores(text, [(2, 10, 0.5), (7, 15, 0.25)]) == [1.0, 0.5, 0.25, 0.25]
    assert word_flags(text, [(7, 10)]) == [False, False, True, False]
    assert word_scores("", []) == []


def test_macro_f1_by_hand() -> None:
    # flagged: 1 of 2 found is right, 1 of 2 there is found: F1 .5; the others: 2 of 3 and 2 of 3
    assert macro_f1([True, True, False, False, False], [True, False, True, False, False]) == pytest.approx(
        (0.5 + 2 / 3) / 2
    )
    assert macro_f1([False, False], [False, False]) == 0.5  # nobody flags: the flagged class has F1 0


def test_the_best_threshold_by_hand() -> None:
    assert best_macro_f1([1.0, 0.25, 1.0], [False, True, False]) == 1.0
    # at .1: F1 2/3 and 6/7; at .4 one false alarm more: 1/2 and 2/3
    assert best_macro_f1([0.1, 0.4, 1.0, 1.0, 1.0], [True, False, True, False, False]) == pytest.approx(
        (2 / 3 + 6 / 7) / 2
    )
    assert isnan(best_macro_f1([], []))
    with pytest.raises(ValueError, match="got 1 scores and 0 flags"):
        best_macro_f1([0.5], [])


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), st.booleans()), min_size=1))
def test_it_is_the_best_of_all_thresholds(words: list[tuple[float, bool]]) -> None:
    scores, flags = [score for score, _ in words], [flag for _, flag in words]
    tried = [macro_f1([score <= at for score in scores], flags) for at in (-1.0, *scores)]
    assert best_macro_f1(scores, flags) == pytest.approx(max(tried))
