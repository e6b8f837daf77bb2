"""Stand-in judges of pairs: by a slot, a length, or a planted truth with mistakes."""

import hashlib
from collections.abc import Callable, Sequence

from spanreward.rewards.base.verdict import Status
from spanreward.rewards.judges.judge import Failure, Judge, Question, Rating
from spanreward.rewards.judges.probe import MeetsProbe, PairProbe


def certainly(letter: str, scale: Sequence[str]) -> Rating:
    return Rating({entry: float(entry == letter) for entry in scale})


class PairJudge(Judge):
    """choose: a letter from a pair's probe. meets: a level from 1 to 5. fails: which questions get
    no answer.

    Attributes:
        asked: every question put to it, by call.
    """

    name = "pair judge"

    def __init__(
        self,
        choose: Callable[[PairProbe], str] = lambda probe: "C",
        meets: Callable[[MeetsProbe], int] = lambda probe: 3,
        fails: Callable[[PairProbe | MeetsProbe], bool] = lambda probe: False,
        cut: int = 0,
    ) -> None:
        self.choose, self.meets, self.fails, self.cut = choose, meets, fails, cut
        self.asked: list[list[Question]] = []

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        self.asked.append(list(questions))
        return [self._rate(question.probe, scale) for question in questions]

    def _rate(self, probe: PairProbe | MeetsProbe, scale: Sequence[str]) -> Rating | Failure:
        if self.fails(probe):
            return Failure(Status.TIMEOUT, "too late")
        letter = self.choose(probe) if isinstance(probe, PairProbe) else str(self.meets(probe))
        return Rating(certainly(letter, scale).probabilities, cut=self.cut)

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        raise AssertionError("a judge of pairs is asked for single tokens only")


def better(quality: Callable[[str], float]) -> Callable[[PairProbe], str]:
    """Always sees which text has more of it; equal is a tie."""

    def choose(probe: PairProbe) -> str:
        difference = quality(probe.first) - quality(probe.second)
        return "A" if difference > 0 else "B" if difference < 0 else "C"

    return choose


def mistaken(
    right: Callable[[PairProbe], str], accuracy: float, seed: int = 0
) -> Callable[[PairProbe], str]:
    """The same, but with chance 1 - accuracy the other text, each order by itself."""

    def choose(probe: PairProbe) -> str:
        digest = hashlib.sha256(f"{seed}{probe!r}".encode()).digest()
        seen = int.from_bytes(digest[:6]) / 2**48 < accuracy
        return right(probe) if seen else {"A": "B", "B": "A", "C": "C"}[right(probe)]

    return choose
