"""The url, the key and the printed words of a server that a judge or a reward asks.

    server = Server.checked("http://127.0.0.1:8000/v1", "the judge's url")
    server.network(connections=32)  # an httpx client; judges/remote/client.py asks through it
    safe_line(content)              # one line, without the key

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
LOOPBACK_ADDRESS = re.compile(r"127(?:\.[0-9]+){3}")
KEY_VARIABLE = "SPANREWARD_API_KEY"
OPENAI_KEY = "OPENAI_API_KEY"  # many users have set it; sent to OpenAI's host only
OPENAI_HOST = "api.openai.com"
SHOWN_SERVER_CHARACTERS = 300  # of a server's words in a message
# A key with fewer characters is not hidden: it protects nothing, and would be found in every
# sentence.
SHORTEST_SECRET = 4
# Matches secrets: a user and a password in a url; the word after "bearer"; and the word after "api
# key", "password" or "secret" if a = or : is between, or if that word has a digit.
SECRET_PATTERN = re.compile(
    r"(?i)(://)[^\s/]*(?=@)|(\bbearer\s+|\b(?:api[-_ ]?key|password|secret)"
    r"(?:\W{0,3}[=:]\W{0,3}|\W{1,4}(?=\S{0,60}[0-9])))[^\s\"',;&]+"
)


@dataclass(frozen=True, slots=True)
class Server:
    """The url and the host of a server.

    Attributes:
        url: without a slash at its end.
        host: the name or address in the url, such as "127.0.0.1".
    """

    url: str
    host: str

    @classmethod
    def checked(cls, url: str, whose: str) -> Self:
        """Returns the server at a url, after checks of the url, the certificates and the key.

        whose: the url's name in messages, such as "the judge's url". Raises ValueError for a url
        that is not http or https, for a url that may hold a secret, for certificates that cannot be
        read, and for a key that no header can hold (`api_key`). The message never shows a secret.
        """
        if without_secret(url) != url:
            raise ValueError(
                f"{whose} has a user, a password or a '?' in it: leave it out, and put a key into "
                f"{KEY_VARIABLE}"
            )
        host = _host_of(url)
        if not host:
            raise ValueError(
                f"{whose} {url!r} is none of http or https: give one such as http://127.0.0.1:8000"
            )
        api_key(host)  # raises for a key that no header can hold
        server = cls(url.rstrip("/"), host)
        # The certificates are tried now, so that an error is reported here and not at the first
        # question.
        try:
            server.network()
        except OSError as error:
            raise ValueError(
                f"SSL_CERT_FILE or SSL_CERT_DIR has no certificates: {error}"
            ) from error
        return server

    @property
    def here(self) -> bool:
        """Whether the host is this machine."""
        host = self.host.removesuffix(".")  # "localhost." is localhost, too
        if host in ("localhost", "0.0.0.0", "::", "::1"):
            return True
        return LOOPBACK_ADDRESS.fullmatch(host) is not None

    def network(self, connections: int = 1) -> httpx.AsyncClient:
        """Returns an httpx client with up to `connections` connections, which open when they are
        needed.

        Certificates are read from SSL_CERT_FILE and SSL_CERT_DIR, and proxies from the environment.
        Requests to this machine use no proxy.
        """
        secure = self.url.lower().startswith("https:")
        limits = httpx.Limits(
            max_connections=connections,
            max_keepalive_connections=connections,
        )
        return httpx.AsyncClient(
            limits=limits,
            # Without TLS no certificate is verified, so the certificates, which take 20 ms to load,
            # are not loaded.
            verify=httpx.create_ssl_context() if secure else False,
            trust_env=not self.here,
        )


def _host_of(url: str) -> str:
    """Returns the host of an http or https url: "h" for "http://h:8000/v1". Returns "" for any
    other text.
    """
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        return ""
    return parsed.host if parsed.scheme in ("http", "https") else ""


def without_secret(name: str) -> str:
    """Returns the name of a judge, or a url, in a form that shows no secret. A name with "@" or "?"
    may hold a secret, so only its kind is shown: "server:***" for
    "server:http://me:password@host#m".
    """
    if "@" not in name and "?" not in name:
        return name
    kind = name.partition(":")[0]
    return f"{kind}:***"


def api_key(host: str = "") -> str:
    """Returns the key for a server on this host, "" if no key is set.

    The key is SPANREWARD_API_KEY. If that variable is not set and the host is OpenAI's (or a
    region's, such as eu.api.openai.com), the key is OPENAI_API_KEY. Raises ValueError, without the
    key in its message, if a header cannot hold the key.
    """
    name = KEY_VARIABLE
    is_openai = host == OPENAI_HOST or host.endswith(f".{OPENAI_HOST}")
    if is_openai and not key_in(KEY_VARIABLE):
        name = OPENAI_KEY
    key = key_in(name)
    for place, letter in enumerate(key, start=1):
        if not "!" <= letter <= "~":  # the visible characters of ASCII
            raise ValueError(
                f"{name} must hold one line of ASCII without spaces, and its character {place} of "
                f"{len(key)} is of another kind: set it again"
            )
    return key


def key_in(name: str) -> str:
    """Returns the value of an environment variable, without the white space around it. The value is
    "" if the variable is not set.
    """
    return os.environ.get(name, "").strip()


def safe_line(message: str | bytes, longest: int = SHOWN_SERVER_CHARACTERS) -> str:
    """Returns a server's words in a form that is safe to print: one line of at most `longest`
    printable characters, with `***` in place of secrets.

    "wrong key:\\nBearer abc" becomes "wrong key: Bearer ***".
    """
    text = message.decode(errors="replace") if isinstance(message, bytes) else message
    # Control characters, which could change the terminal, become spaces. The words become one line.
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    line = " ".join(printable.split())
    # The keys of this process and texts that look like secrets are hidden. The line is cut
    # afterwards, because a cut key would not be recognised.
    for name in (KEY_VARIABLE, OPENAI_KEY):
        key = key_in(name)
        if len(key) >= SHORTEST_SECRET:
            line = line.replace(key, "***")
    return SECRET_PATTERN.sub(r"\1\2***", line)[:longest]


def run_coroutine(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end, and returns its result, even if an event loop is already
    running, as in a notebook.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:  # no loop is running
        return asyncio.run(work)
    # The running loop cannot run a second loop, so a new loop runs in another thread.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
