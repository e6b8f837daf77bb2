"""One OpenAI-compatible server: it is asked many questions at once, and again what it did not answer.

    endpoint = Endpoint("http://127.0.0.1:8000", deadline=300.0)
    asked = endpoint.ask("completions", [{"model": "m", "prompt": [1, 2], "max_tokens": 1}], {}, seconds=300.0)
    answers, retries = run(asked)

A server that is away, silent or busy (no connection, 408, 425, 429, 502, 503, 504) is asked again until the deadline. A
question that it fails on (any other 5xx, an answer that is cut short or not JSON) is asked ATTEMPTS times in all: the
question may be the cause. Before each further attempt the question waits for a growing random pause and the server's
Retry-After, and keeps its place meanwhile, so that a troubled server gets fewer at a time. Any other status is final:
401, 403 and 404 for all questions of the call. At most ANSWER + TOKEN * max_tokens bytes of an answer are read. Odd
counts of tokens do not spoil a good answer.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated, Any

import httpx2 as httpx
from pydantic import AfterValidator, BaseModel, Field, ValidationError

from spanreward.rewards.base.verdict import Status
from spanreward.rewards.files.http_client import KEY, BadAnswer, Server, exchange, legible
from spanreward.rewards.judges.judge import Failure

Body = Mapping[str, Any]  # the JSON of a request, or some of its fields

ATTEMPTS = 6  # for errors that the question itself probably causes
SHORTEST, LONGEST = 0.5, 10.0  # seconds, of the longest first and the longest later pause
CONNECT = 5.0  # seconds, to connect to the server, and for its list of models
BUSY = (408, 425, 429, 502, 503, 504)
NO_ACCESS = (401, 403, 404)
UNKNOWN_FIELDS = (400, 422)
MAX_LOGPROBS = 20  # vLLM's own limit, unless it is started with another
ANSWER = 1 << 16  # bytes beside the text; a rating with 20 log-probabilities has about 2,000
TOKEN = 64  # bytes of the text for each token that was asked for
LIST = 1 << 22  # bytes of a list of models


class TopLogprob(BaseModel):
    token: str
    logprob: float | None


class Position(BaseModel):
    top_logprobs: list[TopLogprob] | None = None


class Logprobs(BaseModel):
    """Per position of the answer: top_logprobs in completions, content in chats."""

    top_logprobs: list[dict[str, float | None] | None] | None = None
    content: list[Position] | None = None

    def first(self) -> list[tuple[str, float | None]]:
        """The first position's tokens and natural log-probabilities."""
        if self.top_logprobs:
            return list((self.top_logprobs[0] or {}).items())
        return [
            (top.token, top.logprob) for position in (self.content or [])[:1] for top in position.top_logprobs or []
        ]


class Message(BaseModel):
    content: str | None = None


class Choice(BaseModel):
    """text from completions, message from chats."""

    text: str | None = None
    message: Message | None = None
    logprobs: Logprobs | None = None


Count = Annotated[int, Field(ge=0, lt=1 << 40)]


class PromptDetails(BaseModel):
    cached_tokens: Count | None = None


class TokenCounts(BaseModel):
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    prompt_tokens_details: PromptDetails | None = None


class ServerAnswer(BaseModel):
    """The fields of a completion's or a chat's answer that judges read."""

    choices: list[Choice] = Field(min_length=1)
    usage: TokenCounts | Any = None  # of another form: the rest of the answer may still be good

    def text(self) -> str | None:
        choice = self.choices[0]
        return choice.message.content if choice.message is not None else choice.text


class Served(BaseModel):
    """A model in the server's list. root: where vLLM's weights are from. max_model_len: the most tokens of a prompt and
    its answer, None if the server does not say.
    """

    id: str
    root: Annotated[str, AfterValidator(legible)] | None = None
    max_model_len: int | None = None


class ServedList(BaseModel):
    data: list[Served]


Answer = ServerAnswer | Failure


class Trouble(Exception):
    """An error that another attempt may not meet. patient: it comes from the server's state, not from the question, so
    the question may be asked until the deadline. after: seconds that the server asks to wait.
    """

    def __init__(self, message: str, patient: bool, after: float = 0.0) -> None:
        super().__init__(message)
        self.patient = patient
        self.after = after


@dataclass(slots=True, kw_only=True)
class Call:
    """A call with many questions. extras: fields that not every server knows; one that refuses them is asked without.
    refusal: why the server answers none of the questions. retries: attempts beyond a question's first. trouble: the
    last one.
    """

    path: str
    client: httpx.AsyncClient
    extras: Body
    refusal: Failure | None = None
    retries: int = 0
    trouble: str = ""


class Endpoint:
    """One OpenAI-compatible server. RemoteJudge says what the arguments are, and what is raised."""

    def __init__(self, url: str, deadline: float = 300.0, concurrency: int = 32, read_timeout: float = 60.0) -> None:
        server = Server.at(url, "the judge's url")
        self.server = replace(server, url=server.url.removesuffix("/v1"))
        self.url = self.server.url
        self.deadline = deadline
        self.concurrency = concurrency
        self.read_timeout = read_timeout
        self._takes_extras = True

    async def look_up(self, model: str) -> Served | None:
        """Returns the model's entry in the server's list; None if there is none, or no list within CONNECT seconds."""
        try:
            async with asyncio.timeout(CONNECT), self._client() as client:
                response, content = await exchange(client, "GET", "/v1/models", None, LIST)
                models = ServedList.model_validate_json(content if response.is_success else b"")
        except (TimeoutError, httpx.HTTPError, BadAnswer, ValidationError):
            return None
        return next((served for served in models.data if served.id == model), None)

    async def ask(self, path: str, bodies: Sequence[Body], extras: Body, seconds: float) -> tuple[list[Answer], int]:
        """Returns one answer per body, in order, and the number of attempts beyond the first ones.

        A body without an answer is a Failure: a TIMEOUT after `seconds`, otherwise an ERROR. extras: see Call.
        """
        answers: dict[int, Answer] = {}
        places = asyncio.Semaphore(self.concurrency)
        async with self._client() as client:
            call = Call(path=path, client=client, extras=extras)

            async def settle(number: int) -> None:
                async with places:
                    answers[number] = await self._persist(call, bodies[number])

            with suppress(TimeoutError):
                async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
                    for number in range(len(bodies)):
                        group.create_task(settle(number))
        late = Failure(Status.TIMEOUT, f"no answer from {self.url} within {self.deadline:g} s{call.trouble}")
        return [answers.get(number, late) for number in range(len(bodies))], call.retries

    async def _persist(self, call: Call, body: Body) -> Answer:
        """Asks one question until it has an answer, or has failed ATTEMPTS times by its own fault."""
        troubles = faults = 0
        while call.refusal is None:
            call.retries += troubles > 0
            try:
                return await self._post(call, body)
            except Trouble as trouble:
                troubles += 1
                faults += not trouble.patient
                call.trouble = f"; the last trouble: {trouble}"
                if faults == ATTEMPTS:
                    return Failure(Status.ERROR, f"{self.url} failed, the last of {ATTEMPTS} times: {trouble}")
                await asyncio.sleep(trouble.after + pause(troubles))
        return call.refusal

    async def _post(self, call: Call, body: Body) -> Answer:
        """Makes one attempt. Raises Trouble for an error that another attempt may not meet."""
        extras = call.extras if self._takes_extras else {}
        path, largest = f"/v1/{call.path}", ANSWER + TOKEN * body["max_tokens"]
        try:
            response, content = await exchange(call.client, "POST", path, {**body, **extras}, largest)
            if response.status_code in UNKNOWN_FIELDS and extras:
                response, content = await exchange(call.client, "POST", path, body, largest)
                if response.is_success:
                    self._takes_extras = False
        except httpx.RequestError as error:
            raise Trouble(legible(f"{type(error).__name__} {error}"), patient=True) from error
        except BadAnswer as error:
            raise Trouble(str(error), patient=False) from error
        status = response.status_code
        if status in NO_ACCESS:
            advice = f"put the key it wants into {KEY}"
            if status == 404:
                advice = (
                    f"{self.url}/v1/models says what it serves, and a server of chats only is asked as chat:URL#MODEL"
                )
            refused = f"{self.url}/v1/{call.path} does not answer for the model {body['model']!r} ({status}): {advice}"
            call.refusal = Failure(Status.ERROR, refused)
            return call.refusal
        if status in BUSY or status >= 500:
            after = response.headers.get("Retry-After", "")  # seconds; a date counts as none
            raise Trouble(f"it answers {status}", status in BUSY, float(after) if after.isdecimal() else 0.0)
        if not response.is_success:
            return Failure(Status.ERROR, f"{self.url} refuses the question with {status}: {legible(content)}")
        try:
            return ServerAnswer.model_validate_json(content)
        except ValidationError as error:
            raise Trouble("its answer is cut short or not of the OpenAI form", patient=False) from error

    def _client(self) -> httpx.AsyncClient:
        return self.server.client(httpx.Timeout(self.read_timeout, connect=CONNECT, pool=None), self.concurrency)


def pause(attempt: int) -> float:
    """Random seconds to wait after this many failed attempts in a row (from 1): up to 0.5, 1, 2, 4, 8, 10, 10 ..."""
    return random.uniform(0.0, min(SHORTEST * 2.0 ** min(attempt - 1, 10), LONGEST))
