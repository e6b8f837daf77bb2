"""Suspicion by word: computed by hand on four words."""

import pytest

from experiments.agreement.word_suspicion import SuspectedWord, measure_words, words_of
from spanreward.rewards.base.verdict import Span, Status, Verdict


def test_a_word_is_as_suspect_as_its_worst_span() -> None:
    def span(start: int, end: int, score: float, credit: float = 0.1) -> Span:
        return Span(start, end, score=score, credit=credit, kind="entity", note="", component=start)

    spans = (span(2, 9, 0.75), span(2, 5, 0.25), span(13, 18, 0.0, credit=0.0))
    found = words_of("A red cat on Grass", Verdict(0.5, Status.OK, {}, spans), ((2, 5),))
    expected = [(2, 0.75, True), (6, 0.25, False), (13, 0.0, False)]
    assert [(word.start, word.suspicion, word.wrong) for word in found] == expected


def test_the_area_and_the_best_threshold() -> None:
    suspected = [(0.9, True), (0.6, False), (0.6, True), (0.1, False)]
    words = [SuspectedWord(n, n + 1, *suspicion) for n, suspicion in enumerate(suspected)]
    found = measure_words([words[:2], words[2:]])
    assert found["auroc"] == pytest.approx(3.5 / 4)
    assert found["f1"] == pytest.approx(2 * 2 / (3 + 2))  # flag three words: two of two found
    assert (found["texts"], found["words"], found["wrong"]) == (2, 4, 2)
