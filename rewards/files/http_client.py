"""HTTP for the servers of judges: their urls, the key, bounded answers, and their words made fit
for notes.

    server = Server.at("http://127.0.0.1:8000/v1", "the judge's url")
    async with server.client(httpx.Timeout(60.0)) as client:
        response, content = await exchange(client, "GET", "/v1/models", None, largest=1 << 22)
    legible(content)                # one line, without the key

The key is read from SPANREWARD_API_KEY at each call. A compressed answer is refused: it may expand
to gigabytes.
"""

import asyncio
import os
import re
import ssl
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import httpx2 as httpx

T = TypeVar("T")
LOOPBACK = re.compile(r"127(?:\.[0-9]+){3}")
KEY = "SPANREWARD_API_KEY"
HEADERS = {"Accept-Encoding": "identity", "Content-Type": "application/json"}
SHOWN = 300  # characters of a server's words
# characters; a shorter key protects nothing, and would be found in every sentence
SHORTEST_SECRET = 4
# a word such as `key` is followed by one where = or : is between, or with a digit
SECRETS = re.compile(
    r"(?i)(://)[^\s/]*(?=@)|(\bbearer\s+|\b(?:api[-_ ]?key|password|secret)"
    r"(?:\W{0,3}[=:]\W{0,3}|\W{1,4}(?=\S{0,60}[0-9])))[^\s\"',;&]+"
)


class BadAnswer(Exception):
    """An answer that was not read to its end, because it is compressed or too large."""


class Untrusted(BadAnswer):
    """There is no answer, as the server's certificate is not trusted."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server's url without a slash at its end, and its host."""

    url: str
    host: str

    @classmethod
    def at(cls, url: str, whose: str) -> Self:
        """Reads a url, and checks the key. whose: as in "the judge's url".

        Raises ValueError for a url that is not http or https or that may hold a secret, and as
        `api_key` does. The message never shows a secret.
        """
        api_key()
        if without_secret(url) != url:
            raise ValueError(
                f"{whose} has a user, a password or a '?' in it: leave it out, and put a key into "
                f"{KEY}"
            )
        try:
            parsed = httpx.URL(url)
        except httpx.InvalidURL:
            parsed = httpx.URL()
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise ValueError(
                f"{whose} {url!r} is none of http or https: give one such as http://127.0.0.1:8000"
            )
        server = cls(url.rstrip("/"), parsed.host)
        try:
            server.client(httpx.Timeout(1.0))
        except OSError as error:
            raise ValueError(
                f"SSL_CERT_FILE or SSL_CERT_DIR has no certificates: {error}"
            ) from error
        return server

    @property
    def here(self) -> bool:
        """Whether the host is this machine."""
        host = self.host.removesuffix(".")  # the root of the names
        return host in ("localhost", "0.0.0.0", "::", "::1") or LOOPBACK.fullmatch(host) is not None

    def client(self, timeout: httpx.Timeout, connections: int = 1) -> httpx.AsyncClient:
        """A client for so many connections, which open when they are needed."""
        key = api_key()
        return httpx.AsyncClient(
            base_url=self.url,
            headers={**HEADERS, **({"Authorization": f"Bearer {key}"} if key else {})},
            timeout=timeout,
            limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
            # SSL_CERT_FILE
            verify=httpx.create_ssl_context() if self.url.lower().startswith("https:") else True,
            trust_env=not self.here,  # requests to this machine go past any proxy
        )


def without_secret(name: str) -> str:
    """Returns the name of a judge or a url, without all that follows its kind if that may hold a
    secret.
    """
    return f"{name.partition(':')[0]}:***" if "@" in name or "?" in name else name


def api_key() -> str:
    """The key in SPANREWARD_API_KEY, "" for none.

    Raises ValueError, without the key, if a header cannot hold it.
    """
    key = os.environ.get(KEY, "").strip()
    wrong = next(
        (place for place, letter in enumerate(key, start=1) if not "!" <= letter <= "~"), None
    )
    if wrong:
        raise ValueError(
            f"{KEY} must hold one line of ASCII without spaces, and its character {wrong} of "
            f"{len(key)} is of another kind: set it again"
        )
    return key


async def exchange(
    client: httpx.AsyncClient, method: str, path: str, body: bytes | None, largest: int
) -> tuple[httpx.Response, bytes]:
    """Returns a response and its content. body: JSON.

    Raises BadAnswer if it is compressed or has more than `largest` bytes, Untrusted, and
    httpx.RequestError.
    """
    try:
        async with client.stream(method, path, content=body) as response:
            if response.headers.get("Content-Encoding", "identity") != "identity":
                raise BadAnswer("its answer is compressed, though it was asked not to")
            content = bytearray()
            async for part in response.aiter_raw():
                content += part
                if len(content) > largest:
                    raise BadAnswer(f"its answer has more than {largest:,} bytes")
    except httpx.ConnectError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, ssl.SSLCertVerificationError):
            cause = cause.__cause__ or cause.__context__
        if cause is None:
            raise
        raise Untrusted(
            f"its certificate is not trusted ({legible(cause.verify_message)}): let SSL_CERT_FILE "
            "name a PEM file with its issuer's certificate, or ask it by a name that the "
            "certificate has"
        ) from error
    return response, bytes(content)


def seconds_to_wait(response: httpx.Response) -> float:
    """The seconds that Retry-After asks for; 0 if it says none."""
    said = response.headers.get("Retry-After", "")
    return float(said) if re.fullmatch(r"[0-9]+(\.[0-9]*)?", said) else 0.0


def legible(said: str | bytes, longest: int = SHOWN) -> str:
    """Returns a server's words as one line of at most `longest` printable characters, and `***` for
    secrets.
    """
    text = said.decode(errors="replace") if isinstance(said, bytes) else said
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    key = os.environ.get(KEY, "").strip()
    if len(key) >= SHORTEST_SECRET:
        line = line.replace(key, "***")
    return SECRETS.sub(r"\1\2***", line)[:longest]


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs the coroutine, also if an event loop is already running, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
