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


JOINED = "A, C|A,C|A and C|A & C|A; C|A\nC|(A), (C)|(A) and (C)|AC|A C|A + C|A/C|A plus C"
JOINED += (
    "|A as well as C|A, and also C|- A\n- C|C, A|C and A|C A|CA|a, c|**A** and **C**|['A', 'C']"
)
FRAMED = "A and C.|The answer is A and C.|The correct answers are A and C.|\\boxed{A and C}"
FRAMED += '|Answer: A and C|{"answer": ["A", "C"]}|Both A and C, not B'
TEXTS = "a horse and a small goat|A. a horse, C. a small goat|a small goat, a horse"
ALONE = "B. Vitamin C|B|THE ANSWER IS B, I THINK|(B) A small one|B\nA dog"
RIGHT = [
    (PLAIN, JOINED, "A, C"), (ANIMALS, JOINED, "A, C"), (PLAIN, FRAMED, "C, A"),
    (ANIMALS, FRAMED, "C, A"), (PLAIN, "D and B", "B, D"), (ANIMALS, "D and B", "B, D"),
    (PLAIN, f"{ALONE}|{ALONE.replace('|', '.|')}", "B"), (ANIMALS, TEXTS, "A, C"),
    (ANIMALS, "A and C", TEXTS.split("|")[0]), (ANIMALS, "A and C", TEXTS.split("|")[1]),
    (ANIMALS, "A and C", TEXTS.split("|")[2]), (ANIMALS, "AC|ac", "AC"),
    (NUMBERED, TEXTS.replace("A. ", "").replace("C. ", ""), "3, 1"),
    (NUMBERED, "1, 3|3 and 1|1 & 3|(1), (3)", "1, 3"),
    # an option that names letters is one answer
    (BOTH, "C|C. Both A and B|Both A and B|The answer is C, both A and B.", "C"),
    # the letter A of a list is no article
    (PLAIN, "A C", "A C"), (PLAIN, "a dog and a cat", "dog and cat"), (PLAIN, "U S", "u s"),
]  # fmt: skip
OTHERS = "A|C|A, B|A, B, C|ABC|A, C, D|A or C|maybe A, C|A, not C|A. a cow, C|a horse|A dog, C"
SEVERAL = f"{JOINED}|Answer: A\nC|A, also C|(A) and C|A and (C)"
SEVERAL += "|" + SEVERAL.replace("|", ".|")
WRONG = [
    (PLAIN, OTHERS, "A, C"), (ANIMALS, OTHERS, "A, C"), (PLAIN, SEVERAL, "A"),
    (PLAIN, SEVERAL, "C"), (ANIMALS, SEVERAL, "A"), (ANIMALS, SEVERAL, "C"),
    (NUMBERED, "1|3|1, 2|1, 2, 3|13|1 or 3", "1, 3"), (NUMBERED, "1 and 3", "3"), (PLAIN, "C", "A C"),
]  # fmt: skip


@pytest.mark.parametrize(("question", "texts", "right"), RIGHT)
def test_the_same_letters_in_any_order(question: str, texts: str, right: str) -> None:
    for text in texts.split("|"):
        assert scores(question, text, right) == (1.0, 1.0), text


@pytest.mark.parametrize(("question", "texts", "right"), WRONG)
def test_other_letters_and_parts_of_them_are_wrong(question: str, texts: str, right: str) -> None:
    for text in texts.split("|"):
        assert scores(question, text, right) == (0.0, 0.0), text


def test_what_the_letters_are_compared_as() -> None:
    options = options_of(ANIMALS, {})
    assert with_option("C and A.", options) == "A (a horse), C (a small goat)"
    assert answer_in("A, C", ["A, C"]) == answer_in("C and A", ["A, C"]) == "a c"
    listed = "A: dog\nB: cat\nThe answer is B"  # is no announcement
    assert answer_in(listed, ["B"] * 10) == "b"


@pytest.mark.parametrize("text", [
    "A", "A or C", "U.S.", "TV", "B & B", "A dog, C", "I, robot", "-x, y", "A+C", "",
])  # fmt: skip
def test_what_is_no_list(text: str) -> None:
    assert letters_listed(text) == ()


@pytest.mark.parametrize("piece", ["A, ", "A and ", "A\n", "as well ", "(A) ", "A. a horse, "])
def test_lists_take_linear_time(piece: str) -> None:
    text = piece * (10_000 // len(piece))
    start = time.process_time()
    for right in ("A, C", "C"):
        scores(ANIMALS, text, right)
    assert time.process_time() - start < 6  # quadratic time would be more
