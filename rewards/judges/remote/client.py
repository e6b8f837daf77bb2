"""A client for one server. The client of the `openai` package keeps the connections, repeats failed
requests after growing pauses, honours Retry-After, and keeps time limits.

    async with Client(server, reading=read_answer, largest=1 << 16) as client:
        answer = await client.post("/v1/chat/completions", {"model": "m", "messages": [...]})
    # what `reading` made of it: an answer, a Refused, or a Busy that stayed busy

The openai client decides by the status alone whether to repeat a request. The status is often
misleading: servers of judges write errors under status 200, answer 429 for a spent quota, and send
pages that never end. Therefore ReadingTransport works between the openai client and the network.
ReadingTransport reads at most `largest` bytes of an answer, and passes them to `reading`. Then it
sets the header `x-should-retry`, by which the openai client repeats the request or not. If the
server's state is the cause of an error, the request is repeated without a limit. If the question
may be the cause, there are at most MAX_ATTEMPTS attempts.
"""

import asyncio
import json
import re
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import httpx2 as httpx

from spanreward.rewards.files.http_client import Server, api_key, safe_line
from spanreward.rewards.judges.remote.answer import Busy, Refused

if TYPE_CHECKING:
    from openai import AsyncOpenAI

T = TypeVar("T")
AnswerReader = Callable[[int, bytes], T | Refused | Busy]  # reads a status and a body

MAX_ATTEMPTS = 6  # at most, for errors that the question may cause
UNTIL_THE_DEADLINE = 1_000_000  # attempts: no limit, because the caller's deadline ends them
CONNECT_TIMEOUT = 5.0  # seconds to connect to the server
# The only headers that are sent. The openai client also adds organisations, projects and headers
# from the environment (OPENAI_ORG_ID, OPENAI_CUSTOM_HEADERS), which are not meant for this server.
SENT_HEADERS = {
    "host",
    "connection",
    "user-agent",
    "authorization",
    "accept",
    "accept-encoding",
    "content-type",
    "content-length",
    "transfer-encoding",
    "x-stainless-retry-count",
}


class BadAnswer(Exception):
    """Raised for an answer that is not read to its end, because it is compressed or too large."""


class ReadingTransport(httpx.AsyncBaseTransport, Generic[T]):
    """Reads each answer up to a limit, and decides whether the openai client shall ask again (see
    the top of this file).

    Args:
        network: sends the requests.
        reading, largest: see Client.

    Attributes:
        retries: how many requests were attempts after a question's first attempt.
        trouble: the error of the last failed attempt, "" if no attempt failed.
    """

    def __init__(self, network: httpx.AsyncClient, reading: AnswerReader[T], largest: int) -> None:
        self.network = network
        self.reading = reading
        self.largest = largest
        self.retries = 0
        self.trouble = ""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request, and returns a response without a body for the openai client.

        The response's extensions hold the outcome: what `reading` returned, a Refused or a Busy.
        The response's status is 200 for an answer, and 503 or 400 for an error, whatever the
        server's own status is. The openai client sends the request again after a 503, and not after
        a 400.
        """
        attempt = 1 + int(request.headers.get("x-stainless-retry-count", "0"))
        if attempt > 1:
            self.retries += 1
        remove_foreign_headers(request)
        outcome, waits = await self._read_outcome(request)
        # `Client._outcome` takes the outcome out of the extensions, which the openai client never
        # reads.
        extensions = {"outcome": outcome}
        if not isinstance(outcome, Busy | Refused):
            return httpx.Response(200, extensions=extensions)
        send_again = False
        if isinstance(outcome, Busy):
            self.trouble = outcome.why
            # A Busy is patient if only the server's state is the cause. Such a request is repeated
            # until the deadline. A request that may itself be the cause has MAX_ATTEMPTS attempts.
            send_again = outcome.patient or attempt < MAX_ATTEMPTS
        if send_again:
            headers = {**waits, "x-should-retry": "true"}
            return httpx.Response(503, headers=headers, extensions=extensions)
        headers = {"x-should-retry": "false"}
        return httpx.Response(400, headers=headers, extensions=extensions)

    async def _read_outcome(
        self, request: httpx.Request
    ) -> tuple[T | Refused | Busy, dict[str, str]]:
        """Sends a request. Returns what `reading` makes of the answer, and the answer's headers
        that say how long to wait before the next attempt.

        An answer that is not read to its end is a Busy. A certificate that is not trusted is a
        Refused. Any other error of the network is raised as httpx.RequestError, and the openai
        client then repeats the request by itself.
        """
        try:
            response, content = await self._exchange(request)
        except BadAnswer as error:
            return Busy(str(error), patient=False), {}
        except httpx.RequestError as error:
            untrusted = untrusted_certificate(error)
            if untrusted:
                return Refused(0, untrusted), {}
            self.trouble = safe_line(f"{type(error).__name__} {error}")
            raise
        outcome = self.reading(response.status_code, content)
        if isinstance(outcome, Refused) and response.has_redirect_location:
            outcome = replace(outcome, words=redirect_target(response))
        waits: dict[str, str] = {}
        for name in ("retry-after", "retry-after-ms"):
            value = response.headers.get(name, "")
            # `handle_async_request` gives these headers to the openai client, in a response of its
            # own, whose headers must be ASCII.
            if value.isascii():
                waits[name] = value
        return outcome, waits

    async def _exchange(self, request: httpx.Request) -> tuple[httpx.Response, bytes]:
        """Returns a response and its body.

        Raises BadAnswer if the body has more than `largest` bytes, or if it is compressed, since it
        may then expand to gigabytes. Raises httpx.RequestError for an error of the network.
        """
        response = await self.network.send(request, stream=True)
        try:
            if response.headers.get("Content-Encoding", "identity") != "identity":
                raise BadAnswer("its answer is compressed, though it was asked not to")
            content = bytearray()
            async for part in response.aiter_raw():
                content += part
                if len(content) > self.largest:
                    raise BadAnswer(f"its answer has more than {self.largest:,} bytes")
        finally:
            await response.aclose()
        return response, bytes(content)

    async def aclose(self) -> None:
        await self.network.aclose()


class Client(Generic[T]):
    """A client for one server. Each answer is what `reading` returns for its status and body.

    Args:
        server: the server's url, key and certificates.
        reading: called with the status and the body of each answer; it must raise nothing.
        largest: the most bytes of a body that are read.
        read_timeout: the most seconds without a byte within an attempt.
        connections: the most connections at a time.
    """

    def __init__(
        self,
        server: Server,
        reading: AnswerReader[T],
        largest: int,
        read_timeout: float = CONNECT_TIMEOUT,
        connections: int = 1,
    ) -> None:
        self.transport = ReadingTransport(server.network(connections), reading, largest)
        self._openai = openai_client(
            server.url,
            http_client=httpx.AsyncClient(transport=self.transport),
            timeout=httpx.Timeout(read_timeout, connect=CONNECT_TIMEOUT, pool=None),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._openai.close()

    async def post(self, path: str, body: Mapping[str, Any]) -> T | Refused | Busy:
        """Sends a request, and repeats it after a Busy while attempts are left. Returns the answer,
        a Refused, or the last Busy.
        """
        # A completion may contain half a character (a lone surrogate), which UTF-8 cannot encode.
        # "?" replaces it.
        text = json.dumps(body, ensure_ascii=False, default=str)
        content = text.encode("utf-8", "replace")
        return await self._outcome(self._openai.post(path, content=content, cast_to=httpx.Response))

    async def get(self, path: str) -> T | Refused | Busy:
        """Sends a request once, without further attempts."""
        return await self._outcome(
            self._openai.get(path, options={"max_retries": 0}, cast_to=httpx.Response)
        )

    async def _outcome(self, sending: Awaitable[httpx.Response]) -> T | Refused | Busy:
        """Sends a request, and returns the outcome that ReadingTransport put into the response. For
        any status but 200 the openai client raises an error, which holds the response.

        sending: the openai client's coroutine, which sends the request when it is awaited.
        """
        from openai import APIConnectionError, APIStatusError

        try:
            last = await sending
        except APIStatusError as error:
            last = error.response
        except APIConnectionError:  # the network failed until the attempts were used up
            return Busy(self.transport.trouble, patient=True)
        outcome: T | Refused | Busy = last.extensions["outcome"]
        return outcome


def remove_foreign_headers(request: httpx.Request) -> None:
    """Removes the headers that are not in SENT_HEADERS. Removes the authorization too if there is
    no key for the request's host, because a key is sent to its own host only.
    """
    allowed: list[tuple[str, str]] = []
    for name, value in request.headers.items():
        if name.lower() in SENT_HEADERS:
            allowed.append((name, value))
    request.headers = httpx.Headers(allowed)
    if not api_key(request.url.host):
        del request.headers["authorization"]


def openai_client(
    url: str, http_client: httpx.AsyncClient, timeout: httpx.Timeout
) -> "AsyncOpenAI":
    """Returns a client of the `openai` package. The import is inside, because it takes most of a
    second.
    """
    from openai import AsyncOpenAI

    key = api_key(httpx.URL(url).host)
    return AsyncOpenAI(
        api_key=key or "none",  # the client needs a key; ReadingTransport removes this one
        base_url=url,
        http_client=http_client,
        timeout=timeout,
        max_retries=UNTIL_THE_DEADLINE,
        default_headers={"Accept-Encoding": "identity"},
    )


async def all_in_time(
    asks: Sequence[Callable[[], Awaitable[T]]],
    concurrency: int,
    seconds: float,
) -> list[T | None]:
    """Runs all asks, at most `concurrency` at a time. Returns one answer per ask, in order; None
    for an ask without an answer after `seconds`.

    asks: functions without arguments. Each function sends one request and waits for its answer.

    An ask that waits for its next attempt still counts as running, so a troubled server gets fewer
    requests. If an ask raises, the other asks are cancelled and the error is raised.
    """
    answers: list[T | None] = [None] * len(asks)
    running = asyncio.Semaphore(concurrency)

    async def store_answer(number: int) -> None:
        """Waits until fewer than `concurrency` asks run, then runs the ask with this number."""
        async with running:
            answers[number] = await asks[number]()

    # After a timeout the answers that have already come are returned.
    try:
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
            for number in range(len(asks)):
                group.create_task(store_answer(number))
    except TimeoutError:
        pass
    except ExceptionGroup as errors:  # callers expect the ask's own error, and no group
        raise errors.exceptions[0] from None
    return answers


def untrusted_certificate(error: BaseException) -> str:
    """Returns what is wrong with the server's certificate, as a clause for a message: "its
    certificate is not trusted (self-signed certificate): ...". Returns "" if the error has another
    cause.

    error: an error of httpx, which may wrap ssl's own error several times.
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLCertVerificationError):
        cause = cause.__cause__ or cause.__context__
    if cause is None:  # no error in the chain is about a certificate
        return ""
    return (
        f"its certificate is not trusted ({safe_line(cause.verify_message)}): let "
        "SSL_CERT_FILE name "
        "a PEM file with its issuer's certificate, or ask it by a name that the certificate has"
    )


def redirect_target(response: httpx.Response) -> str:
    """Returns where a redirect leads. The redirect is not followed, because the key would be sent
    there.
    """
    address = re.split("[?#]", response.headers["Location"])[0]  # a query may hold a secret
    target = safe_line(address)
    return f"it sends to {target}, where no question and no key goes: give that url"
