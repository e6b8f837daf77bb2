"""The one finder of answers: what it takes as the answer, and what it leaves whole."""

import time
from typing import Any

import pytest
from hypothesis import given, strategies as st

from experiments.field.answers import answer_cases
from spanreward.rewards import LaveReward, MatchJudge, Sample
from spanreward.rewards.lave.answer import find_answer
from spanreward.rewards.lave.compared import answer_in
from spanreward.rewards.lave.trimming import trimmed
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dog", "dog"), ('```json\n{"answer": "dog", "confidence": 0.9}\n```', "dog"),
        ('{"answer": ["dog"], "boxes": []}', "dog"), ('{"answer": 3}', "3"),
        ("{'final_answer': 'the dog's bed'}", "the dog's bed"), ('{"animal": "dog"}', "dog"),
        ('{"reasoning": "Answer: cat?", "answer": "dog"}', "dog"),
        ('{"reasoning": "a cat?", "prediction": "dog"}', "dog"),
        ('{"answer": "a \\"hot\\" dog"}', 'a \\"hot\\" dog'),
        ("<|begin_of_box|>dog<|end_of_box|>", "dog"), ("So $\\boxed{\\text{dog}}$.", "dog"),
        ("\\boxed{\\frac{1}{2}} follows", "\\frac{1}{2}"), ("<output>dog</output>", "dog"),
        ("### Answer\ndog", "dog"), ("**Final Answer**\n\ndog", "dog"),
        ("The **answer** is: **dog**", "dog"), ("The correct answer is a dog.", "a dog"),
        ("The answer to the question is dog.", "dog"), ("Answer: It is a dog.", "a dog"),
        ("Answer: dog. It is sitting on the couch.", "dog"),
        ("wrong answer: cat", "wrong answer: cat"),
        ("Answer: dog. Wrong answer: cat", "dog. Wrong answer: cat"),
        ("The answer is not dog.", "The answer is not dog"),
        ("<think>Answer: cat</think>\n\ndog<|im_end|>", "dog"),
        ("the template opened it</think> dog", "dog"), ("<think>Answer: cat", ""),
        ("dog <!-- Answer: cat -->", "dog"), ("dog</s>", "dog"), ("- `dog`!", "dog"),
        ("\u201cdog\u201d.", "dog"), ("dog (brown)", "dog (brown)"), ("dog?", "dog?"),  # it asks
        ("$5", "$5"), ("-5", "-5"), ("It's a dog.", "a dog"), ("There are two.", "two"),
        ("They are playing tennis", "playing tennis"), ("In this image, there is a dog.", "a dog"),
        ("This is a picture of a dog.", "a dog"), ("It is Dr. Smith.", "Dr. Smith"),
        ("ASSISTANT: dog", "dog"), ("Dog.\n\nExplanation: It has a snout.", "Dog"),
        ("<|channel|>final<|message|>dog<|return|>", "dog"), ("| Answer | dog |", "dog"),
        ("Answer - dog", "dog"), ("I can see two dogs.", "two dogs"),
        ("It is a dog. The dog has four legs.", "a dog"),
    ],
)  # fmt: skip
def test_the_answer_in_a_text(text: str, expected: str) -> None:
    assert answer(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *(
            "It is a dog. It is a cat.",
            "It is a dog. No, it is a cat.",
            "red. green. blue",
            "It is not a dog",
            "dog, cat",
        ),
        *("The dog is bigger", "There is no dog", "What animal is shown? dog"),
    ],
)
def test_what_adds_or_denies_an_answer_is_left_whole(text: str) -> None:
    """So naming several answers does not pay: no measure gives these the worth of the right one."""
    assert answer(text) == text.rstrip(".")
    assert vqa_accuracy(text, OPEN) == 0.0


@pytest.mark.parametrize(
    ("text", "answers", "expected"),
    [
        *( (text, LETTERS, "B") for text in ("(B) that one", "B. cat", "Option B", "**B**", "I think it's B.", "B: TV") ),
        *( (text, LETTERS, "B") for text in ("The correct option is (B).", "B. Vitamin C", "Answer: B) a cat") ),
        *( (text, LETTERS, text) for text in ("A) dog B) cat", "A or B", "A dog", "B is wrong", "not B") ),
        ("b", LETTERS, "b"), ("(A) dog", ("A",) * 10, "A"), ("(B) that one", OPEN, "(B) that one"),
        ("There are two dogs.", NUMBERS, "two"),
        *( (text, NUMBERS, text) for text in ("2 or 3", "one, two, three", "2.5", "2 million", "2\n3", "2 and one more") ),
        ("**Yes**, the dog is asleep.", BINARY, "Yes"), ("October 2004", NUMBERS, "October 2004"),
        ("Yes, it is.", BINARY, "Yes"), ("Yes, it is.", (), "Yes"),
        ("Yes, it is", OPEN, "Yes, it is"), ("No, it is not.", BINARY, "No"),
        ("Yes. The man wears a hat.", BINARY, "Yes"),
        *( (text, BINARY, text) for text in ("Yes and no", "yes or no", "Yes. No", "Yes, maybe", "Yes, it is not") ),
    ],
)  # fmt: skip
def test_where_people_answer_by_a_letter_a_number_or_yes_it_is_that_one(
    text: Any, answers: Any, expected: Any
) -> None:
    assert answer(text, answers) == expected


def test_the_letter_a_is_an_answer_and_no_article() -> None:
    for text, worth in (("(A) dog", 1.0), ("A", 1.0), ("B", 0.0), ("The", 0.0), ("", 0.0)):
        sample = Sample("Which?", text, question="Which?", answers=("A",) * 10)
        (verdict,) = LaveReward(MatchJudge()).assess([sample])
        measured = [
            vqa_accuracy(text, sample.answers),
            token_f1(text, sample.answers),
            verdict.score,
        ]
        assert measured == [worth] * 3, text


def test_peoples_answers_lose_their_markup_alone() -> None:
    assert vqa_accuracy("dog", ["**dog**", "dog</s>", "dog.", "it is a dog"]) == vqa_accuracy(
        "dog", ["dog"] * 3 + ["x"]
    )


SCRAPS = [
    *"aA B2.:{}[]()<>\"'\\*`\n|/#$,", "answer", "<think>", "It is ", "yes", "<answer>", "Answer: ",
]  # fmt: skip


@given(st.lists(st.sampled_from(SCRAPS), max_size=30).map("".join))
def test_any_text_has_its_answer_inside_and_an_answer_alone_is_itself(text: str) -> None:
    for answers in ((), LETTERS, NUMBERS, BINARY):
        start, end = find_answer(text, answers)
        assert 0 <= start <= end <= len(text)
        assert trimmed(text, start, end) == (start, end) or "<" in text


PIECES = [
    "<answer>", "Answer: ", "answer is ", "answer to ", '{"answer": "', '\\"', "{", "\\boxed{", "(",
    "'", "> ", "\n",
]  # fmt: skip
PIECES += [
    "<think>",
    "</think>",
    "<!--",
    "It is a. ",
    "B) ",
    "yes, ",
    "wrong answer: ",
    "a_",
    "<a",
    '{"a": ',
    "\\(",
]


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
        ("Q: What animal is shown?\nA: dog", "dog"), ("dog\n\nQ: What color?\nA: brown", "dog"),
        ("[ANSWER]dog[/ANSWER]", "dog"), ("< answer > dog < / answer >", "dog"),
        ('<answer type="short">dog</answer>', "dog"),
        ("<REASONING>It barks, no cat.</REASONING><CONCLUSION>dog</CONCLUSION>", "dog"),
        ('final_answer("dog")', "dog"), ("Ans: dog", "dog"), ("🐶 «dog»。", "dog"), ("\uff12", "2"),
        ("mac &amp; cheese", "mac & cheese"), ("men\u2019s room", "men's room"),
        ("t\u2011shirt", "t-shirt"), ("1,000", "1000"), ("1000", "1,000"), ("собака", "собака"),
        ("Ответ: красный.", "красный"), ("答案\uff1a长颈鹿。", "长颈鹿"),
        ("There are two by the water and five by the trees.\n\n#### 7", "7"), ("สุนัข", "สุนัข"),
        ("कुत्ता", "कुत्ता"),
    ],
)  # fmt: skip
def test_a_spelling_changes_no_rating(written: str, people: str) -> None:
    (verdict,) = LaveReward("match").assess(
        [Sample("", written, question="What is it?", answers=(people,) * 10)]
    )
    assert verdict.score == vqa_accuracy(written, [people] * 10) == 1.0


def test_an_option_that_is_listed_is_no_announcement() -> None:
    assert answer_in("A: dog\nB: cat\nThe answer is B", ["B"] * 10) == "b"


@pytest.mark.parametrize(
    ("text", "people", "answer"),
    [
        ("Answer: 2+2 = 4", "4", "4"), ("m+n = 256+37 = 293", "293", "293"), ("x = -4", "4", "-4"),
        ("x = 4", "x = 4", "x = 4"), ("x != 4", "4", "x != 4"), ("dog = cat", "cat", "dog = cat"),
        ("\\boxed{\\frac{3}{8}}", "3/8", "\\frac{3}{8}"), ("10^{-4}", "0.0001", "10^{-4}"),
        ("$\\alpha$", "\u03b1", "\\alpha"), ("7&#56;", "78", "7&#56;"), ("~~~\n5\n~~~", "5", "5"),
    ],
)  # fmt: skip
def test_the_answer_is_found_in_the_text_as_it_is_read(text: str, people: str, answer: str) -> None:
    start, end = find_answer(text, [people] * 10)
    assert text[start:end] == answer
