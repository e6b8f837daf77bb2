"""One server, or several servers of one model. A question goes to one server, and to another only if that one failed.

    pool = Pool([Endpoint("http://node1:8000"), Endpoint("http://node2:8000")])
    asked = pool.ask("completions", [{"model": "m", "prompt": [1, 2], "max_tokens": 1}], {}, 300.0, lambda: True)
    answers, retries = run(asked)

Sorted questions are cut into one stretch for each server: neighbours begin alike, and so meet in one prefix cache. A
server with no question left takes the later half of the longest stretch, so a slow server answers fewer.

If one of several servers is away (no connection, no answer in time), it gets no questions. It is asked for its list of
models after growing random pauses, and is used again when the list says what it said before. Its unanswered questions,
and a question that a server failed on (any other 5xx, an answer that is not JSON), go to the next server, ATTEMPTS
times in all: the question may be the cause. If a server is busy (408, 425, 429, 502, 503, 504), the question goes back
to the server's stretch, and the server gets one question fewer at a time during a pause, which is no shorter than its
Retry-After. A server without others is asked again until the deadline, also if it is away. If a server refuses all
questions (401, 403, 404), it gets no more in this call.
"""

import asyncio
import logging
import random
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise

from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.judges.remote.endpoint import Answer, Body, Call, Endpoint, Served, Trouble
from spanreward.rewards.verdict import Status

log = logging.getLogger(__name__)

ATTEMPTS = 6  # for errors that the question itself probably causes
SHORTEST, LONGEST = 0.5, 10.0  # seconds, of the longest first and the longest later pause


class Stretches:
    """The numbers 0 to count - 1 in one stretch of neighbours for each taker. Each number is taken once."""

    def __init__(self, count: int, takers: int) -> None:
        bounds = [count * taker // takers for taker in range(takers + 1)]
        self._left = [deque(range(start, end)) for start, end in pairwise(bounds)]

    def take(self, taker: int) -> int | None:
        """The taker's next number. If its stretch is empty, it gets the longest one's later half; None at the end."""
        own = self._left[taker]
        if not own:
            longest = max(self._left, key=len)
            own.extendleft([longest.pop() for _ in range((len(longest) + 1) // 2)])
        return own.popleft() if own else None

    def put_back(self, taker: int, number: int) -> None:
        """Makes the number this taker's next."""
        self._left[taker].appendleft(number)


@dataclass(slots=True)
class Member:
    """A server of the pool. well: it has worked since its list of models was last read. failures: how many times in a
    row it went away or its list was not what it must be. said: the model's last entry in its list.
    """

    endpoint: Endpoint
    well: bool = False
    failures: int = 0
    said: Served | None = None


@dataclass(slots=True)
class Work:
    """The questions of one call, by number. alive: whether the server may still answer. tries: how often each was lost.
    posts: how often each was sent.
    """

    bodies: Sequence[Body]
    stretches: Stretches
    alive: Callable[[], bool]
    answers: dict[int, Answer] = field(default_factory=dict)
    tries: Counter[int] = field(default_factory=Counter)
    refusals: dict[int, Failure] = field(default_factory=dict)  # by server
    posts: Counter[int] = field(default_factory=Counter)
    trouble: str = ""
    returned: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Event = field(default_factory=asyncio.Event)

    async def next(self, server: int) -> int:
        """Waits for a question for this server."""
        while (number := self.stretches.take(server)) is None:
            self.returned.clear()
            await self.returned.wait()
        return number

    def put_back(self, server: int, number: int) -> None:
        self.stretches.put_back(server, number)
        self.returned.set()

    def settle(self, number: int, answer: Answer) -> None:
        self.answers[number] = answer
        if len(self.answers) == len(self.bodies):
            self.done.set()


class Pool:
    """Servers of one model, with equal settings. Raises ValueError for a url that is there twice."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self.url = ", ".join(endpoint.url for endpoint in endpoints)
        if len({endpoint.url for endpoint in endpoints}) < len(endpoints):
            raise ValueError(f"one of the judge's urls is there twice: {self.url}")
        self.alone = len(endpoints) == 1
        self.members = [Member(endpoint, well=self.alone) for endpoint in endpoints]
        self.deadline = endpoints[0].deadline
        self.concurrency = endpoints[0].concurrency
        self._agreed: Served | None = None  # the model's entry in the servers' lists

    async def look_up(self, model: str) -> Served | None:
        """Returns the model's entry in the servers' lists; None if no server has one or answers in time.

        Raises ValueError if the entries of two servers differ.
        """
        found = await asyncio.gather(*(member.endpoint.look_up(model) for member in self.members))
        for member, served in zip(self.members, found, strict=True):
            member.well = self.alone or served is not None
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

    async def ask(
        self, path: str, bodies: Sequence[Body], extras: Body, seconds: float, alive: Callable[[], bool]
    ) -> tuple[list[Answer], int]:
        """Returns one answer per body, in order, and the number of attempts beyond the first ones.

        bodies: sorted, of one model. A body without an answer is a Failure: a TIMEOUT after `seconds`, otherwise an
        ERROR. extras: see Call. alive: returns False if the only server has ended for good; then nothing is asked
        again. Raises ValueError as `look_up` does.
        """
        work = Work(bodies, Stretches(len(bodies), len(self.members)), alive)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                if self._agreed is None and not self.alone:
                    await self.look_up(bodies[0]["model"])
                servers = range(len(self.members))
                async with asyncio.TaskGroup() as group:
                    tasks = [group.create_task(self._serve(server, path, extras, work)) for server in servers]
                    await work.done.wait()
                    for task in tasks:
                        task.cancel()
        late = Failure(Status.TIMEOUT, f"no answer from {self.url} within {self.deadline:g} s{work.trouble}")
        if len(work.refusals) == len(self.members):
            late = work.refusals[0]
        retries = sum(work.posts.values()) - len(work.posts)
        return [work.answers.get(number, late) for number in range(len(bodies))], retries

    async def _serve(self, number: int, path: str, extras: Body, work: Work) -> None:
        """Asks one server, `concurrency` questions at a time, until it is cancelled or refused."""
        endpoint = self.members[number].endpoint
        looking = asyncio.Lock()
        async with endpoint.client() as client, asyncio.TaskGroup() as group:
            call = Call(path=path, client=client, extras=extras)
            for _ in range(min(self.concurrency, len(work.bodies))):
                group.create_task(self._place(number, call, looking, work))

    async def _place(self, number: int, call: Call, looking: asyncio.Lock, work: Work) -> None:
        """Asks one server one question after another, until it is cancelled or the server refuses all questions."""
        member, troubles = self.members[number], 0
        while call.refusal is None:
            await self._until_well(member, work.bodies[0]["model"], looking)
            question = await work.next(number)
            if not member.well or call.refusal is not None:  # while this place waited for a question
                work.put_back(number, question)
                continue
            work.posts[question] += 1
            try:
                answer = await member.endpoint.post(call, work.bodies[question])
            except Trouble as trouble:
                troubles += 1
                whose = "" if self.alone else f"{member.endpoint.url}: "
                work.trouble = f"; the last trouble: {whose}{trouble}"
                await self._troubled(question, number, trouble, trouble.after + pause(troubles), work)
                continue
            troubles = member.failures = 0
            if answer is call.refusal:
                work.put_back(number, question)
                work.refusals[number] = call.refusal
            else:
                work.settle(question, answer)
        if len(work.refusals) == len(self.members):
            work.done.set()

    async def _troubled(self, question: int, number: int, trouble: Trouble, rest: float, work: Work) -> None:
        """Passes on a question that the server with this number got and did not answer, and lets the server rest."""
        member = self.members[number]
        if self.alone and not work.alive():
            work.settle(question, Failure(Status.ERROR, f"{member.endpoint.url} has ended: {trouble}"))
            return
        if self.alone:
            await asyncio.sleep(rest)  # the question waits too: there is no other server
        away = trouble.away and not self.alone
        if trouble.patient and not away:
            work.put_back(number, question)
        else:
            self._lost(question, number, trouble, work)
        if away and member.well:  # no other place has noticed
            member.well = False
            member.failures += 1
        elif not away and not self.alone:
            await asyncio.sleep(rest)

    def _lost(self, question: int, number: int, trouble: Trouble, work: Work) -> None:
        """Gives the question to the next server, or up after ATTEMPTS."""
        work.tries[question] += 1
        if work.tries[question] < ATTEMPTS:
            work.put_back((number + 1) % len(self.members), question)
        else:
            url = self.members[number].endpoint.url
            work.settle(question, Failure(Status.ERROR, f"{url} failed, the last of {ATTEMPTS} times: {trouble}"))

    async def _until_well(self, member: Member, model: str, looking: asyncio.Lock) -> None:
        """Waits until the server's list of models says what it must. One place asks, and the others wait for it."""
        async with looking:
            while not member.well:
                if member.failures:
                    await asyncio.sleep(pause(member.failures))
                found = await member.endpoint.look_up(model)
                agreed = self._agreed = self._agreed or found
                member.well = found is not None and found == agreed
                if found and agreed and not member.well and found != member.said:
                    other = f"{member.endpoint.url} serves {facts(found)}, where the others serve {facts(agreed)}"
                    log.warning("%s: it is not asked", other)
                member.said = found
                member.failures += not member.well


def pause(attempt: int) -> float:
    """Random seconds to wait after this many failed attempts in a row (from 1): up to 0.5, 1, 2, 4, 8, 10, 10 ..."""
    return random.uniform(0.0, min(SHORTEST * 2.0 ** min(attempt - 1, 10), LONGEST))


def facts(served: Served) -> str:
    length = f" up to {served.max_model_len} tokens" if served.max_model_len else ""
    return f"{served.id!r} from {served.root or 'nowhere that it tells'}{length}"
