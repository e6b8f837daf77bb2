"""A server is asked many questions at once, and again what it did not answer: an OpenAI-compatible
one by Endpoint, that of a RemoteReward by `persist` alone.

    endpoint = Endpoint("http://127.0.0.1:8000", deadline=300.0)
    body = {"model": "m", "prompt": [1, 2], "max_tokens": 1}
    asked = endpoint.ask("completions", [body], {}, seconds=300.0)
    answers, retries = run(asked)

answer.py reads the answers, manner.py learns from refusals how to ask, and docs/judges.md#servers
says what is asked again and until when. A question that waits keeps its place, so that a troubled
server gets fewer at a time. How to ask is found out by one question, and the others follow once
that is answered. At most ANSWER + TOKEN * max_tokens bytes of an answer are read.
"""

import asyncio
import json
import logging
import random
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from typing import Any, TypeVar

import httpx2 as httpx

from spanreward.rewards.base.verdict import Status
from spanreward.rewards.files import http_client as http
from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.judges.remote.answer import (
    Busy,
    Refused,
    Served,
    ServerAnswer,
    read,
    read_models,
)
from spanreward.rewards.judges.remote.manner import Manner, better, fitted

log = logging.getLogger(__name__)
T = TypeVar("T")
Body = Mapping[str, Any]  # the JSON of a request, or some of its fields

ATTEMPTS = 6  # for errors that the question itself probably causes
SHORTEST, LONGEST = 0.5, 10.0  # seconds, of the longest first and the longest later pause
CONNECT = 5.0  # seconds, to connect to the server, and for its list of models
MAX_LOGPROBS = 20  # vLLM's own limit, unless it is started with another
ANSWER = 1 << 16  # bytes beside the text; a rating with 20 log-probabilities has about 2,000
TOKEN = 64  # bytes of the text for each token that was asked for
LIST = 1 << 22  # bytes of a list of models
ENDPOINT = re.compile("/(?:chat/)?completions/*$")
VERSION = re.compile(r"/v[0-9]\w*$")
NO_KEY = f"put the key it wants into {http.KEY}"
NO_MODEL = (
    "its list of models says what it serves ({models}), and a server of chats only is "
    "asked as chat:URL#MODEL"
)
ADVICE = {401: NO_KEY, 403: NO_KEY, 404: NO_MODEL}
FEW = 4  # words that say next to nothing
Answer = ServerAnswer | Failure
Unanswered = Failure | Refused | Busy


@dataclass(slots=True, kw_only=True)
class Call:
    """A call with many questions. extras: fields that not every server knows. refusal: why the
    server answers none of the questions. learning: held by the question that finds out how the
    server wants to be asked.
    """

    path: str
    client: httpx.AsyncClient
    extras: Body
    refusal: Failure | None = None
    learning: asyncio.Lock = field(default_factory=asyncio.Lock)


class Endpoint:
    """One OpenAI-compatible server. RemoteJudge says what the arguments are, and what is raised."""

    def __init__(
        self, url: str, deadline: float = 300.0, concurrency: int = 32, read_timeout: float = 60.0
    ) -> None:
        server = http.Server.at(ENDPOINT.sub("", url), "the judge's url")
        version = VERSION.search(server.url)
        self.server = replace(server, url=server.url.removesuffix("/v1"))
        self.url = self.server.url
        self.deadline = deadline
        self.concurrency = concurrency
        self.read_timeout = read_timeout
        later = ("",) if httpx.URL(server.url).path.strip("/") else ()  # than /v1
        self._bases = (
            ("/v1", *later) if version is None else ("/v1",) if version[0] == "/v1" else ("",)
        )
        self._manner = Manner(self._bases[0])
        self._taken: frozenset[str] = frozenset()  # fields of the requests that were answered

    async def look_up(self, model: str) -> Served | Failure:
        """Returns the model's entry in the server's list. A server that keeps no list may still
        serve the model: its entry is made up, with the url for the origin of the weights.

        A Failure: the list lacks the model, or the server is away, busy or untrusted, or needs more
        than CONNECT s.
        """
        models = f"{self.url}{self._bases[0]}/models"
        try:
            async with asyncio.timeout(CONNECT), self._client() as client:
                for base in self._bases:
                    response, content = await http.exchange(
                        client, "GET", f"{base}/models", None, LIST
                    )
                    if (
                        isinstance(busy := read(response.status_code, content), Busy)
                        and not response.is_success
                    ):
                        return Failure(
                            Status.ERROR, f"{models} does not answer: start the server ({busy.why})"
                        )
                    if listed := read_models(content) if response.is_success else {}:
                        name = (
                            "name it as the server does, such as "
                            f"{get_close_matches(model, listed, 1, 0)[0]!r}"
                        )
                        missing = (
                            f"{models} does not list the judge's model {model!r}: "
                            f"{http.legible(name)}"
                        )
                        # "model:provider" of routers
                        found = listed.get(model) or listed.get(model.rpartition(":")[0])
                        return found or Failure(Status.ERROR, missing)
        except http.Untrusted as error:
            return Failure(Status.ERROR, f"{self.url}: {error}")
        except (TimeoutError, httpx.HTTPError, http.BadAnswer) as error:
            said = http.legible(
                f"does not answer: start the server ({type(error).__name__} {error})"
            )
            return Failure(Status.ERROR, f"{models} {said}")
        return Served(model, self.url)

    async def ask(
        self, path: str, bodies: Sequence[Body], extras: Body, seconds: float
    ) -> tuple[list[Answer], int]:
        """Returns one answer per body, in order, and the number of attempts beyond the first ones.

        A body without an answer is a Failure: a TIMEOUT after `seconds`, otherwise an ERROR.
        extras: see Call.
        """
        async with self._client() as client:
            call = Call(path=path, client=client, extras=extras)
            asks = [partial(self._answer, call, body) for body in bodies]
            return await persist(asks, self.url, self.concurrency, seconds, self.deadline)

    async def _answer(self, call: Call, body: Body) -> Answer | Busy:
        if call.refusal is not None:
            return call.refusal
        found = await self._post(call, body)
        return self._refusal(call, body, found) if isinstance(found, Refused) else found

    async def _post(self, call: Call, body: Body) -> ServerAnswer | Refused | Busy:
        """Makes one attempt, and more as long as the server says how to ask."""
        while True:
            manner = self._manner
            found = await self._attempt(call, body, manner)
            if not isinstance(found, Refused) or self._better(call, body, manner, found) is None:
                return found
            async with call.learning:
                if manner is self._manner:  # no other question has learnt meanwhile
                    return await self._learn(call, body, manner, found)

    async def _learn(
        self, call: Call, body: Body, manner: Manner, refused: Refused
    ) -> ServerAnswer | Refused | Busy:
        """Asks as the refusals say. The manner that is answered is kept for this server."""
        while other := self._better(call, body, manner, refused):
            manner, found = other, await self._attempt(call, body, other)
            if isinstance(found, ServerAnswer):
                self._manner = manner
                log.warning("%s is asked in another manner from now on: %s", self.url, manner)
            if not isinstance(found, Refused):
                return found
            refused = found
        return refused

    def _better(self, call: Call, body: Body, manner: Manner, refused: Refused) -> Manner | None:
        request = fitted({**body, **call.extras}, manner)
        doubtful = [name for name in call.extras if name in request and name not in self._taken]
        return better(
            manner, request, refused, doubtful, manner.base if self._taken else self._bases[-1]
        )

    async def _attempt(
        self, call: Call, body: Body, manner: Manner
    ) -> ServerAnswer | Refused | Busy:
        request = fitted({**body, **call.extras}, manner)
        path, largest = f"{manner.base}/{call.path}", ANSWER + TOKEN * body["max_tokens"]
        found = await post(call.client, path, json.dumps(request).encode(), largest, read)
        if isinstance(found, ServerAnswer):
            self._taken |= request.keys()
        return found

    def _refusal(self, call: Call, body: Body, refused: Refused) -> Failure:
        """Says it in the server's words, with advice where these are few."""
        status, words, where = (
            refused.status,
            refused.words[: http.SHOWN],
            f"{self.url}{self._manner.base}",
        )
        failure = refusal(self.url, refused)
        if status in (*ADVICE, 402):
            says = [
                f"{where}/{call.path} does not answer for the model {body['model']!r} ({status})",
                words,
            ]
            if status == 401 or (status in ADVICE and len(words.split()) <= FEW):
                says.append(ADVICE[status].format(models=f"{where}/models"))
            failure = Failure(Status.ERROR, ": ".join(filter(None, says)))
        if status in (0, 401, 402) or (status in ADVICE and not self._taken):
            call.refusal = failure
        return failure

    def _client(self) -> httpx.AsyncClient:
        return self.server.client(
            httpx.Timeout(self.read_timeout, connect=CONNECT, pool=None), self.concurrency
        )


async def post(
    client: httpx.AsyncClient,
    path: str,
    body: bytes,
    largest: int,
    reading: Callable[[int, bytes], T | Refused | Busy],
) -> T | Refused | Busy:
    """Makes one attempt. largest: bytes of the answer. reading: of its status and content, whatever
    they are.
    """
    try:
        response, content = await http.exchange(client, "POST", path, body, largest)
    except http.Untrusted as error:
        return Refused(0, str(error))
    except httpx.RequestError as error:
        return Busy(http.legible(f"{type(error).__name__} {error}"), patient=True)
    except http.BadAnswer as error:
        return Busy(str(error), patient=False)
    found = reading(response.status_code, content)
    if isinstance(found, Busy):
        return replace(found, after=http.seconds_to_wait(response))
    if isinstance(found, Refused) and response.has_redirect_location:
        target = http.legible(re.split("[?#]", response.headers["Location"])[0])
        return replace(
            found, words=f"it sends to {target}, where no question and no key goes: give that url"
        )
    return found


async def persist(
    asks: Sequence[Callable[[], Awaitable[T | Unanswered]]],
    url: str,
    concurrency: int,
    seconds: float,
    deadline: float,
) -> tuple[list[T | Failure], int]:
    """Returns one answer per ask, in order, and the number of attempts beyond the first ones.

    An ask that is Busy is made again, until it was so ATTEMPTS times by its own fault (an ERROR),
    or after `seconds` (a TIMEOUT). deadline: the seconds of the whole call, for the message;
    `seconds` are what is left of them.
    """
    answers: dict[int, T | Failure] = {}
    places = asyncio.Semaphore(concurrency)
    retries, trouble = 0, ""

    async def settle(number: int) -> None:
        nonlocal retries, trouble
        troubles = faults = 0
        async with places:
            while isinstance(found := await asks[number](), Busy):
                troubles += 1
                faults += not found.patient
                trouble = f"; the last trouble: {found.why}"
                if faults == ATTEMPTS:
                    found = Failure(
                        Status.ERROR, f"{url} failed, the last of {ATTEMPTS} times: {found.why}"
                    )
                    break
                await asyncio.sleep(found.after + pause(troubles))
                retries += 1
            answers[number] = refusal(url, found) if isinstance(found, Refused) else found

    with suppress(TimeoutError):
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
            for number in range(len(asks)):
                group.create_task(settle(number))
    late = Failure(Status.TIMEOUT, f"no answer from {url} within {deadline:g} s{trouble}")
    return [answers.get(number, late) for number in range(len(asks))], retries


def refusal(url: str, refused: Refused) -> Failure:
    said = f"{url} refuses the question with {refused.status}" if refused.status else url
    return Failure(Status.ERROR, ": ".join(filter(None, (said, refused.words[: http.SHOWN]))))


def pause(attempt: int) -> float:
    """Random seconds to wait after this many failed attempts in a row (from 1): up to 0.5, 1, 2, 4,
    8, 10, 10 ...
    """
    return random.uniform(0.0, min(SHORTEST * 2.0 ** min(attempt - 1, 10), LONGEST))
