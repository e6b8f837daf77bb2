"""An answer that names several letters is the set of them: no part of it, and no other set."""

import time

import pytest

from spanreward.rewards import LaveReward, MatchJudge, Sample
from spanreward.rewards.language.letter_lists import letters_listed
from spanreward.rewards.lave.compared import answer_in, with_option
from spanreward.rewards.lave.options import options_of
from spanreward.rewards.lave.vqa import vqa_accuracy

PLAIN = "Which?"
ANIMALS = "Which animals?\nA. a horse\nB. a cow\nC. a small goat\nD. none of these"
NUMBERED = "Which animals?\n1. a horse\n2. a cow\n3. a small goat\n4. none of these"
BOTH = "Which colours?\nA. red\nB. blue\nC. Both A and B\nD. none"


def scores(question: str, completion: str, right: str) -> tuple[float | None, float]:
    sample = Sample("", completion, question=question, answers=(right,) * 4)
    (verdict,) = LaveReward(MatchJudge()).assess([sample])
    return verdict.score, vqa_accuracy(completion, sample.answers, question)


JOINTS = ["A, C", "A,C", "A and C", "A & C", "A; C", "A\nC", "(A), (C)", "(A) and (C)", "AC"]
JOINTS += ["A C", "A + C", "A/C", "A plus C", "A as well as C", "A, and also C", "- A\n- C"]
JOINTS += ["C, A", "C and A", "C A", "CA", "a, c", "**A** and **C**", "['A', 'C']"]
FRAMES = ["{}.", "The answer is {}.", "The correct answers are {}.", "\\boxed{{{}}}", "Answer: {}"]


@pytest.mark.parametrize("question", [PLAIN, ANIMALS])
def test_the_same_letters_are_right_in_any_order_and_joint(question: str) -> None:
    for joined in JOINTS:
        assert scores(question, joined, "A, C") == (1.0, 1.0), joined
    for frame in FRAMES:
        assert scores(question, frame.format("A and C"), "C, A") == (1.0, 1.0), frame
    assert scores(question, '{"answer": ["A", "C"]}', "A and C") == (1.0, 1.0)
    assert scores(question, "Both A and C, not B", "A, C") == (1.0, 1.0)
    assert scores(question, "D and B", "B, D") == (1.0, 1.0)


@pytest.mark.parametrize("question", [PLAIN, ANIMALS])
def test_other_letters_are_wrong(question: str) -> None:
    others = ["A", "C", "A, B", "A, B, C", "ABC", "A, C, D", "A or C", "maybe A, C", "A, not C"]
    for joined in (*others, "A. a cow, C", "a horse", "A dog, C"):
        assert scores(question, joined, "A, C") == (0.0, 0.0), joined


@pytest.mark.parametrize("question", [PLAIN, ANIMALS])
@pytest.mark.parametrize("end", ["", "."])
def test_several_letters_are_not_one_of_them(question: str, end: str) -> None:
    for joined in (*JOINTS, "Answer: A\nC", "A, also C", "(A) and C", "A and (C)"):
        for right in ("A", "C"):
            assert scores(question, joined + end, right) == (0.0, 0.0), joined
    for alone in ("B. Vitamin C", "B", "THE ANSWER IS B, I THINK", "(B) A small one", "B\nA dog"):
        assert scores(PLAIN, alone + end, "B") == (1.0, 1.0), alone


def test_the_options_texts_say_them_too() -> None:
    for text in (
        "a horse and a small goat",
        "A. a horse, C. a small goat",
        "a small goat, a horse",
    ):
        assert scores(ANIMALS, text, "A, C") == (1.0, 1.0), text
        assert scores(ANIMALS, "A and C", text) == (1.0, 1.0), text
        assert scores(NUMBERED, text.replace("A. ", "").replace("C. ", ""), "3, 1") == (1.0, 1.0)
    assert scores(ANIMALS, "AC", "AC") == scores(ANIMALS, "ac", "AC") == (1.0, 1.0)
    options = options_of(ANIMALS, {})
    assert with_option("C and A.", options) == "A (a horse), C (a small goat)"


def test_numbered_options() -> None:
    for text in ("1, 3", "3 and 1", "1 & 3", "(1), (3)"):
        assert scores(NUMBERED, text, "1, 3") == (1.0, 1.0), text
    for text in ("1", "3", "1, 2", "1, 2, 3", "13", "1 or 3"):
        assert scores(NUMBERED, text, "1, 3") == (0.0, 0.0), text
    assert scores(NUMBERED, "1 and 3", "3") == (0.0, 0.0)


def test_an_option_that_names_letters_is_one_answer() -> None:
    for text in ("C", "C. Both A and B", "Both A and B", "The answer is C, both A and B."):
        assert scores(BOTH, text, "C") == (1.0, 1.0), text


def test_the_letter_a_of_a_list_is_no_article() -> None:
    assert answer_in("A, C", ["A, C"]) == answer_in("C and A", ["A, C"]) == "a c"
    assert scores(PLAIN, "A C", "A C") == (1.0, 1.0)
    assert scores(PLAIN, "C", "A C") == (0.0, 0.0)
    assert scores(PLAIN, "a dog and a cat", "dog and cat") == (1.0, 1.0)
    assert scores(PLAIN, "U S", "u s") == (1.0, 1.0)


def test_what_is_no_list() -> None:
    for text in ("A", "A or C", "U.S.", "TV", "B & B", "A dog, C", "I, robot", "-x, y", "A+C", ""):
        assert letters_listed(text) == (), text


@pytest.mark.parametrize("piece", ["A, ", "A and ", "A\n", "as well ", "(A) ", "A. a horse, "])
def test_lists_take_linear_time(piece: str) -> None:
    text = piece * (10_000 // len(piece))
    start = time.process_time()
    for right in ("A, C", "C"):
        scores(ANIMALS, text, right)
    assert time.process_time() - start < 6  # quadratic time would be more
