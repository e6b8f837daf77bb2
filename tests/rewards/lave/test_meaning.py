# ruff: noqa: RUF001
"""What a careful reader tells apart stays apart in every measure of answers, and no more.

An answer that names several letters is the set of them: no part of it, and no other set.
"""

import time
from typing import Any

import pytest

from experiments.field.answers import is_right, meaning_cases
from spanreward.rewards import LaveReward, MatchJudge, Sample
from spanreward.rewards.base.verdict import Unread
from spanreward.rewards.language.letter_lists import letters_listed
from spanreward.rewards.lave.compared import answer_in, with_option
from spanreward.rewards.lave.options import named_option, options_of
from spanreward.rewards.lave.vqa import token_f1, vqa_accuracy
from tests.support.paths import DATA

FIELD = DATA.parent / "field" / "meaning.jsonl"
ANIMALS = "Which animal is it?\nA. a horse\nB. a cow\nC. a small goat\nD. none of these"
PLAIN = "Which?"
NUMBERED = "Which animals?\n1. a horse\n2. a cow\n3. a small goat\n4. none of these"
BOTH = "Which colours?\nA. red\nB. blue\nC. Both A and B\nD. none"
CATS = {"options": ["a cat", "a dog", "a bird"]}


@pytest.mark.skipif(not FIELD.is_file(), reason=f"the cases are not at {FIELD}")
def test_the_cases_of_the_field_keep_their_meaning() -> None:
    cases = meaning_cases(FIELD.parent)
    assert len(cases) >= 26
    assert [case for case in cases if not is_right(case)] == []


def scores(question: str, completion: str, right: str, columns: Any = None) -> tuple[Any, float]:
    answers = (right,) * 10
    sample = Sample("", completion, question=question, answers=answers, columns=columns or {})
    (verdict,) = LaveReward(MatchJudge()).assess([sample])
    return verdict.score, vqa_accuracy(completion, answers, question, columns)


OTHERS = ["A. a horse B. a cow", "a horse", "B. a horse", "It is not a cow", "A, B, C, D"]
APART: list[Any] = [
    ("What is the temperature?", "-7 °C", "7 °C"),
    ("What angle is it?", "30°", "30%"),
    ("What does it cost?", "$5.10", "$5.01"),
    ("What does it cost?", "€5", "$5"),
    ("What is the score?", "3-2", "2-3"),
    ("What date?", "04/05/2019", "05/04/2019"),
    ("What time is it?", "10:15", "15:10"),
    ("What is the rule?", "n ≥ 3", "n ≤ 3"),
    ("What is the formula?", "a ≠ b", "a = b"),
    ("What is the formula?", "x - 2", "x + 2"),
    ("What is it?", "2^10", "210"),
    ("What is the area?", "10²", "102"),
    ("How many degrees?", "minus 12", "12"),
    ("What population?", "1,500", "15,00,0"),
    ("How many?", "1.5 million", "1.5"),
    ("Which language is it?", "C#", "C"),
    ("What grade?", "B+", "B"),
    ("Which blood group?", "O-", "O+"),
    ("Which algorithm?", "A*", "A"),
    ("Which arrow?", "←", "→"),
    ("Which rating?", "★★★", "★★"),
    ("What share?", "\\frac{1}{4}", "4"),
    ("What share?", "\\boxed{\\frac{5}{3}}", "3/5"),
    ("Which version?", "2.1.3", "2.3.1"),
    ("What is y?", "y = -x", "y = x"),
    ("What is it?", "±3", "3"),
    ("Is there a dog?", "Yes, there is no dog. No.", "yes"),
    ("Is there a dog?", "There is a dog.", "no"),
    ("Is there a dog in the picture?", "There is no dog in the picture.", "yes"),
    ("Is the dog black?", "The cat is black.", "yes"),
    ("Is the dog black?", "The dog is white.", "yes"),
    ("Is there a dog?", "There might be a dog, I am not sure.", "yes"),
    *((ANIMALS, text, "B") for text in OTHERS),
    ("选哪个？\nA. 马\nB. 牛", "不是B", "B"),
]
SAME: list[Any] = [
    ("How many people?", "12,500", "12500"),
    ("What share?", ".25", "0.25"),
    ("What is the score?", "3–2", "3-2"),
    ("What ratio?", "3 : 4", "3:4"),
    ("How cold is it?", "−7°C", "-7 °C"),
    ("What is it?", "-3.50", "-3.5"),
    ("What is it?", "x<5", "x < 5"),
    ("How many?", "**-3**", "-3"),
    ("What is x?", "$\\boxed{-3}$", "-3"),
    ("Which language?", "**C++**.", "C++"),
    ("What grade?", '"A-"', "A-"),
    ("How many birds are there?", "twenty-one", "21"),
    ("How many birds are there?", "one hundred and five", "105"),
    ("How many eggs are there?", "There are twelve eggs.", "12"),
    ("How many birds can be seen?", "No birds can be seen.", "0"),
    ("How many people are there?", "There are none.", "0"),
    ("Which one?\na) red fox\nb) grey wolf\nc) dog", "The answer is b) grey wolf.", "b"),
    ("What is it? Options: A. red fox B. grey wolf C. dog", "C", "dog"),
    ("这是什么？\nＡ．猫\nＢ．狗\nＣ．鸟", "狗", "B"),
    ("这是什么？\nA、猫\nB、狗\nC、鸟", "选B", "B"),
    ("这是什么？\nA、猫\nB、狗\nC、鸟", "我认为正确选项是C。", "C"),
    ("What is it?\n1. a cat\n2. a dog\n3. a bird", "a dog", "2"),
    ("What is it?", "C", "a bird", CATS),
    ("What is it?", "a dog", "B", {"choices": {"A": "a cat", "B": "a dog"}}),
    (ANIMALS, "The animal in the picture is a cow, so the answer is B.", "B"),
    (ANIMALS, "B. a cow\n\nThe animal has horns and an udder.", "B"),
    (ANIMALS, "THE CORRECT ANSWER IS C. D IS WRONG.", "C"),
    (ANIMALS, "The final answer is C.\n\n$\\boxed{C}$", "C"),
    (ANIMALS, "So it is \\boxed{\\text{B. a cow}}", "B"),
    ("どれですか？\nA. 猫\nB. 犬\nC. 鳥", "答えはBです。", "B"),
    ("어느 것입니까?\nA. 고양이\nB. 개\nC. 새", "정답은 B입니다.", "B"),
    ("Is the man wearing a hat?", "The man is wearing a hat.", "yes"),
    ("Are there any cars on the street?", "There are cars on the street.", "yes"),
    ("Is the man wearing a hat?", "The man is not wearing a hat.", "no"),
    ("Are there any cars on the street?", "There are no cars on the street.", "no"),
    ("Is there a dog?", "Yes, there is a dog, not a cat.", "yes"),
    ("Is the door open?", "No, the door is closed.", "no"),
    ("Is it raining?", "Yes, without a doubt.", "yes"),
]


@pytest.mark.parametrize("case", APART)
def test_what_differs_is_not_paid(case: Any) -> None:
    lave, accuracy = scores(*case)
    assert lave in (0.0, 0.5)
    assert accuracy == 0.0


@pytest.mark.parametrize("case", SAME)
def test_what_says_the_same_is_paid(case: Any) -> None:
    assert scores(*case) == (1.0, 1.0)


def test_token_f1_keeps_signs_and_a_vitamin_is_no_option() -> None:
    assert options_of("Vitamin A. Is it healthy?", {}) == {}
    assert token_f1("-40", ["40"]) == token_f1("2/3", ["3/2"]) == 0.0
    assert token_f1("\u221240", ["-40"]) == token_f1("7.50", ["7.5"]) == 1.0


LAMPS = {"A": "kettle", "B": "lamp"}


IN_COLUMN = [["kettle", "lamp"], LAMPS, "['kettle', 'lamp']", ["A. kettle", "B. lamp"]]
IN_QUESTION = ["\nA. kettle\nB. lamp", " (A) kettle (B) lamp", " A) kettle, B) lamp"]
IN_QUESTION += [
    "\n- A: kettle\n- B: lamp\nAnswer with the letter.",
    "\uff21\uff0ekettle\u3000\uff22\uff0elamp",
]


@pytest.mark.parametrize("options", IN_QUESTION)
def test_options_in_a_question(options: str) -> None:
    assert options_of(f"Which?{options}", {}) == LAMPS


@pytest.mark.parametrize("column", IN_COLUMN, ids=str)
def test_options_in_a_column(column: Any) -> None:
    assert options_of("Which?", {"options": column}) == LAMPS


@pytest.mark.parametrize(
    "answer", ["A or B", "A, B", "a cow and a horse", "B. a horse", "not B", "maybe B", "A B"]
)
def test_an_answer_that_names_several_options_names_none(answer: str) -> None:
    assert named_option(answer, options_of(ANIMALS, {})) == ""


def test_what_stands_around_the_answer_is_unread() -> None:
    text = "It barks.\nAnswer: a *dog* now\nBye"
    sample = Sample("", text, question="What is it?", answers=("dog",) * 4)
    (verdict,) = LaveReward(MatchJudge()).assess([sample])
    (span,) = verdict.spans
    outside = "outside the answer"
    assert verdict.unread[0] == Unread(0, span.start - 1, outside)
    assert verdict.unread[-1] == Unread(text.index("Bye"), len(text), outside)
    assert {unread.kind for unread in verdict.unread} == {outside, "Markdown"}
    (published,) = LaveReward(MatchJudge(), mode="published").assess([sample])
    assert published.unread == ()


def test_the_answer_of_one_part_alone_is_judged() -> None:
    text = "<caption>A cat.</caption><reply>It is a *dog*.</reply>"
    sample = Sample("", text, question="What is it?", answers=("dog",) * 4)
    (verdict,) = LaveReward(MatchJudge(), judged_part="reply").assess([sample])
    (span,) = verdict.spans
    assert (verdict.score, text[span.start : span.end]) == (1.0, "a *dog")
    (missing,) = LaveReward(MatchJudge(), judged_part="gone").assess([sample])
    assert (missing.score, missing.status.value) == (0.0, "empty")


SIGNS = ["1+", "x-", "-", "1,111", "one ", "A. ", "<", "(", "no ", "a:b ", "选B", "5 < ", "^2"]
LISTS = ["A, ", "A and ", "A\n", "as well ", "(A) ", "A. a horse, "]


@pytest.mark.parametrize("piece", [*SIGNS, *LISTS])
def test_signs_and_lists_take_linear_time(piece: str) -> None:
    text = piece * (10_000 // len(piece))
    start = time.process_time()
    for right in ("B", "5") if piece in SIGNS else ("A, C", "C"):
        scores(ANIMALS, text, right)
    assert time.process_time() - start < 6  # quadratic time would be more


@pytest.mark.parametrize(("right", "worth"), [("C, A, B", [1, 0, 0]), ("A, B, C", [1, 1, 1])])
def test_an_order_of_letters_is_no_choice_of_several(right: str, worth: list[int]) -> None:
    question = "Put them in order.\nA. a kettle\nB. a lamp\nC. a glove"
    reward = LaveReward(MatchJudge(), rationale=False)
    answers = ["C, A, B", "A, B, C", "B, A, C"]
    assert reward([""] * 3, answers, question=question, answers=[[right] * 3] * 3) == worth


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
