"""What sentences are worth, by hand."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, strategies as st

from spanreward import HarmonicReward, Sample, Span, Verdict
from spanreward.rewards.harmonic.scores import (
    Aggregate,
    aggregate,
    parts_of_aggregate,
    read_parts,
    score_of_rating,
)
from spanreward.rewards.harmonic.spans import sentence_credit, sentence_spans
from spanreward.rewards.reward.row_reward import MOST_SENTENCES, join_sentences
from tests.support.fakes import FakeJudge, certain, criterion_of

PLACES = [(0, 6), (7, 12), (13, 20)]
ADDS = frozenset({"completeness"})


def rated(correctness: float, completeness: float, weight: float = 0.5) -> Aggregate:
    means = {"correctness": correctness, "completeness": completeness}
    weights = {"correctness": weight, "completeness": 1 - weight}
    overall = sum(weights[name] * value for name, value in means.items())
    return Aggregate(overall, weights, means, dict.fromkeys(means, 1.0))


def ablation(places: Any, *aggregates: Aggregate) -> tuple[Span, ...]:
    verdicts = [
        Verdict(score_of_rating(one.overall), parts=parts_of_aggregate(one)) for one in aggregates
    ]
    reward = HarmonicReward(FakeJudge(), criteria=list(aggregates[0].means), spans="ablation")
    return reward.spans_of(verdicts, places)


def test_credit_of_sentences_by_hand() -> None:
    whole = rated(4, 3)
    ratings = [{"correctness": c, "completeness": m} for c, m in ((5, 2), (5, 4), (2, 1))]
    moves = sentence_credit(whole, ratings, ADDS)
    # correctness: the mean is 4, and moves by (m - 4) / 2 without the sentence; completeness: 2
    # above 1, shared 1:3:0
    assert [moved["correctness"] for moved in moves] == pytest.approx([1 / 16, 1 / 16, -1 / 8])
    assert [moved["completeness"] for moved in moves] == pytest.approx([1 / 16, 3 / 16, 0])
    spans = sentence_spans(PLACES, whole, ratings, ADDS)
    assert [(span.start, span.end) for span in spans] == PLACES
    assert [span.credit for span in spans] == pytest.approx([1 / 8, 1 / 4, -1 / 8])
    assert [span.kind for span in spans] == ["correctness", "completeness", "correctness"]
    # completeness is the text's, not the sentence's
    assert [span.score for span in spans] == [1.0, 1.0, 0.25]
    assert spans[2].note == "correctness 2.0, completeness 1.0 of 5"
    assert [span.component for span in spans] == [0, 1, 2]


def test_where_sentences_only_add_up_their_own_rating_is_the_score() -> None:
    whole = Aggregate(3.0, {"completeness": 1.0}, {"completeness": 3.0}, {"completeness": 1.0})
    spans = sentence_spans(PLACES[:2], whole, [{"completeness": 2.0}, {"completeness": 1.0}], ADDS)
    assert [(span.score, span.credit) for span in spans] == [(0.25, 0.5), (0.0, 0.0)]
    nothing = sentence_spans(PLACES[:2], whole, [{"completeness": 1.0}] * 2, ADDS)
    assert [span.credit for span in nothing] == [0.0, 0.0]


ratings = st.floats(1, 5)
pairs = st.lists(
    st.fixed_dictionaries({"correctness": ratings, "completeness": ratings}), min_size=2, max_size=8
)


@given(ratings, ratings, st.floats(0, 1), pairs)
def test_credit_adds_up_and_is_fair(right: Any, full: Any, weight: Any, sentences: Any) -> None:
    """A sentence better in everything never has less credit."""
    whole = rated(right, full, weight)
    moves = sentence_credit(whole, sentences, ADDS)
    assert sum(moved["correctness"] for moved in moves) == pytest.approx(0, abs=1e-9)
    achieved = any(means["completeness"] > 1 for means in sentences)
    expected = (1 - weight) * (full - 1) / 4 if achieved else 0.0
    assert sum(moved["completeness"] for moved in moves) == pytest.approx(expected, abs=1e-9)
    for one, own in zip(sentences, moves, strict=True):
        for other, others in zip(sentences, moves, strict=True):
            if all(one[name] >= other[name] for name in one):
                assert sum(own.values()) >= sum(others.values()) - 1e-9


def test_ablation_by_hand() -> None:
    whole = rated(3, 4)
    spans = ablation(PLACES[:2], whole, rated(5, 3), rated(3, 2, weight=1.0))
    assert [span.credit for span in spans] == pytest.approx([(3.5 - 4) / 4, (3.5 - 3) / 4])
    assert [span.score for span in spans] == pytest.approx([0.4375, 0.5625])
    assert [span.kind for span in spans] == ["correctness", "completeness"]
    assert spans[0].note == "without it correctness 5.0, completeness 3.0 of 5"


def of_two_criteria(spans: Any, *texts: str) -> list[Verdict]:
    reward = HarmonicReward(FakeJudge(), criteria=["clarity", "fluency"], spans=spans)
    return reward.assess([Sample("", text) for text in texts])


def test_ablation_is_the_difference_of_two_verdicts() -> None:
    """Through the reward: the credit is the score less that of the text without the sentence."""
    text = " A red circle.  A blue square is here. They are small. "
    (verdict,) = of_two_criteria("ablation", text)
    found = [text[span.start : span.end] for span in verdict.spans]
    assert found == ["A red circle.", "A blue square is here.", "They are small."]
    shorter = [" A blue square is here. They are small. ", " A red circle.  They are small. "]
    shorter.append(" A red circle.  A blue square is here.")
    lost = [verdict.score - rest.score for rest in of_two_criteria("none", *shorter)]
    assert [span.credit for span in verdict.spans] == pytest.approx(lost)


@pytest.mark.parametrize("spans", ["sentences", "ablation"])
def test_a_wrong_sentence_is_found(spans: Any) -> None:
    def rate(prompt: Any) -> Any:
        sentence = prompt.partition("between the others:\n")[2]
        wrong = sentence.startswith("A green star") or (not sentence and "green" in prompt)
        return certain(2 if wrong and criterion_of(prompt) == "correctness" else 4)

    text = "A red circle is here. A green star is there. A blue square is above."
    options: dict[str, Any] = {"criteria": ["correctness", "clarity"], "evidence": "context"}
    reward = HarmonicReward(FakeJudge(rate=rate), spans=spans, **options)
    (verdict,) = reward.assess([Sample("", text, context="A red circle and a blue square.")])
    right, wrong, also_right = verdict.spans
    assert wrong.credit < 0 <= min(right.credit, also_right.credit)
    assert wrong.score < min(right.score, also_right.score)
    assert wrong.kind == "correctness"


@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 100, 5000])
def test_an_endless_text_has_few_pieces(count: int) -> None:
    places = [(10 * n, 10 * n + 9) for n in range(count)]
    pieces = join_sentences(places)
    assert len(pieces) == min(count, MOST_SENTENCES)
    if places:
        assert (pieces[0][0], pieces[-1][1]) == (places[0][0], places[-1][1])
    assert {start for start, _ in pieces} <= {start for start, _ in places}
    assert all(left[1] < right[0] for left, right in pairwise(pieces))


def test_all_of_the_score_is_the_only_sentence_s() -> None:
    whole = aggregate({"clarity": (0, 0, 0, 0, 1), "fluency": (0, 0, 1, 0, 0)}, 1)
    (span,) = ablation([(0, 3)], whole)
    assert (span.score, span.credit, span.kind) == (0.75, 0.75, "clarity")
    assert span.note == "clarity 5.0, fluency 3.0 of 5"
    assert read_parts(parts_of_aggregate(whole), ["clarity", "fluency"]) == whole
