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


def within(people: tuple[str, ...], expected: str, *texts: str) -> list[tuple[Any, str, str]]:
    """Texts in which this is the answer, for people who answer so."""
    return [(people, text, expected) for text in texts]


FOUND = [
    *within(OPEN, "dog", "dog", "dog</s>", "- `dog`!", "\u201cdog\u201d.", "ASSISTANT: dog"),
    *within(OPEN, "dog", '```json\n{"answer": "dog", "confidence": 0.9}\n```'),
    *within(OPEN, "dog", '{"answer": ["dog"], "boxes": []}', '{"animal": "dog"}'),
    *within(OPEN, "dog", '{"reasoning": "Answer: cat?", "answer": "dog"}'),
    *within(OPEN, "dog", '{"reasoning": "a cat?", "prediction": "dog"}'),
    *within(OPEN, "3", '{"answer": 3}'),
    *within(OPEN, "the dog's bed", "{'final_answer': 'the dog's bed'}"),
    *within(OPEN, 'a \\"hot\\" dog', '{"answer": "a \\"hot\\" dog"}'),
    *within(OPEN, "dog", "<|begin_of_box|>dog<|end_of_box|>", "So $\\boxed{\\text{dog}}$."),
    *within(OPEN, "\\frac{1}{2}", "\\boxed{\\frac{1}{2}} follows"),
    *within(OPEN, "dog", "<output>dog</output>", "### Answer\ndog", "**Final Answer**\n\ndog"),
    *within(OPEN, "dog", "The **answer** is: **dog**", "The answer to the question is dog."),
    *within(OPEN, "dog", "| Answer | dog |", "Answer - dog"),
    *within(OPEN, "a dog", "The correct answer is a dog.", "Answer: It is a dog."),
    *within(OPEN, "dog", "Answer: dog. It is sitting on the couch."),
    *within(OPEN, "wrong answer: cat", "wrong answer: cat"),
    *within(OPEN, "dog. Wrong answer: cat", "Answer: dog. Wrong answer: cat"),
    *within(OPEN, "The answer is not dog", "The answer is not dog."),
    *within(OPEN, "dog", "<think>Answer: cat</think>\n\ndog<|im_end|>"),
    *within(OPEN, "dog", "the template opened it</think> dog", "dog <!-- Answer: cat -->"),
    *within(OPEN, "dog", "<|channel|>final<|message|>dog<|return|>"),
    *within(OPEN, "", "<think>Answer: cat"),
    *within(OPEN, "dog (brown)", "dog (brown)"),
    *within(OPEN, "dog?", "dog?"),  # it asks
    *within(OPEN, "$5", "$5"),
    *within(OPEN, "-5", "-5"),
    *within(OPEN, "a dog", "It's a dog.", "In this image, there is a dog."),
    *within(OPEN, "a dog", "This is a picture of a dog.", "It is a dog. The dog has four legs."),
    *within(OPEN, "two", "There are two."),
    *within(OPEN, "two dogs", "I can see two dogs."),
    *within(OPEN, "playing tennis", "They are playing tennis"),
    *within(OPEN, "Dr. Smith", "It is Dr. Smith."),
    *within(OPEN, "Dog", "Dog.\n\nExplanation: It has a snout."),
    *within(OPEN, "red", "I see a car. Answer: red\nBecause it shines.", "ANSWER:\n  red  "),
    *within(OPEN, "red", "Answer: blue. Answer: red"),  # of several the last
    *within(OPEN, "red", "<think>maybe blue</think><answer>red</answer>", "<answer>red"),
    *within(OPEN, "red", "<answer>blue</answer><answer>\nred\n</answer> done"),
    *within(OPEN, "red", "<answer>Answer: red</answer>", "red\n" + LONG),
    *within(OPEN, "My answers: red", "My answers: red"),
    *within(OPEN, "red, " * 30 + "red", "red, " * 30 + "red"),  # 153 characters: short enough
    *within(OPEN, "The car is red", "The car is red." + LONG),
    *within(OPEN, "The car is 3.5 m long", "The car is 3.5 m long!" + LONG),
    *within(OPEN, SHORT, SHORT),
    *within(OPEN, "It is", SHORT + "x"),
    *within(OPEN, "(B) that one", "(B) that one"),
    *within(OPEN, "Yes, it is", "Yes, it is"),
    *within(LETTERS, "B", "(B) that one", "B. cat", "Option B", "**B**", "I think it's B."),
    *within(LETTERS, "B", "B: TV", "B. Vitamin C", "The correct option is (B)."),
    *within(LETTERS, "B", "Answer: B) a cat"),
    *within(LETTERS, "b", "b"),
    *within(("A",) * 10, "A", "(A) dog"),
    *within(NUMBERS, "two", "There are two dogs."),
    *within(BINARY, "Yes", "**Yes**, the dog is asleep.", "Yes, it is."),
    *within(BINARY, "Yes", "Yes. The man wears a hat."),
    *within(BINARY, "No", "No, it is not."),
    *within((), "Yes", "Yes, it is."),
    *within(("4",), "4", "Answer: 2+2 = 4"),
    *within(("293",), "293", "m+n = 256+37 = 293"),
    *within(("4",), "-4", "x = -4"),
    *within(("x = 4",), "x = 4", "x = 4"),
    *within(("4",), "x != 4", "x != 4"),
    *within(("cat",), "dog = cat", "dog = cat"),
    *within(("3/8",), "\\frac{3}{8}", "\\boxed{\\frac{3}{8}}"),
    *within(("0.0001",), "10^{-4}", "10^{-4}"),
    *within(("\u03b1",), "\\alpha", "$\\alpha$"),
    *within(("78",), "7&#56;", "7&#56;"),
    *within(("5",), "5", "~~~\n5\n~~~"),
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


def spelled(people: str, *texts: str) -> list[tuple[str, str]]:
    """Other ways to write what people answer."""
    return [(text, people) for text in texts]


SPELLED = [
    *spelled("dog", "dog\nQuestion: What color is the dog?\nAnswer: brown", "Ans: dog"),
    *spelled("dog", "Q: What animal is shown?\nA: dog", "dog\n\nQ: What color?\nA: brown"),
    *spelled("dog", "[ANSWER]dog[/ANSWER]", "< answer > dog < / answer >", 'final_answer("dog")'),
    *spelled("dog", '<answer type="short">dog</answer>', "🐶 «dog»。"),
    *spelled("dog", "<REASONING>It barks, no cat.</REASONING><CONCLUSION>dog</CONCLUSION>"),
    *spelled("2", "\uff12"),
    *spelled("mac & cheese", "mac &amp; cheese"),
    *spelled("men's room", "men\u2019s room"),
    *spelled("t-shirt", "t\u2011shirt"),
    *spelled("1000", "1,000"),
    *spelled("1,000", "1000"),
    *spelled("собака", "собака"),
    *spelled("красный", "Ответ: красный."),
    *spelled("长颈鹿", "答案\uff1a长颈鹿。"),
    *spelled("7", "There are two by the water and five by the trees.\n\n#### 7"),
    *spelled("สุนัข", "สุนัข"),
    *spelled("कुत्ता", "कुत्ता"),
]


@pytest.mark.parametrize(("written", "people"), SPELLED)
def test_a_spelling_changes_no_rating(written: str, people: str) -> None:
    sample = Sample("", written, question="What is it?", answers=(people,) * 10)
    (verdict,) = LaveReward("match").assess([sample])
    assert verdict.score == vqa_accuracy(written, [people] * 10) == 1.0
