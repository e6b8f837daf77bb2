"""One judge for all ranks, on rank 0: the questions of all ranks are gathered, asked together, the answers scattered.

    judge = Rank0Judge(VllmJudge("smollm2"))      # on every rank; only rank 0 loads the model
    judge.start()
    with judge:                                   # on every rank, also where there is nothing to ask
        judge.rate(questions)                     # as often as each rank likes

Metrics ask in waves, and how many depends on the data. So within the outermost `with` every call is one round of all
ranks: each says what it asks, and a rank at the end of its `with` says that it is done, until all are. Every rank
enters the same judges in the same order, or none does. A cache goes inside, `Rank0Judge(CachedJudge(judge))`: around,
it would let a rank that knows all its answers stay away.

Without a process group, or with one rank, the inner judge is called as if this one were not there.
"""

import logging
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

import torch
import torch.distributed as dist

from rewards.judges.judge import RATING_SCALE, Failure, Judge, Question, Rating
from rewards.judges.shared.rounds import Rounds
from rewards.judges.usage import Usage
from rewards.verdict import Status

log = logging.getLogger(__name__)

_LOCK = threading.RLock()  # a round is one thread's


@dataclass(frozen=True, slots=True)
class _JudgeCall:
    """A call of `rate` (with a scale) or of `write` (with a length). judge: its place among the judges entered."""

    judge: int
    scale: tuple[str, ...]
    max_tokens: int
    questions: Sequence[Question]

    @property
    def kind(self) -> tuple[Any, ...]:
        """Calls of one kind are put to the judge as one."""
        return self.judge, self.scale, self.max_tokens


class _Session:
    """From the first `with` of any judge of this process to its end. Judges within it share the rounds: a rank that
    asked one judge would wait for ever for a rank that asks another.
    """

    def __init__(self, timeout: float) -> None:
        self.rounds = Rounds(timeout)
        self.judges: list[Rank0Judge] = []
        self.depth = 0

    def finish(self) -> None:
        """Answer rounds until every rank is done."""
        while self.rounds.trouble is None and not self.rounds.exchange(None, self._serve):
            pass

    def end(self) -> None:
        self.rounds.close()
        for judge in self.judges:
            judge._rest()

    def ask(self, asked: _JudgeCall) -> list[Any]:
        """One round, or several until rank 0 has come to this judge: an answer per question, or why there is none."""
        answers: Any = None
        while answers is None and self.rounds.trouble is None:
            answers = self.rounds.exchange(asked, self._serve)
        return answers if self.rounds.trouble is None else [self.rounds.trouble] * len(asked.questions)

    def _serve(self, messages: Sequence[_JudgeCall | None]) -> list[Any]:
        """On rank 0: a list of answers for each rank that asks, None where rank 0 has yet to enter the judge, and for a
        rank that is done whether all are.
        """
        together: dict[tuple[Any, ...], list[int]] = {}
        for rank, asked in enumerate(messages):
            if asked is not None:
                together.setdefault(asked.kind, []).append(rank)
        replies: list[Any] = [not together] * len(messages)
        for ranks in together.values():
            calls = [asked for rank in ranks if (asked := messages[rank]) is not None]
            if calls[0].judge >= len(self.judges) and messages[0] is not None:
                for rank in ranks:
                    replies[rank] = None
                continue
            answers = iter(self._put(calls[0], [question for call in calls for question in call.questions]))
            for rank, call in zip(ranks, calls, strict=True):
                replies[rank] = [next(answers) for _ in call.questions]
        return replies

    def _put(self, kind: _JudgeCall, questions: Sequence[Question]) -> Sequence[Any]:
        """Put questions of this kind to their judge."""
        if kind.judge >= len(self.judges):
            wrong = "rank 0 has not entered this judge: enter the same judges in the same order on every rank"
            return [Failure(Status.ERROR, wrong)] * len(questions)
        try:
            return self.judges[kind.judge]._answer(kind, questions)
        except Exception as error:
            log.exception("the judge on rank 0 failed on %d questions of all ranks", len(questions))
            return [Failure(Status.ERROR, f"the judge on rank 0: {type(error).__name__}: {error}")] * len(questions)


_session: _Session | None = None


class Rank0Judge(Judge):
    """One judge for all ranks, on rank 0. A round that fails makes Failures of what it asked and of all that follows
    until the outermost `with` ends; the next one begins anew.

    Args:
        judge: any judge, whose settings must be the same on every rank.
        timeout: seconds that a rank waits for the others in one round, so more than the judge needs for the questions
            of all, and for its start where `start` was not called before.
    """

    def __init__(self, judge: Judge, timeout: float = 1800.0) -> None:
        self.judge = judge
        self.deadline = judge.deadline
        self.timeout = timeout
        self._questions = 0
        self._timeouts = 0
        self._awake = False

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.judge, self.timeout)

    @property
    def name(self) -> str:
        """The inner judge's, as this rank sees it: no rank waits for another here."""
        return self.judge.name

    @property
    def usage(self) -> Usage:
        """Sums over ranks are right: `questions` are this rank's own, all else is counted where the judge is."""
        inner = self.judge.usage
        return replace(inner, questions=self._questions, timeouts=inner.timeouts + self._timeouts)

    def start(self) -> None:
        """Start the inner judge on rank 0. Raises there what keeps it from starting; no rank waits for another."""
        if _rank() == 0:
            self.judge.start()

    def close(self) -> None:
        """End the inner judge, which the other ranks never started."""
        self.judge.close()

    def __enter__(self) -> Self:
        """Raises RuntimeError where several ranks run without a process group."""
        global _session
        with _LOCK:
            if _alone():
                self.judge.__enter__()
                return self
            if _session is None:
                if torch.cuda.is_available():
                    torch.cuda.empty_cache()  # before the first round, so before an engine on several devices wakes
                _session = _Session(self.timeout)
            if self not in _session.judges:
                _session.judges.append(self)
            _session.depth += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """At the end of the outermost `with`: answer rounds until every rank is done, unless interrupted."""
        global _session
        with _LOCK:
            if _session is None:
                self.judge.__exit__(kind, error, trace)
                return
            _session.depth -= 1
            if _session.depth:
                return
            session = _session
            try:
                if kind is None or issubclass(kind, Exception):
                    session.finish()
            finally:
                _session = None
                session.end()

    def rate(self, questions: Sequence[Question], scale: Sequence[str] = RATING_SCALE) -> list[Rating | Failure]:
        """The inner judge's ratings, in order. Whatever it raises on rank 0 is a Failure on all ranks that asked."""
        with _LOCK, self:
            self._questions += len(questions)
            return self.judge.rate(questions, scale) if _session is None else self._ask(questions, tuple(scale), 0)

    def write(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """The inner judge's texts, as `rate`."""
        with _LOCK, self:
            self._questions += len(questions)
            return self.judge.write(questions, max_tokens) if _session is None else self._ask(questions, (), max_tokens)

    def _ask(self, questions: Sequence[Question], scale: tuple[str, ...], max_tokens: int) -> list[Any]:
        assert _session is not None
        answers = _session.ask(_JudgeCall(_session.judges.index(self), scale, max_tokens, list(questions)))
        trouble = _session.rounds.trouble
        self._timeouts += len(questions) * (trouble is not None and trouble.status is Status.TIMEOUT)
        return answers

    def _answer(self, kind: _JudgeCall, questions: Sequence[Question]) -> Sequence[Any]:
        """On rank 0: the inner judge's answers; it is awake from now on."""
        if not self._awake:
            self.judge.__enter__()
            self._awake = True
        return self.judge.rate(questions, kind.scale) if kind.scale else self.judge.write(questions, kind.max_tokens)

    def _rest(self) -> None:
        if self._awake:
            self._awake = False
            self.judge.__exit__(None, None, None)


def _rank() -> int:
    return dist.get_rank() if dist.is_initialized() else int(os.environ.get("RANK", "0"))


def _alone() -> bool:
    """Whether there is one rank. Raises RuntimeError where there are several, and no way to speak to them."""
    if dist.is_initialized():
        return dist.get_world_size() == 1
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if ranks > 1:
        raise RuntimeError(
            f"one judge for {ranks} ranks needs their process group: enter it after the training arguments are made, "
            "or give every rank a judge of its own."
        )
    return True
