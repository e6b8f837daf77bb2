"""One judge on rank 0 for all ranks. It gathers their questions, asks them together, and scatters the answers.

    judge = Rank0Judge(VllmJudge("smollm2"))      # on every rank; only rank 0 loads the model
    judge.start()
    with judge:                                   # on every rank, also on one without questions
        judge.rate(questions)                     # any number of times, different from rank to rank

The number of calls depends on the data, so it differs between ranks. Within the outermost `with`, every call is
therefore one round of all ranks. A rank that has reached the end of its `with` takes part, without questions, until all
ranks have. All ranks must enter the same judges in the same order. A cache goes inside:
`Rank0Judge(CachedJudge(judge))`. Outside, a rank whose answers are all in the cache would not join the rounds.

With one rank, or without a process group, the inner judge is called directly.
"""

import logging
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
import torch.distributed as dist

from spanreward.rewards.judges.judge import RATING_SCALE, Failure, Judge, Question, Rating
from spanreward.rewards.judges.shared.outer_judge import OuterJudge
from spanreward.rewards.judges.shared.rank_exchange import RankExchange
from spanreward.rewards.judges.usage import Usage
from spanreward.rewards.verdict import Status

log = logging.getLogger(__name__)

_LOCK = threading.RLock()  # one thread at a time takes part in rounds


@dataclass(frozen=True, slots=True)
class _JudgeCall:
    """A call of `rate` (with a scale) or of `write`. judge: its index in the order in which judges were entered."""

    judge: int
    scale: tuple[str, ...]
    max_tokens: int
    questions: Sequence[Question]

    @property
    def kind(self) -> tuple[Any, ...]:
        """The call's judge, scale and max_tokens. Calls of equal kind are put to the judge together."""
        return self.judge, self.scale, self.max_tokens


class _Session:
    """The time from the first `with` of any Rank0Judge of this process to its end.

    All judges entered in it share its rounds. Otherwise a rank that asks one judge would wait for ever for a rank that
    asks another.
    """

    def __init__(self, timeout: float) -> None:
        self.rounds = RankExchange(timeout)
        self.judges: list[Rank0Judge] = []
        self.depth = 0

    def finish(self) -> None:
        """Takes part in rounds until every rank is done."""
        while self.rounds.trouble is None and not self.rounds.exchange(None, self._serve):
            pass

    def end(self) -> None:
        self.rounds.close()
        for judge in self.judges:
            judge._rest()

    def ask(self, asked: _JudgeCall) -> list[Any]:
        """Returns an answer per question. Takes several rounds if rank 0 has not entered this judge yet."""
        answers: Any = None
        while answers is None and self.rounds.trouble is None:
            answers = self.rounds.exchange(asked, self._serve)
        return answers if self.rounds.trouble is None else [self.rounds.trouble] * len(asked.questions)

    def _serve(self, messages: Sequence[_JudgeCall | None]) -> list[Any]:
        """Makes rank 0's replies. A rank that asks gets its answers, or None if rank 0 has not entered the judge yet. A
        rank that is done gets whether all ranks are.
        """
        together: dict[tuple[Any, ...], dict[int, _JudgeCall]] = {}
        for rank, call in enumerate(messages):
            if call is not None:
                together.setdefault(call.kind, {})[rank] = call
        replies: list[Any] = [not together] * len(messages)
        for calls in together.values():
            kind = next(iter(calls.values()))
            early = kind.judge >= len(self.judges) and messages[0] is not None
            questions = [question for call in calls.values() for question in call.questions]
            answers = iter([] if early else self._put(kind, questions))
            for rank, call in calls.items():
                replies[rank] = None if early else [next(answers) for _ in call.questions]
        return replies

    def _put(self, kind: _JudgeCall, questions: Sequence[Question]) -> Sequence[Any]:
        if kind.judge >= len(self.judges):
            wrong = "rank 0 has not entered this judge: enter the same judges in the same order on every rank"
            return [Failure(Status.ERROR, wrong)] * len(questions)
        try:
            return self.judges[kind.judge]._answer(kind, questions)
        except Exception as error:
            log.exception("the judge on rank 0 failed on %d questions of all ranks", len(questions))
            return [Failure(Status.ERROR, f"the judge on rank 0: {type(error).__name__}: {error}")] * len(questions)


_session: _Session | None = None


class Rank0Judge(OuterJudge):
    """One judge on rank 0 for all ranks.

    If a round fails, its questions and all later ones in the outermost `with` become Failures. The next `with` tries
    again.

    Args:
        judge: any judge, with the same settings on every rank.
        timeout: seconds that a rank waits for the others in one round. It must be longer than the judge needs for the
            questions of all ranks, and for its start if `start` was not called before.
    """

    outermost = True  # a rank whose answers another judge has would not join the other ranks' rounds

    def __init__(self, judge: Judge, timeout: float = 1800.0) -> None:
        super().__init__(judge)
        self.remote = False
        self.timeout = timeout
        self._questions = 0
        self._timeouts = 0
        self._awake = False

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.judge, self.timeout)

    @property
    def usage(self) -> Usage:
        """`questions` counts this rank's own; the rest is counted on rank 0. So sums over ranks are right."""
        inner = self.judge.usage
        return replace(inner, questions=self._questions, timeouts=inner.timeouts + self._timeouts)

    def start(self) -> None:
        """Starts the inner judge on rank 0, and raises there if that fails. No rank waits for another."""
        rank = dist.get_rank() if dist.is_initialized() else int(os.environ.get("RANK", "0"))
        if rank == 0:
            self.judge.start()

    def __enter__(self) -> Self:
        """Raises RuntimeError if there are several ranks without a process group."""
        global _session
        with _LOCK:
            if _alone():
                self.judge.__enter__()
                return self
            if _session is None:
                if torch.cuda.is_available():
                    torch.cuda.empty_cache()  # before an engine wakes, which may use the devices of several ranks
                _session = _Session(self.timeout)
            if self not in _session.judges:
                _session.judges.append(self)
            _session.depth += 1
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: Any) -> None:
        """Takes part in rounds at the end of the outermost `with` until every rank is done, unless interrupted."""
        global _session
        with _LOCK:
            if _session is None:
                self.judge.__exit__(kind, *error)
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
        """Returns the inner judge's ratings. What it raises on rank 0 becomes Failures on all ranks that asked."""
        with _LOCK, self:
            self._questions += len(questions)
            return self.judge.rate(questions, scale) if _session is None else self._ask(questions, tuple(scale), 0)

    def write(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
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
        """Asks the inner judge, on rank 0, and leaves it awake."""
        if not self._awake:
            self.judge.__enter__()
            self._awake = True
        return self.judge.rate(questions, kind.scale) if kind.scale else self.judge.write(questions, kind.max_tokens)

    def _rest(self) -> None:
        if self._awake:
            self._awake = False
            self.judge.__exit__(None, None, None)


def _alone() -> bool:
    """Whether there is one rank. Raises RuntimeError if there are several without a process group."""
    if dist.is_initialized():
        return dist.get_world_size() == 1
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if ranks > 1:
        raise RuntimeError(
            f"one judge for {ranks} ranks needs their process group: enter it after the training arguments are made, "
            "or give every rank a judge of its own."
        )
    return True
