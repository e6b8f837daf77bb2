"""Many questions put to one OpenAI-compatible server: at most so many at a time, asked again while that can help.

    endpoint = Endpoint("http://127.0.0.1:8000", deadline=300.0)
    endpoint.ask("completions", [{"model": "m", "prompt": [1, 2], "max_tokens": 1}], {})     # [Answer(...)]

A question is asked again, with growing random pauses and no sooner than the server's Retry-After says: until the
deadline when the server is away, silent or busy (no connection, 408, 425, 429, 502, 503, 504), ATTEMPTS times when it
fails on the question (any other 5xx, an answer that is no JSON or ends too soon). Any other status is final: 401, 403
and 404 for the whole call, as no question would fare better. The key is read from SPANREWARD_API_KEY at each call.

Of an answer no more than LARGEST_ANSWER bytes are read, as they are sent: a compressed one, which was not asked for,
may hold gigabytes.
"""

import asyncio
import os
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Annotated, Any, TypeVar

import httpx2 as httpx
from pydantic import BaseModel, Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_random_exponential

from rewards.judges.judge import Failure
from rewards.verdict import Status

T = TypeVar("T")
KEY = "SPANREWARD_API_KEY"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
ATTEMPTS = 6  # for what is more likely the question's fault than a passing one
BACKOFF = wait_random_exponential(multiplier=0.5, max=10.0)  # seconds: anywhere up to 0.5, 1, 2, 4, 8, 10, 10 ...
BUSY = (408, 425, 429, 502, 503, 504)
NO_ACCESS = (401, 403, 404)
UNKNOWN_FIELDS = (400, 422)
LARGEST_ANSWER = 1 << 22  # bytes; a rating with 20 log-probabilities has some 2,000


class TopLogprob(BaseModel):
    """One of a chat's likely next tokens."""

    token: str
    logprob: float | None


class Position(BaseModel):
    """One position of a chat's answer."""

    top_logprobs: list[TopLogprob] | None = None


class Logprobs(BaseModel):
    """top_logprobs as completions have them, per position by token; content as chats do."""

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
    """What a chat answered."""

    content: str | None = None


class Choice(BaseModel):
    """text from completions, message from chats."""

    text: str | None = None
    message: Message | None = None
    logprobs: Logprobs | None = None


Count = Annotated[int, Field(ge=0, lt=1 << 40)]


def if_sound(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    """What is read of the value; None where it is not of the form, as an answer may be good beside it."""
    try:
        return read(value)
    except ValidationError:
        return None


class PromptDetails(BaseModel):
    """What the server tells of a prompt."""

    cached_tokens: Count | None = None


class TokenCounts(BaseModel):
    """What an answer cost."""

    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    prompt_tokens_details: PromptDetails | None = None


class ServerAnswer(BaseModel):
    """The part of a completion's or a chat's answer that judges read."""

    choices: list[Choice] = Field(min_length=1)
    usage: Annotated[TokenCounts | None, WrapValidator(if_sound)] = None


class Served(BaseModel):
    """A model of the server's list. root: where vLLM has its weights from. max_model_len: tokens of a prompt with its
    answer; None where the server does not tell.
    """

    id: str
    root: str | None = None
    max_model_len: int | None = None


class ServedList(BaseModel):
    """The server's list of models."""

    data: list[Served]


class Trouble(Exception):
    """What may pass. patient: it is the server's state, not the question; away: it did not answer at all, or not in
    time; after: seconds the server asks to wait.
    """

    def __init__(self, message: str, patient: bool, after: float = 0.0, away: bool = False) -> None:
        super().__init__(message)
        self.patient = patient
        self.after = after
        self.away = away


@dataclass(slots=True, kw_only=True)
class Call:
    """What the questions of one call to one server share. refusal: why it answers none of them."""

    path: str
    client: httpx.AsyncClient
    extras: Mapping[str, Any]
    refusal: Failure | None = None


@dataclass(slots=True, kw_only=True)
class PatientCall(Call):
    """A call that waits for its one server. end: of the deadline, by the event loop's clock."""

    places: asyncio.Semaphore
    end: float
    alive: Callable[[], bool]
    trouble: str = ""
    retries: int = 0


class Endpoint:
    """url: with or without its `/v1`. deadline, connect_timeout, read_timeout: seconds, the first for a whole call or
    for all from `begin` to `finish`, the others for one attempt. concurrency: questions under way at a time.

    Raises ValueError for a url that is not http or https, or has a password.
    """

    def __init__(
        self,
        url: str,
        deadline: float = 300.0,
        concurrency: int = 32,
        connect_timeout: float = 5.0,
        read_timeout: float = 60.0,
    ) -> None:
        parsed = httpx.URL(url)
        if parsed.userinfo:
            raise ValueError(f"the judge's url for {parsed.host} has a user or password in it: put a key into {KEY}")
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise ValueError(
                f"the judge's url {url!r} does not begin with http:// or https://: give one such as http://127.0.0.1:8000"
            )
        self.url = url.rstrip("/").removesuffix("/v1")
        self.host = parsed.host
        self.port = parsed.port or {"http": 80, "https": 443}[parsed.scheme]
        self.deadline = deadline
        self.concurrency = concurrency
        self.connect_timeout = connect_timeout
        self.read_timeout = read_timeout
        self._takes_extras = True
        self._end: float | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_end": None}

    def begin(self) -> None:
        """From now until `finish` all calls share one deadline, however many there are."""
        self._end = time.monotonic() + self.deadline

    def finish(self) -> None:
        self._end = None

    def left(self) -> float:
        """The seconds that a call may take now."""
        return self.deadline if self._end is None else max(self._end - time.monotonic(), 0.0)

    def ask(
        self,
        path: str,
        bodies: Sequence[Mapping[str, Any]],
        extras: Mapping[str, Any],
        alive: Callable[[], bool] = lambda: True,
    ) -> tuple[list[ServerAnswer | Failure], int]:
        """One answer per body, in order, or why there is none: TIMEOUT at the deadline, otherwise ERROR. And how many
        attempts were second ones or later.

        extras: fields that not every server knows; they are left out for one that refuses them. alive: False where it
        is known that the server will not come back by itself; then nothing is asked again.
        """
        return run(self._ask(path, bodies, extras, alive))

    def served(self, model: str) -> Served | None:
        """What the server says it serves as this model; None where it does not have it, or says nothing within
        connect_timeout.
        """
        return run(self.look_up(model))

    async def look_up(self, model: str) -> Served | None:
        """`served`, in a running loop."""
        try:
            async with asyncio.timeout(self.connect_timeout), self.client() as client:
                response, content = await _exchange(client, "GET", "/v1/models", None)
                models = ServedList.model_validate_json(content if response.is_success else b"")
        except (TimeoutError, httpx.HTTPError, Trouble, ValidationError):
            return None
        return next((served for served in models.data if served.id == model), None)

    async def _ask(
        self,
        path: str,
        bodies: Sequence[Mapping[str, Any]],
        extras: Mapping[str, Any],
        alive: Callable[[], bool],
    ) -> tuple[list[ServerAnswer | Failure], int]:
        end = asyncio.get_running_loop().time() + self.left()
        async with self.client() as client, asyncio.TaskGroup() as group:
            places = asyncio.Semaphore(self.concurrency)
            call = PatientCall(path=path, client=client, extras=extras, places=places, end=end, alive=alive)
            tasks = [group.create_task(self._ask_one(call, body)) for body in bodies]
        return [task.result() for task in tasks], call.retries

    async def _ask_one(self, call: PatientCall, body: Mapping[str, Any]) -> ServerAnswer | Failure:
        """A question's place is kept through its pauses: a busy server is asked less."""

        def before_pause(state: RetryCallState) -> None:
            call.retries += 1
            call.trouble = str(_trouble(state))

        retrying = AsyncRetrying(
            retry=retry_if_exception_type(Trouble),
            wait=lambda state: _trouble(state).after + BACKOFF(state),
            stop=lambda state: not call.alive() or (state.attempt_number >= ATTEMPTS and not _trouble(state).patient),
            before_sleep=before_pause,
            reraise=True,
        )
        try:
            async with asyncio.timeout_at(call.end), call.places:
                return await retrying(self.post, call, body) if call.refusal is None else call.refusal
        except TimeoutError:
            why = f"; the last trouble: {call.trouble}" if call.trouble else ""
            return Failure(Status.TIMEOUT, f"no answer from {self.url} within {self.deadline:g} s{why}")
        except Trouble as trouble:
            how = f"failed {ATTEMPTS} times, at last" if call.alive() else "has ended"
            return Failure(Status.ERROR, f"{self.url} {how}: {trouble}")

    async def post(self, call: Call, body: Mapping[str, Any]) -> ServerAnswer | Failure:
        """One attempt, in a running loop. Raises Trouble for what may pass."""
        extras = call.extras if self._takes_extras else {}
        try:
            response, content = await _exchange(call.client, "POST", f"/v1/{call.path}", {**body, **extras})
            if response.status_code in UNKNOWN_FIELDS and extras:
                response, content = await _exchange(call.client, "POST", f"/v1/{call.path}", body)
                if response.is_success:
                    self._takes_extras = False
        except httpx.RequestError as error:
            raise Trouble(f"{type(error).__name__} {error}".strip(), patient=True, away=True) from error
        status = response.status_code
        if status in NO_ACCESS:
            call.refusal = self._refusal(status, call.path, body["model"])
            return call.refusal
        if status in BUSY or status >= 500:
            raise Trouble(f"it answers {status}", status in BUSY, _seconds(response.headers.get("Retry-After", "0")))
        if not response.is_success:
            said = content[:300].decode(errors="replace")
            return Failure(Status.ERROR, f"{self.url} refuses the question with {status}: {said}")
        try:
            return ServerAnswer.model_validate_json(content)
        except ValidationError as error:
            raise Trouble("its answer is cut short or not of the OpenAI form", patient=False) from error

    def _refusal(self, status: int, path: str, model: str) -> Failure:
        advice = f"put the key it wants into {KEY}"
        if status == 404:
            advice = f"{self.url}/v1/models says what it serves, and a server of chats only is asked as chat:URL#MODEL"
        return Failure(
            Status.ERROR, f"{self.url}/v1/{path} does not answer for the model {model!r} ({status}): {advice}"
        )

    def client(self) -> httpx.AsyncClient:
        """With `concurrency` connections to the server, none of them open yet."""
        key = os.environ.get(KEY, "").strip()
        return httpx.AsyncClient(
            base_url=self.url,
            headers={"Accept-Encoding": "identity", **({"Authorization": f"Bearer {key}"} if key else {})},
            timeout=httpx.Timeout(self.read_timeout, connect=self.connect_timeout, pool=None),
            limits=httpx.Limits(max_connections=self.concurrency, max_keepalive_connections=self.concurrency),
            trust_env=self.host not in LOOPBACK,  # no proxy stands between us and this machine
        )


def pause(attempt: int) -> float:
    """Seconds to wait, at random, after so many attempts (from 1) that failed one after another."""
    state = RetryCallState(AsyncRetrying(), None, (), {})
    state.attempt_number = attempt
    return BACKOFF(state)


def run(work: Coroutine[Any, Any, T]) -> T:
    """The coroutine's result, also where a loop runs already, as a notebook's own does."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


async def _exchange(client: httpx.AsyncClient, method: str, path: str, body: Any) -> tuple[httpx.Response, bytes]:
    """A response and its content. Raises Trouble for one that is compressed or has no end."""
    async with client.stream(method, path, json=body) as response:
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise Trouble("its answer is compressed, though it was asked not to", patient=False)
        content = b""
        async for part in response.aiter_raw():
            content += part
            if len(content) > LARGEST_ANSWER:
                raise Trouble(f"its answer has more than {LARGEST_ANSWER:,} bytes", patient=False)
    return response, content


def _trouble(state: RetryCallState) -> Trouble:
    """The attempt's exception."""
    assert state.outcome is not None
    error = state.outcome.exception()
    assert isinstance(error, Trouble)
    return error


def _seconds(retry_after: str) -> float:
    """How long a Retry-After header says to wait: seconds, or a date; 0 for neither."""
    if retry_after.isdecimal():
        return float(retry_after)
    try:
        return max(parsedate_to_datetime(retry_after).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return 0.0
