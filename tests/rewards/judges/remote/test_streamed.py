"""Requests are encoded part by part, as they are read, and the answers come back in order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spanreward import Failure, Question, Status
from spanreward.rewards.judges.encoding.chat import AHEAD
from spanreward.rewards.judges.encoding.prompt import Batch, encode_batch
from spanreward.rewards.judges.remote.streamed import StreamedRequests


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

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, questions: Sequence[Question]) -> Batch:
        self.count += len(questions)
        return encode_batch(questions, as_text, 100)


def questions_about(contents: Sequence[str]) -> list[Question]:
    return [Question([{"role": "user", "content": content}]) for content in contents]


def test_a_part_is_encoded_when_its_first_request_is_read() -> None:
    encode = Encoding()
    contents = [f"{number:04}" for number in range(2 * AHEAD + 10)]
    requests = StreamedRequests(questions_about(contents), encode, {"max_tokens": 1})
    assert encode.count == 0
    assert requests.take(0) == {"prompt": "0000", "max_tokens": 1}
    assert encode.count == AHEAD
    requests.take(AHEAD)
    assert encode.count == 2 * AHEAD
    requests.take(2 * AHEAD + 9)
    assert encode.count == len(contents) == len(requests)


def test_answers_come_back_in_the_order_of_the_questions() -> None:
    contents = ["c", "bad", "a", "bb"] * AHEAD
    requests = StreamedRequests(questions_about(contents), Encoding(), {"max_tokens": 1})
    answers: list[Any] = []
    for place in range(len(requests)):
        request = requests.take(place)
        answers.append(request if isinstance(request, Failure) else request["prompt"])
    in_order, cuts = requests.by_question(answers)
    failure = Failure(Status.ERROR, "it is bad")
    assert in_order == ["c", failure, "a", "bb"] * AHEAD
    assert cuts == [1, 0, 1, 2] * AHEAD


def test_what_was_not_read_before_the_deadline_has_its_answer_too() -> None:
    encode = Encoding()
    contents = [f"{number:04}" for number in reversed(range(3 * AHEAD))]
    requests = StreamedRequests(questions_about(contents), encode, {"max_tokens": 1})
    first = requests.take(0)
    assert isinstance(first, dict)
    late = "late"
    answers = [first["prompt"], *[late] * (3 * AHEAD - 1)]
    in_order, cuts = requests.by_question(answers)
    assert in_order.index(first["prompt"]) == contents.index(first["prompt"])
    assert in_order.count(late) == 3 * AHEAD - 1
    assert cuts == [4] * AHEAD + [0] * 2 * AHEAD
    assert encode.count == AHEAD
