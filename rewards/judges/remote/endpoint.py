"""One OpenAI-compatible server: a request of one question, and what its answer means.

    endpoint = Endpoint("http://127.0.0.1:8000", deadline=300.0)
    async with endpoint.client() as client:
        call = Call(path="completions", client=client, extras={})
        answer = await endpoint.post(call, {"model": "m", "prompt": [1, 2], "max_tokens": 1})

pool.py asks again. A server may be away, silent or busy (no connection, 408, 425, 429, 502, 503, 504), or fail on the
question (any other 5xx, an answer that is cut short or not JSON): these are a Trouble. Any other status is final: 401,
403 and 404 for all questions of the call. At most ANSWER + TOKEN * max_tokens bytes of an answer are read.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import Annotated, Any

import httpx2 as httpx
from pydantic import AfterValidator, BaseModel, Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from spanreward.rewards.http_client import KEY, BadAnswer, Server, exchange, legible
from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.verdict import Status

Body = Mapping[str, Any]  # the JSON of a request, or some of its fields
BUSY = (408, 425, 429, 502, 503, 504)
NO_ACCESS = (401, 403, 404)
UNKNOWN_FIELDS = (400, 422)
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


def if_sound(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    """Reads the value, or returns None if it has another form: the rest of the answer may still be good."""
    try:
        return read(value)
    except ValidationError:
        return None


class PromptDetails(BaseModel):
    cached_tokens: Count | None = None


class TokenCounts(BaseModel):
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    prompt_tokens_details: PromptDetails | None = None


class ServerAnswer(BaseModel):
    """The fields of a completion's or a chat's answer that judges read."""

    choices: list[Choice] = Field(min_length=1)
    usage: Annotated[TokenCounts | None, WrapValidator(if_sound)] = None

    def text(self) -> str | None:
        choice = self.choices[0]
        return choice.message.content if choice.message is not None else choice.text


Answer = ServerAnswer | Failure


class Served(BaseModel):
    """A model in the server's list. root: where vLLM's weights are from. max_model_len: the most tokens of a prompt and
    its answer, None if the server does not say.
    """

    id: str
    root: Annotated[str, AfterValidator(legible)] | None = None
    max_model_len: int | None = None


class ServedList(BaseModel):
    data: list[Served]


class Trouble(Exception):
    """An error that another attempt may not meet.

    patient: it comes from the server's state, not from the question, so the question may be asked until the deadline.
    away: no response came (unreachable, late or cut off). after: seconds that the server asks to wait.
    """

    def __init__(self, message: str, patient: bool, after: float = 0.0, away: bool = False) -> None:
        super().__init__(message)
        self.patient = patient
        self.after = after
        self.away = away


@dataclass(slots=True, kw_only=True)
class Call:
    """A call with many questions to one server. extras: fields that not every server knows; one that refuses them is
    asked without. refusal: why it answers none of the questions.
    """

    path: str
    client: httpx.AsyncClient
    extras: Body
    refusal: Failure | None = None


class Endpoint:
    """One OpenAI-compatible server. RemoteJudge says what the arguments are, and what is raised."""

    def __init__(
        self,
        url: str,
        deadline: float = 300.0,
        concurrency: int = 32,
        connect_timeout: float = 5.0,
        read_timeout: float = 60.0,
    ) -> None:
        server = Server.at(url, "the judge's url")
        self.server = replace(server, url=server.url.removesuffix("/v1"))
        self.deadline = deadline
        self.concurrency = concurrency
        self.connect_timeout = connect_timeout
        self.read_timeout = read_timeout
        self._takes_extras = True

    @property
    def url(self) -> str:
        return self.server.url

    async def look_up(self, model: str) -> Served | None:
        """Returns the model's entry in the server's list; None if there is none, or no list within connect_timeout."""
        try:
            async with asyncio.timeout(self.connect_timeout), self.client() as client:
                response, content = await exchange(client, "GET", "/v1/models", None, LIST)
                models = ServedList.model_validate_json(content if response.is_success else b"")
        except (TimeoutError, httpx.HTTPError, BadAnswer, ValidationError):
            return None
        return next((served for served in models.data if served.id == model), None)

    async def post(self, call: Call, body: Body) -> Answer:
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
            raise Trouble(legible(f"{type(error).__name__} {error}"), patient=True, away=True) from error
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
            raise Trouble(f"it answers {status}", status in BUSY, _seconds(response.headers.get("Retry-After", "0")))
        if not response.is_success:
            return Failure(Status.ERROR, f"{self.url} refuses the question with {status}: {legible(content)}")
        try:
            return ServerAnswer.model_validate_json(content)
        except ValidationError as error:
            raise Trouble("its answer is cut short or not of the OpenAI form", patient=False) from error

    def client(self) -> httpx.AsyncClient:
        """A client for `concurrency` connections, which open when they are needed."""
        timeout = httpx.Timeout(self.read_timeout, connect=self.connect_timeout, pool=None)
        return self.server.client(timeout, self.concurrency)


def _seconds(retry_after: str) -> float:
    """Seconds to wait by a Retry-After header, which has seconds or a date; 0 for anything else."""
    if retry_after.isdecimal():
        return float(retry_after)
    try:
        return max(parsedate_to_datetime(retry_after).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return 0.0
