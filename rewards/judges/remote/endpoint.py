"""Asks an OpenAI-compatible server many questions at once, in the form that the server accepts.

    endpoint = Endpoint("http://127.0.0.1:8000", deadline=300.0)
    requests = StreamedRequests(questions, encode, {"model": "m", "max_tokens": 1})
    answers, retries = run_coroutine(endpoint.ask("completions", requests, {}, seconds=300.0))

client.py decides which requests are repeated, answer.py reads the answers, and request_form.py
learns from refusals which form the server accepts. docs/judges.md#servers describes all this for
users. After a refusal one question tries other forms, and the other questions wait for the form
that is answered. At most ANSWER_BYTES + BYTES_PER_TOKEN * max_tokens bytes of an answer are read.
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
from spanreward.rewards.files.http_client import (
    KEY_VARIABLE,
    SHOWN_SERVER_CHARACTERS,
    Server,
    safe_line,
)
from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.judges.remote.answer import (
    Busy,
    Refused,
    Served,
    ServerAnswer,
    error_in_answer,
    read_models,
    read_server_answer,
)
from spanreward.rewards.judges.remote.client import (
    CONNECT_TIMEOUT,
    MAX_ATTEMPTS,
    Client,
    all_in_time,
)
from spanreward.rewards.judges.remote.request_form import RequestForm, better_form, fit_request
from spanreward.rewards.judges.remote.streamed import StreamedRequests

log = logging.getLogger(__name__)
RequestBody = Mapping[str, Any]  # the JSON of a request, or some of its fields

MAX_LOGPROBS = 20  # vLLM's default limit
ANSWER_BYTES = 1 << 16  # without the text; a rating with 20 log-probabilities has about 2,000
BYTES_PER_TOKEN = 64  # of the text
MAX_LIST_BYTES = 1 << 22  # of a list of models
ENDPOINT_PATH = re.compile("/(?:chat/)?completions/*$")
VERSION_PATH = re.compile(r"/v[0-9]\w*$")
NO_KEY = f"put the key it wants into {KEY_VARIABLE}"
NO_MODEL = (
    "its list of models says what it serves ({models}), and a server of chats only is "
    "asked as chat:URL#MODEL"
)
ADVICE_BY_STATUS = {401: NO_KEY, 403: NO_KEY, 404: NO_MODEL}
SPENT_QUOTA = 402
# Statuses of refusals that every question would meet: the certificate is not trusted (0, because
# nothing was sent), the key is wrong, or the quota is spent.
REFUSES_EVERY_QUESTION = (0, 401, SPENT_QUOTA)
MAX_SILENT_WORDS = 4  # a refusal with fewer words explains too little
AnswerOrFailure = ServerAnswer | Failure


@dataclass(slots=True, kw_only=True)
class Call:
    """The state of a call with many questions.

    Attributes:
        path: the path of the server's endpoint, below /v1/.
        client: sends the requests.
        extras: fields of each request that some servers do not know.
        refusal: the error with which the server refuses every question, once such an error is
            known.
        learning: a lock, so that only one question at a time tries other forms of the request.
    """

    path: str
    client: Client[ServerAnswer]
    extras: RequestBody
    refusal: Failure | None = None
    learning: asyncio.Lock = field(default_factory=asyncio.Lock)


class Endpoint:
    """An OpenAI-compatible server.

    Args:
        url, deadline, concurrency, read_timeout: see RemoteJudge. The url may also end in an
            endpoint's path, such as /v1/chat/completions.

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
        given = Server.checked(ENDPOINT_PATH.sub("", url), "the judge's url")
        # `possible_bases` reads the whole url, and adds "/v1" as a base. So "http://host" and
        # "http://host/v1" are one server, and both become "http://host" here: the url is part of
        # the judge's name, by which answers are cached.
        self._bases = possible_bases(given.url)
        self.server = replace(given, url=given.url.removesuffix("/v1"))
        self.url = self.server.url
        self.deadline = deadline
        self.concurrency = concurrency
        self.read_timeout = read_timeout
        self._form = RequestForm(self._bases[0])
        # All fields of the requests that this server has answered.
        self._accepted_fields: frozenset[str] = frozenset()

    async def look_up(self, model: str) -> Served | Failure:
        """Returns the model's entry in the server's list, or a Failure.

        The result is a Failure if the list lacks the model, or if the server is away, busy,
        untrusted, or slower than CONNECT_TIMEOUT seconds. A server without a list may still serve
        the model. Then an entry is made up, with the url as the origin of the weights.
        """
        models = f"{self.url}{self._bases[0]}/models"
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                entries = await self._list_of_models(models)
        except TimeoutError:
            words = f"{models} does not answer within {CONNECT_TIMEOUT:g} s: start the server"
            return Failure(Status.ERROR, words)
        if isinstance(entries, Failure):
            return entries
        if not entries:  # the server has no list
            return Served(model, self.url)
        return _entry_of(model, entries, models)

    async def _list_of_models(self, models: str) -> dict[str, Served] | Failure:
        """Returns the first list of models that is not empty, by name, or {} if no path has a list.
        Returns a Failure if the server is busy or untrusted.

        models: the list's url, for the message.
        """
        async with Client(self.server, _read_list, MAX_LIST_BYTES) as client:
            for base in self._bases:
                entries = await client.get(f"{base}/models")
                if isinstance(entries, Busy):
                    words = f"{models} does not answer: start the server ({entries.why})"
                    return Failure(Status.ERROR, words)
                if isinstance(entries, dict) and entries:
                    return entries
                # Nothing was sent if the server's certificate is not trusted.
                if isinstance(entries, Refused) and entries.status == 0:
                    return Failure(Status.ERROR, f"{self.url}: {entries.words}")
        return {}

    async def ask(
        self, path: str, requests: StreamedRequests, extras: RequestBody, seconds: float
    ) -> tuple[list[AnswerOrFailure], int]:
        """Returns one answer per request, in order, and the number of retries. While the server
        answers some requests, the next requests are encoded.

        A request without an answer is a Failure: TIMEOUT after `seconds`, otherwise ERROR.

        path: the path of the server's endpoint, below /v1/. extras: fields of each request that
        some servers do not know.
        """
        largest = ANSWER_BYTES + BYTES_PER_TOKEN * requests.fields["max_tokens"]
        async with Client(
            self.server, read_server_answer, largest, self.read_timeout, self.concurrency
        ) as client:
            call = Call(path=path, client=client, extras=extras)
            asks = []
            for place in range(len(requests)):
                asks.append(partial(self._answer_at, call, requests, place))
            in_time = await all_in_time(asks, self.concurrency, seconds)
        late = failure_of_timeout(self.url, self.deadline, client)
        answers: list[AnswerOrFailure] = []
        for answer in in_time:
            answers.append(late if answer is None else answer)
        return answers, client.transport.retries

    async def _answer_at(
        self, call: Call, requests: StreamedRequests, place: int
    ) -> AnswerOrFailure:
        """Takes the request with the number `place` in the order of sending, and returns its
        answer. To take a request may encode a part of all requests (StreamedRequests).
        """
        body = requests.take(place)
        if isinstance(body, Failure):
            return body
        return await self._answer(call, body)

    async def _answer(self, call: Call, body: RequestBody) -> AnswerOrFailure:
        """Returns the answer to a request, or a Failure with the reason why there is no answer."""
        if call.refusal is not None:
            return call.refusal
        answer = await self._post(call, body)
        if isinstance(answer, Refused):
            return self._refusal(call, body, answer)
        if isinstance(answer, Busy):
            return failure_of_busy(self.url, answer)
        return answer

    async def _post(self, call: Call, body: RequestBody) -> ServerAnswer | Refused | Busy:
        """Sends a request. If the server refuses the form of the request, sends it in other forms
        until the server answers or no better form is known.

        Many questions may be refused at once. Then a single question tries other forms. The other
        questions wait, and are sent again in the form that was found.
        """
        while True:
            form = self._form
            answer = await self._attempt(call, body, form)
            if not isinstance(answer, Refused):
                return answer
            if self._better_form(call, body, form, answer) is None:
                return answer
            async with call.learning:
                # The first of the refused questions gets here and tries other forms.
                if form is self._form:
                    return await self._try_other_forms(call, body, form, answer)
            # Another question has found a form meanwhile, in which this request is sent again.

    async def _try_other_forms(
        self, call: Call, body: RequestBody, form: RequestForm, refused: Refused
    ) -> ServerAnswer | Refused | Busy:
        """Sends the request in one form after another, each chosen by the last refusal. A form that
        is answered is kept for all requests to this server.
        """
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
        self, call: Call, body: RequestBody, form: RequestForm, refused: Refused
    ) -> RequestForm | None:
        """Returns the form that a refusal asks for, or None if it asks for no other form.

        body: the request, without `call.extras`. form: the form in which it was sent.
        """
        request = fit_request({**body, **call.extras}, form)
        # The refused fields are probably among the extras that this server has never taken.
        doubtful = []
        for name in call.extras:
            if name in request and name not in self._accepted_fields:
                doubtful.append(name)
        # The path to try next. If the server has answered a request before, the path is right, and
        # no other path is tried. Otherwise it is the last of the possible paths: there are at most
        # two, and the first of them was tried first.
        has_answered = bool(self._accepted_fields)
        next_base = form.base if has_answered else self._bases[-1]
        return better_form(form, request, refused, doubtful, next_base)

    async def _attempt(
        self, call: Call, body: RequestBody, form: RequestForm
    ) -> ServerAnswer | Refused | Busy:
        """Sends a request in this form. If the server answers, the request's fields are noted as
        accepted.
        """
        request = fit_request({**body, **call.extras}, form)
        answer = await call.client.post(f"{form.base}/{call.path}", request)
        if isinstance(answer, ServerAnswer):
            self._accepted_fields |= request.keys()
        return answer

    def _refusal(self, call: Call, body: RequestBody, refused: Refused) -> Failure:
        """Returns the Failure of a refused request, in the server's words. If the words are few,
        advice is added.

        If the server would refuse every question for this reason, the Failure is kept in `call`, so
        that no further question is sent.
        """
        status = refused.status
        if status in (*ADVICE_BY_STATUS, SPENT_QUOTA):
            failure = self._failure_of_model(call, body["model"], refused)
        else:
            failure = failure_of_refusal(self.url, refused)
        # If the server has answered no request yet, the rights of the key (403), or the path or the
        # model (404) may be at fault, so that the server would refuse every question.
        never_answered = not self._accepted_fields
        may_refuse_every_question = status in (403, 404) and never_answered
        if status in REFUSES_EVERY_QUESTION or may_refuse_every_question:
            call.refusal = failure
        return failure

    def _failure_of_model(self, call: Call, model: str, refused: Refused) -> Failure:
        """Returns the Failure of a refusal that concerns the model, or the right to ask it. The
        message has the server's words, and advice if the words are few.
        """
        base = f"{self.url}{self._form.base}"
        words = refused.words[:SHOWN_SERVER_CHARACTERS]
        message = f"{base}/{call.path} does not answer for the model {model!r} ({refused.status})"
        if words:
            message += f": {words}"
        message += _advice_to_user(refused.status, words, models=f"{base}/models")
        return Failure(Status.ERROR, message)


def possible_bases(url: str) -> tuple[str, ...]:
    """Returns the possible bases of a server, the likeliest first: one or two texts, "/v1" or "". A
    request goes to the server's url (without "/v1" at its end), then the base, then the endpoint:
    "http://host" + "/v1" + "/chat/completions".

    "http://host" and "http://host/v1" give ("/v1",). "http://host/v3" gives ("",), because the url
    has another version already. "http://host/proxy" gives ("/v1", ""): requests may go to
    "http://host/proxy/v1/chat/completions" or to "http://host/proxy/chat/completions".
    """
    version = VERSION_PATH.search(url)
    if version is not None:
        return ("/v1",) if version[0] == "/v1" else ("",)
    path = httpx.URL(url).path.strip("/")
    return ("/v1", "") if path else ("/v1",)


def _advice_to_user(status: int, words: str, models: str) -> str:
    """Returns what a user can do about a refused key or a missing model: ": put the key it wants
    into SPANREWARD_API_KEY". Returns "" if the server's own words explain enough.

    words: the server's words. models: the url of the server's list of models.
    """
    explains_little = len(words.split()) <= MAX_SILENT_WORDS
    if status == 401 or (status in ADVICE_BY_STATUS and explains_little):
        return f": {ADVICE_BY_STATUS[status].format(models=models)}"
    return ""


def failure_of_refusal(url: str, refused: Refused) -> Failure:
    """Returns the Failure (ERROR) of a refusal, with the server's words."""
    message = url
    if refused.status:
        message += f" refuses the question with {refused.status}"
    if refused.words:
        message += f": {refused.words[:SHOWN_SERVER_CHARACTERS]}"
    return Failure(Status.ERROR, message)


def failure_of_busy(url: str, busy: Busy) -> Failure:
    """Returns the Failure of a request that was Busy in all MAX_ATTEMPTS attempts, or for which the
    server asks to wait longer than the client does.
    """
    if busy.patient:
        return Failure(Status.ERROR, f"{url} asks to wait for minutes or longer: {busy.why}")
    return Failure(Status.ERROR, f"{url} failed, the last of {MAX_ATTEMPTS} times: {busy.why}")


def failure_of_timeout(url: str, deadline: float, client: Client[Any]) -> Failure:
    """Returns the Failure (TIMEOUT) of a request without an answer at the end of the call's
    `deadline` seconds.
    """
    words = f"no answer from {url} within {deadline:g} s"
    if client.transport.trouble:
        words += f"; the last trouble: {client.transport.trouble}"
    return Failure(Status.TIMEOUT, words)


def _read_list(status: int, content: bytes) -> dict[str, Served] | Refused | Busy:
    """Returns the models of a server's list by name, or the error that the server answers."""
    if not 200 <= status < 300:
        return error_in_answer(status, content) or Refused(status, "")
    return read_models(content)


def _entry_of(model: str, entries: Mapping[str, Served], models: str) -> Served | Failure:
    """Returns a model's entry in a server's list, or a Failure that suggests the nearest name.

    entries: the list, by name. models: the list's url.
    """
    entry = entries.get(model)
    if entry is None:
        # Routers take "model:provider", and list "model".
        name = model.rpartition(":")[0]
        entry = entries.get(name)
    if entry is not None:
        return entry
    nearest_names = get_close_matches(model, entries, n=1, cutoff=0)
    nearest = safe_line(nearest_names[0])
    return Failure(
        Status.ERROR,
        f"{models} does not list the judge's model {model!r}: name it as the server does, such as "
        f"{nearest!r}",
    )
