"""What every judge does: rate a question on a scale of single tokens, or write a short text.

    ratings = judge.rate([Question(messages=[{"role": "user", "content": "Rate from 1 to 5: ..."}])])
    ratings[0].mean                    # 3.7, unless ratings[0] is a Failure

A judge never raises for one bad question: its place in the answer holds a Failure. `with judge:` keeps it awake over
several calls and is re-entrant. Metrics build Questions; judges know nothing of metrics.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Any, Self

from rewards.judges.usage import Usage
from rewards.verdict import Status

RATING_SCALE = ("1", "2", "3", "4", "5")


@dataclass(frozen=True, slots=True)
class Question:
    """A chat for the judge.

    Attributes:
        messages: [{"role", "content"}] with string content.
        images: PIL images that they speak of.
        probe: the same question as typed data, for judges that answer without reading prose (MatchJudge).
        description: characters [start, end) of the last message's content that may be left out from their end where
            the chat is too long for the judge; nothing may where it is empty. A place and not a text, as a text may
            occur twice.
        top: 0 reads a rating from exactly the tokens that are an entry of the scale. Above, as published code does:
            from so many of the likeliest tokens, each for every entry that its text contains ("12" for 1 and 2),
            however little of the probability they have.
    """

    messages: Sequence[Mapping[str, str]]
    images: tuple[Any, ...] = ()
    probe: Any = None
    description: tuple[int, int] = (0, 0)
    top: int = 0


@dataclass(frozen=True, slots=True)
class Rating:
    """A distribution over the scale's entries, renormalised to sum 1.

    Attributes:
        probabilities: by the scale's entries.
        mass: the probability, in [0, 1], that had fallen on the scale before renormalising.
        cut: characters at the end of the question's description that the judge did not read, since they did not fit.
    """

    probabilities: Mapping[str, float]
    mass: float = 1.0
    cut: int = 0

    @property
    def mean(self) -> float:
        """Expectation of the scale's value, in the scale's units (HarmonicEval eq. 1; PoSh section 5)."""
        return sum(float(entry) * p for entry, p in self.probabilities.items())

    @property
    def std(self) -> float:
        """Standard deviation in the scale's units (HarmonicEval eq. 4)."""
        mean = self.mean
        variance = sum((float(entry) - mean) ** 2 * p for entry, p in self.probabilities.items())
        return max(variance, 0.0) ** 0.5


@dataclass(frozen=True, slots=True)
class Failure:
    """The place of an answer that never came. status is UNPARSED, TIMEOUT or ERROR."""

    status: Status
    message: str


def by_reading(
    questions: Sequence[Question], rate: Callable[[list[Question], int], Sequence[Rating | Failure]]
) -> list[Rating | Failure]:
    """The answers of `rate(questions, top)` in order, asked once for each `Question.top` that occurs."""
    answers: dict[int, Rating | Failure] = {}
    for top in dict.fromkeys(question.top for question in questions):
        numbers = [number for number, question in enumerate(questions) if question.top == top]
        answers |= zip(numbers, rate([questions[number] for number in numbers], top), strict=True)
    return [answers[number] for number in range(len(questions))]


class Judge(ABC):
    """Anything that rates and writes.

    A judge of your own defines `name`, `rate` and `write`. The rest has defaults that suit one which has nothing to
    start, is always awake, and answers in this process for as long as it takes.

    Attributes:
        remote: whether it answers outside this process, asleep at no time, and speaks to no other rank. It may then be
            asked from a thread, while this process computes something else.
        deadline: the seconds, at most, from the outermost `with judge:` until it has answered or given up; None is no
            limit.
    """

    remote: bool = False
    deadline: float | None = None

    @property
    @abstractmethod
    def name(self) -> str:
        """Model and settings: equal names give equal answers."""

    @abstractmethod
    def rate(self, questions: Sequence[Question], scale: Sequence[str] = RATING_SCALE) -> list[Rating | Failure]:
        """A distribution over the scale for every question, in order, or why there is none."""

    @abstractmethod
    def write(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """A text of at most max_tokens tokens for every question, in order, or why there is none."""

    @cached_property
    def usage(self) -> Usage:
        """What it has done so far; who counts, counts here."""
        return Usage()

    def start(self) -> None:  # noqa: B027  # most judges have nothing to start
        """Load or start what it needs, better before the trainer is built. Raises what keeps it from starting."""

    def close(self) -> None:  # noqa: B027
        """End what was started; the next use starts it again."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None
