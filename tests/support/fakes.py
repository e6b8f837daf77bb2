"""Judges without a model, for tests."""

import hashlib
import math
from collections.abc import Callable, Sequence

from spanreward.rewards.base.verdict import Status
from spanreward.rewards.judges.judge import RATING_SCALE, Failure, Judge, Question, Rating


class FakeJudge(Judge):
    """Ratings and rewrites as functions of the prompt; keeps every call.

    By default ratings are the oracle's (data/README.md): weights 1 + byte of the prompt's sha256.
    `fails` marks prompts whose answer is a Failure.
    """

    name = "fake"

    def __init__(
        self,
        rate: Callable[[str], Rating | Failure] | None = None,
        fails: Callable[[str], bool] = lambda prompt: False,
    ) -> None:
        self.answer = rate or hashed_rating
        self.fails = fails
        self.questions: list[Question] = []  # of all calls for ratings
        self.rated: list[list[str]] = []
        self.written: list[list[str]] = []

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        prompts = [prompt_of(question) for question in questions]
        self.questions += questions
        self.rated.append(prompts)
        late = Failure(Status.TIMEOUT, "too late")
        return [late if self.fails(prompt) else self.answer(prompt) for prompt in prompts]

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        prompts = [prompt_of(question) for question in questions]
        self.written.append(prompts)
        return ["the " + prompt.split('"')[1].lower() for prompt in prompts]


def asked(*prompts: str) -> list[Question]:
    return [Question([{"role": "user", "content": prompt}]) for prompt in prompts]


def prompt_of(question: Question) -> str:
    (message,) = question.messages
    return message["content"]


def hashed_rating(prompt: str) -> Rating:
    """The oracle's fake LLM, by way of log-probabilities."""
    digest = hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).digest()
    weights = [1 + byte for byte in digest[:5]]
    logs = [math.log(weight / sum(weights)) for weight in weights]
    scaled = [math.exp(log - max(logs)) for log in logs]
    return Rating({str(i): value / sum(scaled) for i, value in enumerate(scaled, start=1)})


def certain(value: int) -> Rating:
    """All the probability on one entry."""
    return Rating({entry: float(entry == str(value)) for entry in RATING_SCALE})


def criterion_of(prompt: str) -> str:
    return prompt.rsplit("Criterion: ", 1)[1].split(".")[0].lower()


def deviation(rating: Rating) -> float:
    """The standard deviation in the scale's units (HarmonicEval, equation 4)."""
    squares = ((float(entry) - rating.mean) ** 2 * p for entry, p in rating.probabilities.items())
    return sum(squares) ** 0.5
