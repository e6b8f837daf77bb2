"""VQA accuracy and its relatives: values worked out by hand from the official definition."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from experiments.agreement.answer_metrics import contains, exact_match, soft_vqa_accuracy
from spanreward.rewards.language.answer_text import CONTRACTIONS, answer_words, normalise_answer
from spanreward.rewards.lave.vqa import token_f1, vqa_accuracy


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Two dogs.", "2 dogs"),
        ("a dog and the cat", "dog and cat"),
        ("dont know", "don't know"),
        ("youve", "you've"),  # not in the table
        ("shouldntve", "shouldn't've"),
        ("its", "its"),
        ("none", "0"),  # a comma between digits drops all punctuation
        ("ten", "10"),
        ("eleven", "eleven"),
        ("$1,000", "$1000"),
        ("black-and-white", "black and white"),  # inside a word a hyphen is a space
        ("black - white", "black white"),  # beside a space it is dropped
        ("3.5", "3.5"),
        ("u.s.a.", "usa"),
        ("right?", "right"),
        (" new\nyork ", "new york"),
        ("What? no!", "what no"),
        ("the", ""),
    ],
)
def test_normalisation(answer: str, expected: str) -> None:
    assert normalise_answer(answer) == expected


def test_contractions_lose_any_of_their_apostrophes() -> None:
    found = {form for form, full in CONTRACTIONS.items() if full == "he'd've"}
    assert found == {"hed've", "he'dve", "hedve"}


@pytest.mark.parametrize(
    ("agreeing", "accuracy"), [(0, 0.0), (1, 0.3), (2, 0.6), (3, 0.9), (4, 1.0), (10, 1.0)]
)
def test_vqa_accuracy_of_ten_answers(agreeing: int, accuracy: float) -> None:
    """The m that agree, left out, see min(1, (m - 1) / 3), the other 10 - m min(1, m / 3)."""
    others = ["cat", "bird", "cow", "cat", "fish", "pig", "cat", "hen", "ox", "ram"]
    assert vqa_accuracy("Dog", ["a dog"] * agreeing + others[agreeing:]) == pytest.approx(accuracy)


PEOPLE = ["2", "two", "2 dogs", "3", "3", "3", "many", "2.", "three", "a few"]


@pytest.mark.parametrize(
    ("answer", "people", "accuracy"),
    [
        # "2", "two" and "2." are one answer: 3 of 10, so (3 * 2/3 + 7 * 1) / 10; "3" is given 4 times
        ("Two", PEOPLE, 0.9),
        ("three", PEOPLE, 1.0),
        ("many", PEOPLE, 0.3),
        ("there are two", PEOPLE, 0.9),  # the answer in it is "two"
        ("red", ["red"] * 4, 1.0),
        ("red", ["red"] * 3 + ["blue"], (3 * 2 / 3 + 1) / 4),
        # people's answers lose their markup alone
        ("dog", ["**dog**", "dog</s>", "dog.", "it is a dog"], (3 * 2 / 3 + 1) / 4),
    ],
)
def test_vqa_accuracy_by_hand(answer: str, people: list[str], accuracy: float) -> None:
    assert vqa_accuracy(answer, people) == pytest.approx(accuracy)


def test_soft_vqa_accuracy_by_hand() -> None:
    # one insertion over four characters
    assert soft_vqa_accuracy("dog", ["dogs"] * 10) == pytest.approx(0.75)
    assert soft_vqa_accuracy("dogs", ["dog", "dogs", "dogs", "cats"]) == pytest.approx(
        (1 + 1 + 2 / 3) / 3
    )
    # more edits than characters: not below 0
    assert soft_vqa_accuracy("a much longer answer", ["dog"] * 10) == 0.0
    with pytest.raises(ValueError, match="got 2"):
        soft_vqa_accuracy("dog", ["dog"] * 2)


def test_matches_and_overlap() -> None:
    assert exact_match("A Dog.", ["cat", "dog"]) == 1.0
    assert exact_match("dogs", ["dog"]) == exact_match("", []) == 0.0
    assert contains("It was New York.", ["new york"]) == 1.0
    assert contains("two cats", ["cat"]) == 1.0
    assert contains("a dog", ["cat"]) == contains("anything", ["the"]) == 0.0
    assert token_f1("the white dog", ["dog", "big white dog"]) == pytest.approx(2 * 2 / (2 + 3))
    assert token_f1("dog", []) == 0.0


def test_words_for_loose_matching() -> None:
    assert answer_words("The café's two dogs, Röntgen\u2019s") == ["cafe", "2", "dogs", "rontgen"]


@given(st.text(max_size=30), st.lists(st.text(max_size=12), min_size=4, max_size=10))
def test_measures_stay_in_range_and_do_not_see_the_order(answer: Any, answers: Any) -> None:
    for measure in (vqa_accuracy, soft_vqa_accuracy, exact_match, contains, token_f1):
        value = measure(answer, answers)
        assert 0.0 <= value <= 1.0
        assert value == pytest.approx(measure(answer, answers[::-1]))
