"""One server is asked through the client of the `openai` package, which keeps its connections,
retries, backs off, honours Retry-After and keeps time limits.

    async with Client(server, reading=read_answer, largest=1 << 16) as client:
        answer = await client.post("/v1/chat/completions", {"model": "m", "messages": [...]})
    # what `reading` made of it: an answer, a Refused, or a Busy that stayed busy

The client decides by the status alone whether an answer is worth another attempt. Servers of judges
write errors under status 200, call a spent quota 429, and send pages that never end. Therefore
ReadingTransport stands between the client and the network. It reads at most `largest` bytes of an
answer, has them read by `reading`, and tells the client by the header `x-should-retry` whether to
ask again: always while the server's state is to blame, and ATTEMPTS times where the question may
be.
"""

import asyncio
import json
import re
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import httpx2 as httpx

from spanreward.rewards.files.http_client import Server, api_key, legible
from spanreward.rewards.judges.remote.answer import Busy, Refused

if TYPE_CHECKING:
    from openai import AsyncOpenAI

T = TypeVar("T")
Reading = Callable[[int, bytes], T | Refused | Busy]  # of a status and a body, whatever they are

ATTEMPTS = 6  # for errors that the question itself probably causes
UNTIL_THE_DEADLINE = 1_000_000  # attempts; whoever asks gives up by the clock
CONNECT = 5.0  # seconds to connect to the server
# What is sent. The openai client also knows organisations, projects and headers from the
# environment (OPENAI_ORG_ID, OPENAI_CUSTOM_HEADERS), which are not meant for this server.
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
    """An answer that was not read to its end, because it is compressed or too large."""


class ReadingTransport(httpx.AsyncBaseTransport, Generic[T]):
    """Bounds and reads each answer, as this file's beginning says.

    Args:
        network: sends the requests.
        reading, largest: as for Client.

    Attributes:
        retries: how many requests were attempts beyond the first.
        trouble: what the last failed attempt met, "" if none failed.
    """

    def __init__(self, network: httpx.AsyncClient, reading: Reading[T], largest: int) -> None:
        self.network = network
        self.reading = reading
        self.largest = largest
        self.retries = 0
        self.trouble = ""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request, and returns a response that has no body: what was read is in its
        extensions, and its status and headers tell the openai client whether to ask again.
        """
        attempt = 1 + int(request.headers.get("x-stainless-retry-count", "0"))
        if attempt > 1:
            self.retries += 1
        # Only headers that this package knows are sent, and a key only to its own host.
        allowed: list[tuple[str, str]] = []
        for name, value in request.headers.items():
            if name.lower() in SENT_HEADERS:
                allowed.append((name, value))
        request.headers = httpx.Headers(allowed)
        if not api_key(request.url.host):
            del request.headers["authorization"]
        # Whatever comes back is one of three outcomes, or an error of the network. The openai
        # client repeats the latter by itself.
        headers: dict[str, str] = {}
        outcome: T | Refused | Busy
        try:
            response, content = await self._exchange(request)
        except BadAnswer as error:
            outcome = Busy(str(error), patient=False)
        except httpx.RequestError as error:
            untrusted = untrusted_certificate(error)
            if not untrusted:
                self.trouble = legible(f"{type(error).__name__} {error}")
                raise
            outcome = Refused(0, untrusted)
        else:
            outcome = self.reading(response.status_code, content)
            if isinstance(outcome, Refused) and response.has_redirect_location:
                outcome = replace(outcome, words=redirected(response))
            for name in ("retry-after", "retry-after-ms"):
                value = response.headers.get(name, "")
                if value.isascii():
                    headers[name] = value
        # `_outcome` takes it out again. The openai client never reads a response's extensions.
        extensions = {"outcome": outcome}
        if isinstance(outcome, Busy):
            self.trouble = outcome.why
            if outcome.patient or attempt < ATTEMPTS:
                headers["x-should-retry"] = "true"
                return httpx.Response(503, headers=headers, extensions=extensions)
        if isinstance(outcome, Busy | Refused):
            headers = {"x-should-retry": "false"}
            return httpx.Response(400, headers=headers, extensions=extensions)
        return httpx.Response(200, extensions=extensions)

    async def _exchange(self, request: httpx.Request) -> tuple[httpx.Response, bytes]:
        """Returns a response and its body.

        Raises BadAnswer if it is compressed, which may expand to gigabytes, or has more than
        `largest` bytes; and httpx.RequestError.
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
    """Asks one server. An answer is what `reading` makes of it.

    Args:
        server: its url, key and certificates.
        reading: reads a status and a body, whatever they are, and raises nothing.
        largest: the most bytes of a body that are read.
        read_timeout: seconds of an attempt without a byte.
        connections: the most at a time.
    """

    def __init__(
        self,
        server: Server,
        reading: Reading[T],
        largest: int,
        read_timeout: float = CONNECT,
        connections: int = 1,
    ) -> None:
        self.transport = ReadingTransport(server.network(connections), reading, largest)
        self._openai = openai_client(
            server.url,
            http_client=httpx.AsyncClient(transport=self.transport),
            timeout=httpx.Timeout(read_timeout, connect=CONNECT, pool=None),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._openai.close()

    async def post(self, path: str, body: Mapping[str, Any]) -> T | Refused | Busy:
        """Asks until the answer is none that another attempt may change."""
        # half a character of a completion is no UTF-8, and becomes "?"
        text = json.dumps(body, ensure_ascii=False, default=str)
        content = text.encode("utf-8", "replace")
        response = self._openai.post(path, content=content, cast_to=httpx.Response)
        return await self._outcome(response)

    async def get(self, path: str) -> T | Refused | Busy:
        """Asks once."""
        response = self._openai.get(
            path,
            options={"max_retries": 0},
            cast_to=httpx.Response,
        )
        return await self._outcome(response)

    async def _outcome(self, response: Awaitable[httpx.Response]) -> T | Refused | Busy:
        """Returns what the transport read. The openai client raises for what is no answer."""
        from openai import APIConnectionError, APIStatusError

        try:
            last = await response
        except APIStatusError as error:
            last = error.response
        except APIConnectionError:  # the attempts are used up
            return Busy(self.transport.trouble, patient=True)
        outcome: T | Refused | Busy = last.extensions["outcome"]
        return outcome


def openai_client(
    url: str, http_client: httpx.AsyncClient, timeout: httpx.Timeout
) -> "AsyncOpenAI":
    """Returns a client of the `openai` package, whose import takes most of a second."""
    from openai import AsyncOpenAI

    key = api_key(httpx.URL(url).host)
    return AsyncOpenAI(
        api_key=key or "none",  # without a key, ReadingTransport takes this one away
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
    """Returns one answer per ask, in order; None for what had no answer after `seconds`.

    An ask that waits for its next attempt keeps its place, so that a troubled server gets fewer at
    a time. Raises what an ask raises, and ends the others.
    """
    answers: list[T | None] = [None] * len(asks)
    places = asyncio.Semaphore(concurrency)

    async def settle(number: int) -> None:
        async with places:
            answers[number] = await asks[number]()

    # What is answered when the time is over stays answered.
    try:
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
            for number in range(len(asks)):
                group.create_task(settle(number))
    except TimeoutError:
        pass
    except ExceptionGroup as errors:  # callers know what an ask raises, and no groups
        raise errors.exceptions[0] from None
    return answers


def untrusted_certificate(error: BaseException) -> str:
    """Returns what is wrong with the server's certificate, "" if the error is another."""
    cause: BaseException | None = error  # httpx wraps the error of ssl, maybe several times
    while cause is not None and not isinstance(cause, ssl.SSLCertVerificationError):
        cause = cause.__cause__ or cause.__context__
    if cause is None:
        return ""
    return (
        f"its certificate is not trusted ({legible(cause.verify_message)}): let SSL_CERT_FILE name "
        "a PEM file with its issuer's certificate, or ask it by a name that the certificate has"
    )


def redirected(response: httpx.Response) -> str:
    """Returns where a redirect leads. It is not followed, since the key would go there."""
    address = re.split("[?#]", response.headers["Location"])[0]  # what follows may hold a secret
    target = legible(address)
    return f"it sends to {target}, where no question and no key goes: give that url"
