"""The one finder of answers: what it takes as the answer, and what it leaves whole."""

import time
from typing import Any

import pytest
from hypothesis import given, strategies as st

from experiments.field.answers import answer_cases
from spanreward.rewards import LaveReward, MatchJudge, Sample
from spanreward.rewards.lave.answer import SHORT_CHARACTERS, find_answer
from spanreward.rewards.lave.trimming import trimmed_range
from spanreward.rewards.lave.vqa import token_f1, vqa_accuracy
from tests.support.paths import DATA

FIELD = DATA.parent / "field" / "answers.jsonl"
LETTERS, NUMBERS, BINARY, OPEN = ("B",) * 10, ("2",) * 10, ("yes",) * 6 + ("no",) * 4, ("dog",) * 10


def answer(text: str, answers: tuple[str, ...] = OPEN) -> str:
    start, end = find_answer(text, answers)
    return text[start:end]


@pytest.mark.skipif(not FIELD.is_file(), reason=f"the cases are not at {FIELD}")
def test_every_measure_gives_the_cases_of_the_field_their_due() -> None:
    rows = answer_cases(FIELD.parent)
    assert len(rows) >= 11
    for row in rows:
        assert (row.vqa_accuracy, row.token_f1, row.lave) == (1.0, 1.0, 1.0), row.case


SHORT, LONG = "It is. " + "x" * (SHORT_CHARACTERS - 7), " It stands there." * 20
# what people answer, and texts with the answer in them
FOUND: list[tuple[tuple[str, ...], str, str]] = [
    (OPEN, text, expected)
    for text, expected in [
        ("dog", "dog"),
        ('```json\n{"answer": "dog", "confidence": 0.9}\n```', "dog"),
        ('{"answer": ["dog"], "boxes": []}', "dog"),
        ('{"answer": 3}', "3"),
        ("{'final_answer': 'the dog's bed'}", "the dog's bed"),
        ('{"animal": "dog"}', "dog"),
        ('{"reasoning": "Answer: cat?", "answer": "dog"}', "dog"),
        ('{"reasoning": "a cat?", "prediction": "dog"}', "dog"),
        ('{"answer": "a \\"hot\\" dog"}', 'a \\"hot\\" dog'),
        ("<|begin_of_box|>dog<|end_of_box|>", "dog"),
        ("So $\\boxed{\\text{dog}}$.", "dog"),
        ("\\boxed{\\frac{1}{2}} follows", "\\frac{1}{2}"),
        ("<output>dog</output>", "dog"),
        ("### Answer\ndog", "dog"),
        ("**Final Answer**\n\ndog", "dog"),
        ("The **answer** is: **dog**", "dog"),
        ("The correct answer is a dog.", "a dog"),
        ("The answer to the question is dog.", "dog"),
        ("Answer: It is a dog.", "a dog"),
        ("Answer: dog. It is sitting on the couch.", "dog"),
        ("wrong answer: cat", "wrong answer: cat"),
        ("Answer: dog. Wrong answer: cat", "dog. Wrong answer: cat"),
        ("The answer is not dog.", "The answer is not dog"),
        ("<think>Answer: cat</think>\n\ndog<|im_end|>", "dog"),
        ("the template opened it</think> dog", "dog"),
        ("<think>Answer: cat", ""),
        ("dog <!-- Answer: cat -->", "dog"),
        ("dog</s>", "dog"),
        ("- `dog`!", "dog"),
        ("\u201cdog\u201d.", "dog"),
        ("dog (brown)", "dog (brown)"),
        ("dog?", "dog?"),  # it asks
        ("$5", "$5"),
        ("-5", "-5"),
        ("It's a dog.", "a dog"),
        ("There are two.", "two"),
        ("They are playing tennis", "playing tennis"),
        ("In this image, there is a dog.", "a dog"),
        ("This is a picture of a dog.", "a dog"),
        ("It is Dr. Smith.", "Dr. Smith"),
        ("ASSISTANT: dog", "dog"),
        ("Dog.\n\nExplanation: It has a snout.", "Dog"),
        ("<|channel|>final<|message|>dog<|return|>", "dog"),
        ("| Answer | dog |", "dog"),
        ("Answer - dog", "dog"),
        ("I can see two dogs.", "two dogs"),
        ("It is a dog. The dog has four legs.", "a dog"),
        ("  dark red \n", "dark red"),
        ("I see a car. Answer: red\nBecause it shines.", "red"),
        ("**Answer:** red", "red"),
        ("A wrong answer: red", "A wrong answer: red"),
        ("ANSWER:\n  red  ", "red"),
        ("Answer: blue. Answer: red", "red"),  # of several the last
        ("<think>maybe blue</think><answer>red</answer>", "red"),
        ("<answer>blue</answer><answer>\nred\n</answer> done", "red"),
        ("<answer>red", "red"),
        ("<answer>Answer: red</answer>", "red"),
        ("My answers: red", "My answers: red"),
        ("red, " * 30 + "red", "red, " * 30 + "red"),  # 153 characters: short enough
        ("The car is red." + LONG, "The car is red"),
        ("The car is 3.5 m long!" + LONG, "The car is 3.5 m long"),
        ("red\n" + LONG, "red"),
        (SHORT, SHORT),
        (SHORT + "x", "It is"),
        ("(B) that one", "(B) that one"),
        ("Yes, it is", "Yes, it is"),
    ]
]
FOUND += [
    (LETTERS, text, "B")
    for text in [
        "(B) that one", "B. cat", "Option B", "**B**", "I think it's B.", "B: TV", "B. Vitamin C",
        "The correct option is (B).", "Answer: B) a cat",
    ]
]  # fmt: skip
FOUND += [
    (LETTERS, "b", "b"),
    (("A",) * 10, "(A) dog", "A"),
    (NUMBERS, "There are two dogs.", "two"),
    (BINARY, "**Yes**, the dog is asleep.", "Yes"),
    (BINARY, "Yes, it is.", "Yes"),
    ((), "Yes, it is.", "Yes"),
    (BINARY, "No, it is not.", "No"),
    (BINARY, "Yes. The man wears a hat.", "Yes"),
    (("4",), "Answer: 2+2 = 4", "4"),
    (("293",), "m+n = 256+37 = 293", "293"),
    (("4",), "x = -4", "-4"),
    (("x = 4",), "x = 4", "x = 4"),
    (("4",), "x != 4", "x != 4"),
    (("cat",), "dog = cat", "dog = cat"),
    (("3/8",), "\\boxed{\\frac{3}{8}}", "\\frac{3}{8}"),
    (("0.0001",), "10^{-4}", "10^{-4}"),
    (("\u03b1",), "$\\alpha$", "\\alpha"),
    (("78",), "7&#56;", "7&#56;"),
    (("5",), "~~~\n5\n~~~", "5"),
]


@pytest.mark.parametrize(("people", "text", "expected"), FOUND)
def test_the_answer_in_a_text(people: Any, text: str, expected: str) -> None:
    assert answer(text, people) == expected


@pytest.mark.parametrize(("people", "texts"), [
    (OPEN, "It is a dog. It is a cat.|It is a dog. No, it is a cat.|red. green. blue|dog, cat"),
    (OPEN, "It is not a dog|The dog is bigger|There is no dog|What animal is shown? dog"),
    (LETTERS, "A) dog B) cat|A or B|A dog|B is wrong|not B"),
    (NUMBERS, "2 or 3|one, two, three|2.5|2 million|2\n3|2 and one more|October 2004"),
    (BINARY, "Yes and no|yes or no|Yes. No|Yes, maybe|Yes, it is not"),
])  # fmt: skip
def test_what_adds_or_denies_an_answer_is_left_whole(people: Any, texts: str) -> None:
    """So naming several answers does not pay: no measure gives these the worth of the right one."""
    for text in texts.split("|"):
        assert answer(text, people) == text.rstrip(".")
        assert vqa_accuracy(text, people) == 0.0


@pytest.mark.parametrize(
    ("text", "worth"), [("(A) dog", 1.0), ("A", 1.0), ("B", 0.0), ("The", 0.0), ("", 0.0)]
)
def test_the_letter_a_is_an_answer_and_no_article(text: str, worth: float) -> None:
    people = ("A",) * 10
    sample = Sample("Which?", text, question="Which?", answers=people)
    (verdict,) = LaveReward(MatchJudge()).assess([sample])
    assert (vqa_accuracy(text, people), token_f1(text, people)) == (worth, worth)
    assert verdict.score == worth


SCRAPS = [
    *"aA B2.:{}[]()<>\"'\\*`\n|/#$,", "answer", "<think>", "It is ", "yes", "<answer>", "Answer: ",
]  # fmt: skip


@given(st.lists(st.sampled_from(SCRAPS), max_size=30).map("".join))
def test_any_text_has_its_answer_inside_and_an_answer_alone_is_itself(text: str) -> None:
    for answers in ((), LETTERS, NUMBERS, BINARY):
        start, end = find_answer(text, answers)
        assert 0 <= start <= end <= len(text)
        assert trimmed_range(text, start, end) == (start, end) or "<" in text


PIECES = [
    "<answer>", "Answer: ", "answer is ", "answer to ", '{"answer": "', '\\"', "{", "\\boxed{", "(",
    "'", "> ", "\n", "<think>", "</think>", "<!--", "It is a. ", "B) ", "yes, ", "wrong answer: ",
    "a_", "<a", '{"a": ', "\\(",
]  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
def test_hostile_texts_take_linear_time(piece: str) -> None:
    text = piece * (50_000 // len(piece))
    start = time.process_time()
    for answers in ((), LETTERS, NUMBERS):
        find_answer(text, answers)
    # 2 at most on a free core; quadratic time would be minutes
    assert time.process_time() - start < 6


@pytest.mark.parametrize(
    ("written", "people"),
    [
        ("dog\nQuestion: What color is the dog?\nAnswer: brown", "dog"),
        ("Q: What animal is shown?\nA: dog", "dog"),
        ("dog\n\nQ: What color?\nA: brown", "dog"),
        ("[ANSWER]dog[/ANSWER]", "dog"),
        ("< answer > dog < / answer >", "dog"),
        ('<answer type="short">dog</answer>', "dog"),
        ("<REASONING>It barks, no cat.</REASONING><CONCLUSION>dog</CONCLUSION>", "dog"),
        ('final_answer("dog")', "dog"),
        ("Ans: dog", "dog"),
        ("🐶 «dog»。", "dog"),
        ("\uff12", "2"),
        ("mac &amp; cheese", "mac & cheese"),
        ("men\u2019s room", "men's room"),
        ("t\u2011shirt", "t-shirt"),
        ("1,000", "1000"),
        ("1000", "1,000"),
        ("собака", "собака"),
        ("Ответ: красный.", "красный"),
        ("答案\uff1a长颈鹿。", "长颈鹿"),
        ("There are two by the water and five by the trees.\n\n#### 7", "7"),
        ("สุนัข", "สุนัข"),
        ("कुत्ता", "कुत्ता"),
    ],
)
def test_a_spelling_changes_no_rating(written: str, people: str) -> None:
    (verdict,) = LaveReward("match").assess(
        [Sample("", written, question="What is it?", answers=(people,) * 10)]
    )
    assert verdict.score == vqa_accuracy(written, [people] * 10) == 1.0
