"""A local judge gets its questions in parts; the next one is encoded while it answers."""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from spanreward import Failure, Question, Rating, Status
from spanreward.rewards.judges.encoding.chat import ChatEncoder
from spanreward.rewards.judges.encoding.prompt import Batch, Prompt
from spanreward.rewards.judges.local import local_judge
from spanreward.rewards.judges.local.local_judge import LocalJudge
from tests.support.fakes import asked
from tests.support.tokenizer import tokenizer

SECONDS = 30.0  # to wait for the other thread


class LengthJudge(LocalJudge):
    """Rates a prompt by its number of tokens: 1 or 2."""

    name = "length"
    context = 200  # type: ignore[assignment]
    sees_pictures = False  # type: ignore[assignment]
    encoder = ChatEncoder(tokenizer())  # type: ignore[assignment]

    def __init__(self, most_together: int, count: int) -> None:
        super().__init__("length")
        self.most_together, self.count = most_together, count  # count: of parts
        self.parts: list[int] = []
        self.encoded_parts = 0
        self.next_is_encoded = threading.Event()
        self.parts_ahead: list[int] = []

    def _encode_batch(self, questions: Sequence[Question], reserve: int) -> Batch:
        batch = super()._encode_batch(questions, reserve)
        self.encoded_parts += 1
        self.next_is_encoded.set()
        return batch

    def _logprobs(
        self, prompts: Sequence[Prompt], ids: list[int], top: int
    ) -> list[Mapping[int, float] | Failure]:
        assert list(prompts) == sorted(prompts)
        self.parts.append(len(prompts))
        if self.encoded_parts == len(self.parts):
            self.next_is_encoded.clear()
            self.next_is_encoded.wait(SECONDS if len(self.parts) < self.count else 0.0)
        self.parts_ahead.append(self.encoded_parts - len(self.parts))
        return [{ids[len(prompt.ids) % 2]: 0.0} for prompt in prompts]

    def _texts(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Any]:
        return [prompt.ids for prompt in prompts]

    def start(self) -> None:
        pass


@pytest.fixture(autouse=True)
def small_first_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_judge, "FIRST_PART", 4)


def questions(count: int) -> list[Question]:
    contents = [f"Rate number {number}: {'so ' * (number % 7)}" for number in range(count)]
    contents[count // 2] = "too long " * 300
    return asked(*contents)


def test_parts_are_answered_as_the_whole_is() -> None:
    whole, parted = LengthJudge(1000, 1), LengthJudge(10, 5)
    ratings = whole.rate(questions(37), ("1", "2"))
    assert parted.rate(questions(37), ("1", "2")) == ratings
    assert sum(isinstance(rating, Rating) for rating in ratings) == 36
    assert ratings[18].status is Status.ERROR
    assert (whole.parts, parted.parts) == ([36], [4, 10, 9, 10, 3])
    assert whole.write_ids(questions(37), 5) == parted.write_ids(questions(37), 5)


def test_the_next_part_is_encoded_while_one_is_answered() -> None:
    judge = LengthJudge(10, 5)
    judge.rate(questions(37), ("1", "2"))
    assert judge.parts_ahead == [1, 1, 1, 1, 0]
    assert 0 < judge.usage.encode_seconds <= judge.usage.seconds


def test_what_encoding_raises_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = LengthJudge(10, 5)
    monkeypatch.setattr(judge, "_encode_batch", lambda questions, reserve: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        judge.rate(questions(37), ("1", "2"))
