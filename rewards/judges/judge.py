"""The protocol every judge speaks: rate a question on a scale of single tokens, or write a short text.

    ratings = judge.rate([Question(messages=[{"role": "user", "content": "Rate from 1 to 5: ..."}])])
    ratings[0].mean                    # 3.7, unless ratings[0] is a Failure

A judge never raises for one bad question: its place in the answer holds a Failure. `with judge:` keeps it awake over
several calls and is re-entrant. Metrics build Questions; judges know nothing of metrics.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self, runtime_checkable

from rewards.judges.usage import Usage
from rewards.verdict import Status

RATING_SCALE = ("1", "2", "3", "4", "5")


@dataclass(frozen=True, slots=True)
class Question:
    """A chat for the judge. messages: [{"role", "content"}] with string content; images: PIL images they speak of.

    probe: the same question as typed data, for judges that answer without reading prose (MatchJudge). description:
    characters [start, end) of the last message's content that may be left out from their end where the chat is too long
    for the judge; nothing may where it is empty. A place and not a text, as a text may occur twice.
    """

    messages: Sequence[Mapping[str, str]]
    images: tuple[Any, ...] = ()
    probe: Any = None
    description: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Rating:
    """A distribution over the scale's entries, renormalised to sum 1.

    mass: the probability, in [0, 1], that had fallen on the scale before renormalising. cut: characters at the end of
    the question's description that the judge did not read, since they did not fit.
    """

    probabilities: Mapping[str, float]
    mass: float = 1.0
    cut: int = 0

    @property
    def mean(self) -> float:
        """Expectation of the scale's value, in the scale's units (HarmonicEval eq. 1; PoSh section 3.3)."""
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


class Judge(Protocol):
    """Anything that rates and writes. `name` identifies model and settings: equal names give equal answers."""

    @property
    def name(self) -> str: ...

    def rate(self, questions: Sequence[Question], scale: Sequence[str] = RATING_SCALE) -> list[Rating | Failure]: ...

    def write(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@runtime_checkable
class Counting(Protocol):
    """A judge that counts what it does."""

    @property
    def usage(self) -> Usage: ...


@runtime_checkable
class Startable(Protocol):
    """A judge with something to load or to start, better before the trainer is built, and to end afterwards."""

    def start(self) -> None: ...

    def close(self) -> None: ...


@runtime_checkable
class Remote(Protocol):
    """A judge that may work elsewhere."""

    @property
    def remote(self) -> bool:
        """Whether it answers outside this process, asleep at no time, and speaks to no other rank: it may then be asked
        from a thread, while this process computes something else.
        """
        ...


@runtime_checkable
class Deadlined(Protocol):
    """A judge that gives up on its questions."""

    @property
    def deadline(self) -> float | None:
        """The seconds, at most, from the outermost `with judge:` until it has answered or given up; None: no limit."""
        ...
