"""An OpenAI-compatible server is asked many questions at once, in the form that it wants.

    endpoint = Endpoint("http://127.0.0.1:8000", deadline=300.0)
    requests = StreamedRequests(questions, encode, {"model": "m", "max_tokens": 1})
    answers, retries = run(endpoint.ask("completions", requests, {}, seconds=300.0))

client.py says what is asked again, answer.py reads the answers, request_form.py learns from
refusals how to ask, and docs/judges.md#servers says it for users. How to ask is found out by one
question, and the others follow once that is answered. At most ANSWER_BYTES + BYTES_PER_TOKEN *
max_tokens bytes of an answer are read.
"""

import asyncio
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from typing import Any

import httpx2 as httpx

from spanreward.rewards.base.verdict import Status
from spanreward.rewards.files.http_client import KEY, SHOWN_SERVER_CHARACTERS, Server, legible
from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.judges.remote.answer import (
    Busy,
    Refused,
    Served,
    ServerAnswer,
    read_models,
    read_server_answer,
    trouble,
)
from spanreward.rewards.judges.remote.client import (
    ATTEMPTS,
    CONNECT,
    Client,
    all_in_time,
)
from spanreward.rewards.judges.remote.request_form import RequestForm, better_form, fit_request
from spanreward.rewards.judges.remote.streamed import StreamedRequests

log = logging.getLogger(__name__)
Body = Mapping[str, Any]  # the JSON of a request, or some of its fields

MAX_LOGPROBS = 20  # vLLM's own limit, unless it is started with another
ANSWER_BYTES = 1 << 16  # beside the text; a rating with 20 log-probabilities has about 2,000
BYTES_PER_TOKEN = 64  # of the text, for each token that was asked for
MAX_LIST_BYTES = 1 << 22  # of a list of models
ENDPOINT = re.compile("/(?:chat/)?completions/*$")
VERSION_PATH = re.compile(r"/v[0-9]\w*$")
NO_KEY = f"put the key it wants into {KEY}"
NO_MODEL = (
    "its list of models says what it serves ({models}), and a server of chats only is "
    "asked as chat:URL#MODEL"
)
ADVICE = {401: NO_KEY, 403: NO_KEY, 404: NO_MODEL}
MAX_SILENT_WORDS = 4  # words of a server so few say next to nothing
Answer = ServerAnswer | Failure


@dataclass(slots=True, kw_only=True)
class Call:
    """A call with many questions.

    Attributes:
        path: of the server's endpoint, below /v1/.
        extras: fields that not every server knows.
        refusal: why the server answers none of the questions.
        learning: held by the question that finds out how the server wants to be asked.
    """

    path: str
    client: Client[ServerAnswer]
    extras: Body
    refusal: Failure | None = None
    learning: asyncio.Lock = field(default_factory=asyncio.Lock)


class Endpoint:
    """One OpenAI-compatible server.

    Args:
        url, deadline, concurrency, read_timeout: as for RemoteJudge. The url may also end in an
            endpoint's path.

    Raises:
        ValueError: for a url that is not http or https.
    """

    def __init__(
        self,
        url: str,
        deadline: float = 300.0,
        concurrency: int = 32,
        read_timeout: float = 60.0,
    ) -> None:
        server = Server.at(ENDPOINT.sub("", url), "the judge's url")
        version = VERSION_PATH.search(server.url)
        self.server = replace(server, url=server.url.removesuffix("/v1"))
        self.url = self.server.url
        self.deadline = deadline
        self.concurrency = concurrency
        self.read_timeout = read_timeout
        # what may stand between the url and an endpoint's path, the likeliest first
        self._bases: tuple[str, ...] = ("",)  # as in ".../v3", which names its version
        if version is None:
            path = httpx.URL(server.url).path.strip("/")
            # "http://host/proxy" may stand before "/v1", or be all
            self._bases = ("/v1", "") if path else ("/v1",)
        elif version[0] == "/v1":
            self._bases = ("/v1",)
        self._form = RequestForm(self._bases[0])
        # of the requests that were answered
        self._accepted_fields: frozenset[str] = frozenset()

    async def look_up(self, model: str) -> Served | Failure:
        """Returns the model's entry in the server's list. A server that keeps no list may still
        serve the model: its entry is made up, with the url for the origin of the weights.

        A Failure: the list lacks the model, or the server is away, busy or untrusted, or needs more
        than CONNECT s.
        """
        models = f"{self.url}{self._bases[0]}/models"
        try:
            async with (
                asyncio.timeout(CONNECT),
                Client(self.server, _read_list, MAX_LIST_BYTES) as client,
            ):
                # The first list with an entry counts. A server without lists refuses at each path.
                for base in self._bases:
                    entries = await client.get(f"{base}/models")
                    if isinstance(entries, Busy):
                        words = f"{models} does not answer: start the server ({entries.why})"
                        return Failure(Status.ERROR, words)
                    if isinstance(entries, Refused):
                        # Without a status it was never asked: its certificate is not trusted.
                        if not entries.status:
                            return Failure(Status.ERROR, f"{self.url}: {entries.words}")
                    elif entries:
                        return _entry_of(model, entries, models)
        except TimeoutError:
            words = f"{models} does not answer within {CONNECT:g} s: start the server"
            return Failure(Status.ERROR, words)
        return Served(model, self.url)

    async def ask(
        self, path: str, requests: StreamedRequests, extras: Body, seconds: float
    ) -> tuple[list[Answer], int]:
        """Returns one answer per request, in order, and the number of attempts beyond the first
        ones. While a server answers some requests, the next ones are encoded.

        A request without an answer is a Failure: a TIMEOUT after `seconds`, otherwise an ERROR.
        extras: see Call.
        """
        largest = ANSWER_BYTES + BYTES_PER_TOKEN * requests.fields["max_tokens"]
        async with Client(
            self.server, read_server_answer, largest, self.read_timeout, self.concurrency
        ) as client:
            call = Call(path=path, client=client, extras=extras)
            asks = []
            for place in range(len(requests)):
                asks.append(partial(self._take, call, requests, place))
            in_time = await all_in_time(asks, self.concurrency, seconds)
        late = too_late(self.url, self.deadline, client)
        answers: list[Answer] = []
        for answer in in_time:
            answers.append(late if answer is None else answer)
        return answers, client.transport.retries

    async def _take(self, call: Call, requests: StreamedRequests, place: int) -> Answer:
        """Takes one request, which may encode a part of them, and asks it."""
        body = requests.take(place)
        if isinstance(body, Failure):
            return body
        return await self._answer(call, body)

    async def _answer(self, call: Call, body: Body) -> Answer:
        """Returns the answer to a request, or why there is none."""
        if call.refusal is not None:
            return call.refusal
        answer = await self._post(call, body)
        if isinstance(answer, Refused):
            return self._refusal(call, body, answer)
        if isinstance(answer, Busy):
            return still_busy(self.url, answer)
        return answer

    async def _post(self, call: Call, body: Body) -> ServerAnswer | Refused | Busy:
        """Asks, and again as long as the server says how to ask.

        Many questions are refused at once. One of them learns the better form, and the others wait
        for it and ask in that form.
        """
        while True:
            form = self._form
            answer = await self._attempt(call, body, form)
            if not isinstance(answer, Refused):
                return answer
            if self._better_form(call, body, form, answer) is None:
                return answer
            async with call.learning:
                if form is self._form:  # no other question has learnt meanwhile
                    return await self._learn(call, body, form, answer)

    async def _learn(
        self, call: Call, body: Body, form: RequestForm, refused: Refused
    ) -> ServerAnswer | Refused | Busy:
        """Asks as the refusals say. The form that is answered is kept for this server."""
        while better := self._better_form(call, body, form, refused):
            why = refused.words
            form = better
            answer = await self._attempt(call, body, form)
            if isinstance(answer, ServerAnswer):
                self._form = form
                log.warning(
                    "%s is asked in another form from now on: %s (it says: %s)",
                    self.url,
                    form,
                    why[:SHOWN_SERVER_CHARACTERS],
                )
            if not isinstance(answer, Refused):
                return answer
            refused = answer
        return refused

    def _better_form(
        self, call: Call, body: Body, form: RequestForm, refused: Refused
    ) -> RequestForm | None:
        """Returns the form that a refusal asks for, None if it asks for none."""
        request = fit_request({**body, **call.extras}, form)
        unproven = request.keys() - self._accepted_fields
        doubtful = [name for name in call.extras if name in unproven]
        # Once anything was answered, the path is right.
        base = form.base if self._accepted_fields else self._bases[-1]
        return better_form(form, request, refused, doubtful, base)

    async def _attempt(
        self, call: Call, body: Body, form: RequestForm
    ) -> ServerAnswer | Refused | Busy:
        """Sends one request in this form, and notes its fields if the server takes them."""
        request = fit_request({**body, **call.extras}, form)
        answer = await call.client.post(f"{form.base}/{call.path}", request)
        if isinstance(answer, ServerAnswer):
            self._accepted_fields |= request.keys()
        return answer

    def _refusal(self, call: Call, body: Body, refused: Refused) -> Failure:
        """Returns a refusal as a Failure, in the server's words, with advice where these are few.

        One that every question would get is noted, so that no other question is sent.
        """
        where = f"{self.url}{self._form.base}"
        status = refused.status
        words = refused.words[:SHOWN_SERVER_CHARACTERS]
        failure = refusal(self.url, refused)
        if status in (*ADVICE, 402):
            says = f"{where}/{call.path} does not answer for the model {body['model']!r} ({status})"
            if words:
                says += f": {words}"
            is_silent = len(words.split()) <= MAX_SILENT_WORDS
            if status == 401 or (status in ADVICE and is_silent):
                says += f": {ADVICE[status].format(models=f'{where}/models')}"
            failure = Failure(Status.ERROR, says)
        # Of the certificate, the key, the quota; and of the path or the model, unless this server
        # has answered before.
        never_answered = not self._accepted_fields
        if status in (0, 401, 402) or (status in ADVICE and never_answered):
            call.refusal = failure
        return failure


def refusal(url: str, refused: Refused) -> Failure:
    """Returns an ERROR with the server's words."""
    message = url
    if refused.status:
        message += f" refuses the question with {refused.status}"
    if refused.words:
        message += f": {refused.words[:SHOWN_SERVER_CHARACTERS]}"
    return Failure(Status.ERROR, message)


def still_busy(url: str, busy: Busy) -> Failure:
    """Returns the Failure of what stays busy after ATTEMPTS, or asks to be left alone for longer
    than the client waits.
    """
    if busy.patient:
        return Failure(Status.ERROR, f"{url} asks to wait for minutes or longer: {busy.why}")
    return Failure(Status.ERROR, f"{url} failed, the last of {ATTEMPTS} times: {busy.why}")


def too_late(url: str, deadline: float, client: Client[Any]) -> Failure:
    """Returns the Failure of what has no answer at the end of the call's `deadline` seconds."""
    words = f"no answer from {url} within {deadline:g} s"
    if client.transport.trouble:
        words += f"; the last trouble: {client.transport.trouble}"
    return Failure(Status.TIMEOUT, words)


def _read_list(status: int, content: bytes) -> dict[str, Served] | Refused | Busy:
    """Reads a list of models. A server without one refuses, or answers something else."""
    if not 200 <= status < 300:
        return trouble(status, content) or Refused(status, "")
    return read_models(content)


def _entry_of(model: str, entries: Mapping[str, Served], models: str) -> Served | Failure:
    """Returns a model's entry in a server's list. models: the list's url."""
    entry = entries.get(model)
    if entry is None:
        # "model:provider" of routers
        name = model.rpartition(":")[0]
        entry = entries.get(name)
    if entry is not None:
        return entry
    nearest_names = get_close_matches(model, entries, n=1, cutoff=0)
    nearest = legible(nearest_names[0])
    return Failure(
        Status.ERROR,
        f"{models} does not list the judge's model {model!r}: name it as the server does, such as "
        f"{nearest!r}",
    )
