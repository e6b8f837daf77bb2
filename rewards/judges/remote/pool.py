"""One model behind several servers: each question goes to one of them, and to another only where that one failed.

    pool = Pool(["http://node1:8000", "http://node2:8000"], deadline=300.0)
    pool.ask("completions", [{"model": "m", "prompt": [1, 2], "max_tokens": 1}], {})     # as Endpoint.ask

The questions, sorted, are cut into a stretch for each server: neighbours begin alike, and meet in one server's prefix
cache. A server with none left takes the later half of the longest stretch, so that a slow one is left with few.

A server that is away (no connection, no answer in time) is given up: it is asked for its list of models after growing
random pauses, and gets questions again once the list says what it said before. What it had under way, and a question
that a server failed on (any other 5xx, no JSON), goes to the next server, ATTEMPTS times in all: it may be the question
that ends them. A busy server (408, 425, 429, 502, 503, 504) has refused the question, which goes back to its stretch,
and the place that it was under way in pauses. One that refuses all questions (401, 403, 404) gets no more of this call.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from rewards.judges.judge import Failure
from rewards.judges.remote.endpoint import ATTEMPTS, Call, Endpoint, Served, ServerAnswer, Trouble, pause, run
from rewards.verdict import Status

log = logging.getLogger(__name__)


class Stretches:
    """The numbers 0 to count - 1 in as many neighbourhoods as there are takers; each is taken once."""

    def __init__(self, count: int, takers: int) -> None:
        bounds = [count * taker // takers for taker in range(takers + 1)]
        self._left = [deque(range(start, end)) for start, end in pairwise(bounds)]

    def take(self, taker: int) -> int | None:
        """The taker's next number; where it has none, of the longest stretch's later half; None when all are out."""
        own = self._left[taker]
        if not own:
            longest = max(self._left, key=len)
            own.extendleft([longest.pop() for _ in range((len(longest) + 1) // 2)])
        return own.popleft() if own else None

    def put_back(self, taker: int, number: int) -> None:
        """To be this taker's next."""
        self._left[taker].appendleft(number)


@dataclass(slots=True)
class Member:
    """A server of the pool. well: nothing was wrong since its list of models was read last; failures: how often in a
    row that ended, or the list was not to be had; said: what the list said last of the model.
    """

    endpoint: Endpoint
    well: bool = False
    failures: int = 0
    said: Served | None = None


@dataclass(slots=True)
class Work:
    """The questions of one call, by their numbers. tries: how often each was lost; posts: and sent."""

    bodies: Sequence[Mapping[str, Any]]
    stretches: Stretches
    answers: dict[int, ServerAnswer | Failure] = field(default_factory=dict)
    tries: Counter[int] = field(default_factory=Counter)
    refusals: dict[int, Failure] = field(default_factory=dict)  # by server
    posts: Counter[int] = field(default_factory=Counter)
    trouble: str = ""
    returned: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Event = field(default_factory=asyncio.Event)

    async def next(self, server: int) -> int:
        """A question for this server, when there is one."""
        while (number := self.stretches.take(server)) is None:
            self.returned.clear()
            await self.returned.wait()
        return number

    def put_back(self, server: int, number: int) -> None:
        self.stretches.put_back(server, number)
        self.returned.set()

    def settle(self, number: int, answer: ServerAnswer | Failure) -> None:
        self.answers[number] = answer
        if len(self.answers) == len(self.bodies):
            self.done.set()


class Pool:
    """urls, deadline and the others: see Endpoint. concurrency: questions under way at a time at each server.

    Raises ValueError for a url that Endpoint refuses, or that is there twice.
    """

    def __init__(
        self,
        urls: Sequence[str],
        deadline: float = 300.0,
        concurrency: int = 32,
        connect_timeout: float = 5.0,
        read_timeout: float = 60.0,
    ) -> None:
        endpoints = [Endpoint(url, deadline, concurrency, connect_timeout, read_timeout) for url in urls]
        self.url = ", ".join(endpoint.url for endpoint in endpoints)
        if len({endpoint.url for endpoint in endpoints}) < len(endpoints):
            raise ValueError(f"one of the judge's urls is there twice: {self.url}")
        self.members = [Member(endpoint) for endpoint in endpoints]
        self.deadline = deadline
        self.concurrency = concurrency
        self._agreed: Served | None = None  # what the servers' lists say of the model

    def begin(self) -> None:
        """From now until `finish` all calls share one deadline, however many there are."""
        self.members[0].endpoint.begin()

    def finish(self) -> None:
        self.members[0].endpoint.finish()

    def left(self) -> float:
        """The seconds that a call may take now."""
        return self.members[0].endpoint.left()

    def served(self, model: str) -> Served | None:
        """What the servers say they serve as this model; None where none of them has it, or says anything in time.

        Raises ValueError where two servers say different things.
        """
        return run(self._look_up(model))

    async def _look_up(self, model: str) -> Served | None:
        found = await asyncio.gather(*(member.endpoint.look_up(model) for member in self.members))
        for member, served in zip(self.members, found, strict=True):
            member.well = served is not None
        pairs = [(m.endpoint.url, served) for m, served in zip(self.members, found, strict=True) if served]
        for url, served in pairs[1:]:
            if served != pairs[0][1]:
                raise ValueError(
                    f"{pairs[0][0]} serves {facts(pairs[0][1])}, and {url} serves {facts(served)}: all servers of a "
                    "judge must serve one model, from the same hub id or path, with the same length."
                )
        silent = [member.endpoint.url for member in self.members if not member.well]
        if pairs and silent:
            log.warning("%s: no list of models with %r, so they are asked when they have it", ", ".join(silent), model)
        self._agreed = pairs[0][1] if pairs else None
        return self._agreed

    def ask(
        self,
        path: str,
        bodies: Sequence[Mapping[str, Any]],
        extras: Mapping[str, Any],
        alive: Callable[[], bool] = lambda: True,
    ) -> tuple[list[ServerAnswer | Failure], int]:
        """As `Endpoint.ask`, for bodies of one model in sorted order; nothing is waited for after the last answer.
        alive is not asked: none of the servers is ours.

        Raises ValueError where two servers' lists say different things of the model.
        """
        return run(self._ask(path, bodies, extras))

    async def _ask(
        self, path: str, bodies: Sequence[Mapping[str, Any]], extras: Mapping[str, Any]
    ) -> tuple[list[ServerAnswer | Failure], int]:
        work = Work(bodies, Stretches(len(bodies), len(self.members)))
        with suppress(TimeoutError):
            async with asyncio.timeout(self.left()):
                if self._agreed is None:
                    await self._look_up(bodies[0]["model"])
                async with asyncio.TaskGroup() as group:
                    tasks = [group.create_task(self._serve(number, path, extras, work)) for number in self._numbers]
                    await work.done.wait()
                    for task in tasks:
                        task.cancel()
        late = Failure(Status.TIMEOUT, f"no answer from {self.url} within {self.deadline:g} s{work.trouble}")
        if len(work.refusals) == len(self.members):
            late = work.refusals[0]
        retries = sum(work.posts.values()) - len(work.posts)
        return [work.answers.get(number, late) for number in range(len(bodies))], retries

    @property
    def _numbers(self) -> range:
        return range(len(self.members))

    async def _serve(self, number: int, path: str, extras: Mapping[str, Any], work: Work) -> None:
        """What one server does for a call: `concurrency` questions at a time."""
        endpoint = self.members[number].endpoint
        looking = asyncio.Lock()
        async with endpoint.client() as client, asyncio.TaskGroup() as group:
            call = Call(path=path, client=client, extras=extras)
            for _ in range(min(self.concurrency, len(work.bodies))):
                group.create_task(self._place(number, call, looking, work))

    async def _place(self, number: int, call: Call, looking: asyncio.Lock, work: Work) -> None:
        """One question after another, until it is refused all; cancelled when the last one has its answer."""
        member, troubles = self.members[number], 0
        while call.refusal is None:
            await self._until_well(member, work.bodies[0]["model"], looking)
            question = await work.next(number)
            if not member.well or call.refusal is not None:  # since we waited for a question
                work.put_back(number, question)
                continue
            work.posts[question] += 1
            try:
                answer = await member.endpoint.post(call, work.bodies[question])
            except Trouble as trouble:
                troubles += 1
                work.trouble = f"; the last trouble: {member.endpoint.url}: {trouble}"
                if trouble.patient and not trouble.away:
                    work.put_back(number, question)
                else:
                    self._lost(question, number, trouble, work)
                if not trouble.away:
                    await asyncio.sleep(trouble.after + pause(troubles))
                elif member.well:  # and no other place has said so
                    member.well = False
                    member.failures += 1
                continue
            troubles = member.failures = 0
            if answer is call.refusal:
                work.put_back(number, question)
                work.refusals[number] = call.refusal
            else:
                work.settle(question, answer)
        if len(work.refusals) == len(self.members):
            work.done.set()

    def _lost(self, question: int, number: int, trouble: Trouble, work: Work) -> None:
        """The server with this number was sent the question, and does not answer it."""
        work.tries[question] += 1
        if work.tries[question] < ATTEMPTS:
            work.put_back((number + 1) % len(self.members), question)
        else:
            url = self.members[number].endpoint.url
            work.settle(question, Failure(Status.ERROR, f"{url} failed, the last of {ATTEMPTS} times: {trouble}"))

    async def _until_well(self, member: Member, model: str, looking: asyncio.Lock) -> None:
        """Return when the server's list of models says what it must; one place looks, the others wait for it."""
        async with looking:
            while not member.well:
                if member.failures:
                    await asyncio.sleep(pause(member.failures))
                found = await member.endpoint.look_up(model)
                self._agreed = self._agreed or found
                member.well = found is not None and found == self._agreed
                if found is not None and not member.well and found != member.said:
                    other = f"{member.endpoint.url} serves {facts(found)}, where the others serve {facts(self._agreed)}"
                    log.warning("%s: it is not asked", other)
                member.said = found
                member.failures += not member.well


def facts(served: Served | None) -> str:
    """In words."""
    if served is None:
        return "nothing"
    length = f" up to {served.max_model_len} tokens" if served.max_model_len else ""
    return f"{served.id!r} from {served.root or 'nowhere that it tells'}{length}"
