"""Requests are encoded part by part, as they are read, and the answers come back in order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spanreward import Failure, Question, Status
from spanreward.rewards.judges.encoding.chat import QUESTIONS_AHEAD
from spanreward.rewards.judges.encoding.prompt import Batch, encode_batch
from spanreward.rewards.judges.remote.streamed import StreamedRequests
from tests.support.fakes import asked


@dataclass(frozen=True, order=True)
class Text:
    content: str

    @property
    def fields(self) -> dict[str, Any]:
        return {"prompt": self.content}


def as_text(question: Question, budget: int) -> tuple[Text, int]:
    content = question.messages[0]["content"]
    if content == "bad":
        raise ValueError("it is bad")
    return Text(content), len(content)


class Encoding:
    """Counts the questions that were encoded."""

    count = 0

    def __call__(self, questions: Sequence[Question]) -> Batch:
        self.count += len(questions)
        return encode_batch(questions, as_text, 100)


def streamed(contents: Sequence[str]) -> tuple[Encoding, StreamedRequests]:
    encode = Encoding()
    return encode, StreamedRequests(asked(*contents), encode, {"max_tokens": 1})


def test_a_part_is_encoded_when_its_first_request_is_read() -> None:
    encode, requests = streamed([f"{number:04}" for number in range(2 * QUESTIONS_AHEAD + 10)])
    assert encode.count == 0
    assert requests.take(0) == {"prompt": "0000", "max_tokens": 1}
    assert encode.count == QUESTIONS_AHEAD
    requests.take(QUESTIONS_AHEAD)
    assert encode.count == 2 * QUESTIONS_AHEAD
    requests.take(2 * QUESTIONS_AHEAD + 9)
    assert encode.count == 2 * QUESTIONS_AHEAD + 10 == len(requests)


def test_answers_come_back_in_the_order_of_the_questions() -> None:
    _, requests = streamed(["c", "bad", "a", "bb"] * QUESTIONS_AHEAD)
    taken = [requests.take(place) for place in range(len(requests))]
    answers = [one if isinstance(one, Failure) else one["prompt"] for one in taken]
    in_order, cuts = requests.by_question(answers)
    assert in_order == ["c", Failure(Status.ERROR, "it is bad"), "a", "bb"] * QUESTIONS_AHEAD
    assert cuts == [1, 0, 1, 2] * QUESTIONS_AHEAD


def test_what_was_not_read_before_the_deadline_has_its_answer_too() -> None:
    contents = [f"{number:04}" for number in reversed(range(3 * QUESTIONS_AHEAD))]
    encode, requests = streamed(contents)
    first = requests.take(0)["prompt"]
    in_order, cuts = requests.by_question([first, *["late"] * (3 * QUESTIONS_AHEAD - 1)])
    assert in_order.index(first) == contents.index(first)
    assert in_order.count("late") == 3 * QUESTIONS_AHEAD - 1
    assert cuts == [4] * QUESTIONS_AHEAD + [0] * 2 * QUESTIONS_AHEAD
    assert encode.count == QUESTIONS_AHEAD
