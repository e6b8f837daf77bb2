"""What every server of a judge or a reward has: a url, a key, and words that become fit for notes.

    server = Server.at("http://127.0.0.1:8000/v1", "the judge's url")
    server.network(connections=32)  # an httpx client; judges/remote/client.py asks through it
    legible(content)                # one line, without the key

The key is read at each call: from SPANREWARD_API_KEY, or for OpenAI's own host from OPENAI_API_KEY.
"""

import asyncio
import os
import re
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import httpx2 as httpx

T = TypeVar("T")
LOOPBACK = re.compile(r"127(?:\.[0-9]+){3}")
KEY = "SPANREWARD_API_KEY"
OPENAI_KEY = "OPENAI_API_KEY"  # where people have it already; no other host ever gets it
OPENAI_HOST = "api.openai.com"
SHOWN_SERVER_CHARACTERS = 300  # characters of a server's words
# characters; a shorter key protects nothing, and would be found in every sentence
SHORTEST_SECRET = 4
# a word such as `key` is followed by one where = or : is between, or with a digit
SECRETS = re.compile(
    r"(?i)(://)[^\s/]*(?=@)|(\bbearer\s+|\b(?:api[-_ ]?key|password|secret)"
    r"(?:\W{0,3}[=:]\W{0,3}|\W{1,4}(?=\S{0,60}[0-9])))[^\s\"',;&]+"
)


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
        api_key()  # raises for a key that no header can hold, before anything is asked
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
        # tried here, where an error can be said in a sentence, and not at the first question
        try:
            server.network()
        except OSError as error:
            raise ValueError(
                f"SSL_CERT_FILE or SSL_CERT_DIR has no certificates: {error}"
            ) from error
        api_key(parsed.host)
        return server

    @property
    def here(self) -> bool:
        """Whether the host is this machine."""
        host = self.host.removesuffix(".")  # the root of the names
        if host in ("localhost", "0.0.0.0", "::", "::1"):
            return True
        return LOOPBACK.fullmatch(host) is not None

    def network(self, connections: int = 1) -> httpx.AsyncClient:
        """Returns so many connections, which open when they are needed.

        Certificates are those of SSL_CERT_FILE and SSL_CERT_DIR, proxies those of the environment,
        and requests to this machine go past any proxy.
        """
        secure = self.url.lower().startswith("https:")
        limits = httpx.Limits(
            max_connections=connections,
            max_keepalive_connections=connections,
        )
        return httpx.AsyncClient(
            limits=limits,
            # without TLS there is nothing to verify, and certificates take 20 ms to load
            verify=httpx.create_ssl_context() if secure else False,
            trust_env=not self.here,
        )


def without_secret(name: str) -> str:
    """Returns the name of a judge or a url, without all that follows its kind if that may hold a
    secret: "server:***" for "server:http://me:password@host#m".
    """
    if "@" not in name and "?" not in name:
        return name
    kind = name.partition(":")[0]
    return f"{kind}:***"


def api_key(host: str = "") -> str:
    """Returns the key for a server on this host, "" for none.

    It is SPANREWARD_API_KEY, or where that is not set and the host is OpenAI's (or one of its
    regions', such as eu.api.openai.com), OPENAI_API_KEY. Raises ValueError, without the key, if a
    header cannot hold it.
    """
    name = KEY
    is_openai = host == OPENAI_HOST or host.endswith(f".{OPENAI_HOST}")
    if is_openai and not key_in(KEY):
        name = OPENAI_KEY
    key = key_in(name)
    for place, letter in enumerate(key, start=1):
        if not "!" <= letter <= "~":  # all visible characters of ASCII are between these
            raise ValueError(
                f"{name} must hold one line of ASCII without spaces, and its character {place} of "
                f"{len(key)} is of another kind: set it again"
            )
    return key


def key_in(name: str) -> str:
    """Returns the environment variable of this name without the white space around it."""
    return os.environ.get(name, "").strip()


def legible(message: str | bytes, longest: int = SHOWN_SERVER_CHARACTERS) -> str:
    """Returns a server's words as one line of at most `longest` printable characters, and `***` for
    secrets.
    """
    text = message.decode(errors="replace") if isinstance(message, bytes) else message
    # one line, in which no control character can change the terminal
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    line = " ".join(printable.split())
    # our own keys, wherever they stand, and what looks like one; then the cut, which might part one
    for name in (KEY, OPENAI_KEY):
        key = key_in(name)
        if len(key) >= SHORTEST_SECRET:
            line = line.replace(key, "***")
    return SECRETS.sub(r"\1\2***", line)[:longest]


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs the coroutine, also if an event loop is already running, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:  # there is none
        return asyncio.run(work)
    # a loop cannot run in another one, but in another thread
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
