"""One OpenAI-compatible server: it is asked many questions at once, and again what it did not answer.

    endpoint = Endpoint("http://127.0.0.1:8000", deadline=300.0)
    asked = endpoint.ask("completions", [{"model": "m", "prompt": [1, 2], "max_tokens": 1}], {}, seconds=300.0)
    answers, retries = run(asked)

answer.py reads the answers, manner.py learns from refusals how to ask, and asking.py asks again. One question finds out
how to ask, and the others follow once it is answered. At most ANSWER + TOKEN * max_tokens bytes of an answer are read.
"""

import asyncio
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import httpx2 as httpx

from spanreward.rewards.base.verdict import Status
from spanreward.rewards.files import http_client as http
from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.judges.remote.answer import Busy, Refused, Served, ServerAnswer, read, read_models
from spanreward.rewards.judges.remote.asking import CONNECT, persist, post
from spanreward.rewards.judges.remote.manner import Manner, better, fitted

log = logging.getLogger(__name__)
Body = Mapping[str, Any]  # the JSON of a request, or some of its fields

MAX_LOGPROBS = 20  # vLLM's own limit, unless it is started with another
ANSWER = 1 << 16  # bytes beside the text; a rating with 20 log-probabilities has about 2,000
TOKEN = 64  # bytes of the text for each token that was asked for
LIST = 1 << 22  # bytes of a list of models
ENDPOINT = re.compile("/(?:chat/)?completions/*$")
VERSION = re.compile(r"/v[0-9]\w*$")
NO_KEY = f"put the key it wants into {http.KEY}"
NO_MODEL = "its list of models says what it serves ({models}), and a server of chats only is asked as chat:URL#MODEL"
ADVICE = {401: NO_KEY, 403: NO_KEY, 404: NO_MODEL}
FEW = 4  # words that say next to nothing
Answer = ServerAnswer | Failure


@dataclass(slots=True, kw_only=True)
class Call:
    """A call with many questions. extras: fields that not every server knows. refusal: why the server answers none of
    the questions. learning: held by the question that finds out how the server wants to be asked.
    """

    path: str
    client: httpx.AsyncClient
    extras: Body
    refusal: Failure | None = None
    learning: asyncio.Lock = field(default_factory=asyncio.Lock)


class Endpoint:
    """One OpenAI-compatible server. RemoteJudge says what the arguments are, and what is raised."""

    def __init__(self, url: str, deadline: float = 300.0, concurrency: int = 32, read_timeout: float = 60.0) -> None:
        server = http.Server.at(ENDPOINT.sub("", url), "the judge's url")
        version = VERSION.search(server.url)
        self.server = replace(server, url=server.url.removesuffix("/v1"))
        self.url = self.server.url
        self.deadline = deadline
        self.concurrency = concurrency
        self.read_timeout = read_timeout
        later = ("",) if httpx.URL(server.url).path.strip("/") else ()  # than /v1
        self._bases = ("/v1", *later) if version is None else ("/v1",) if version[0] == "/v1" else ("",)
        self._manner = Manner(self._bases[0])
        self._taken: frozenset[str] = frozenset()  # fields of the requests that were answered

    async def look_up(self, model: str) -> Served | Failure:
        """Returns the model's entry in the server's list. A server that keeps no list may still serve the model: its
        entry is made up, with the url for the origin of the weights.

        A Failure: the list lacks the model, or the server is away, busy or untrusted, or needs more than CONNECT s.
        """
        models = f"{self.url}{self._bases[0]}/models"
        try:
            async with asyncio.timeout(CONNECT), self._client() as client:
                for base in self._bases:
                    response, content = await http.exchange(client, "GET", f"{base}/models", None, LIST)
                    if isinstance(busy := read(response.status_code, content), Busy) and not response.is_success:
                        return Failure(Status.ERROR, f"{models} does not answer: start the server ({busy.why})")
                    if listed := read_models(content) if response.is_success else {}:
                        name = f"name it as the server does, such as {next(iter(listed))!r}"
                        missing = f"{models} does not list the judge's model {model!r}: {http.legible(name)}"
                        return listed.get(model, Failure(Status.ERROR, missing))
        except http.Untrusted as error:
            return Failure(Status.ERROR, f"{self.url}: {error}")
        except (TimeoutError, httpx.HTTPError, http.BadAnswer) as error:
            said = http.legible(f"does not answer: start the server ({type(error).__name__} {error})")
            return Failure(Status.ERROR, f"{models} {said}")
        return Served(model, self.url)

    async def ask(self, path: str, bodies: Sequence[Body], extras: Body, seconds: float) -> tuple[list[Answer], int]:
        """Returns one answer per body, in order, and the number of attempts beyond the first ones.

        A body without an answer is a Failure: a TIMEOUT after `seconds`, otherwise an ERROR. extras: see Call.
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

    async def _learn(self, call: Call, body: Body, manner: Manner, refused: Refused) -> ServerAnswer | Refused | Busy:
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
        return better(manner, request, refused, doubtful, manner.base if self._taken else self._bases[-1])

    async def _attempt(self, call: Call, body: Body, manner: Manner) -> ServerAnswer | Refused | Busy:
        request = fitted({**body, **call.extras}, manner)
        path, largest = f"{manner.base}/{call.path}", ANSWER + TOKEN * body["max_tokens"]
        found = await post(call.client, path, request, largest, read)
        if isinstance(found, ServerAnswer):
            self._taken |= request.keys()
        return found

    def _refusal(self, call: Call, body: Body, refused: Refused) -> Failure:
        """Says it in the server's words, with advice where these are few."""
        status, words, base = refused.status, refused.words[: http.SHOWN], self._manner.base
        says = f": {words}" * bool(words)
        if status in ADVICE and (status == 401 or len(words.split()) <= FEW):
            says += f": {ADVICE[status].format(models=f'{self.url}{base}/models')}"
        if status in (*ADVICE, 402):
            said = f"{self.url}{base}/{call.path} does not answer for the model {body['model']!r} ({status}){says}"
        else:
            said = f"{self.url} refuses the question with {status}{says}" if status else f"{self.url}{says}"
        failure = Failure(Status.ERROR, said)
        if status in (0, 401, 402) or (status in ADVICE and not self._taken):
            call.refusal = failure
        return failure

    def _client(self) -> httpx.AsyncClient:
        return self.server.client(httpx.Timeout(self.read_timeout, connect=CONNECT, pool=None), self.concurrency)
