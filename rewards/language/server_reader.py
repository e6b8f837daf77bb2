"""A reader in another process, environment or machine. It gets texts over HTTP and returns scene graphs as JSON.

    # where the pipeline and the coreference are: spanreward read --serve --pipeline en_core_web_trf --coref maverick
    reader = ServerReader("http://127.0.0.1:8077")
    reader.name()                                           # "en_core_web_trf 3.8.0, coref maverick"
    reader.read(["A red circle."], "published")             # [SceneGraph(...)], as `describe` returns them there

A request that reaches no reader is sent again after growing random pauses, `attempts` times in all. After the last
attempt and at the deadline the call raises ReaderFailure. The server is in reader_server.py.
"""

import json
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any, TypeVar

import httpx2 as httpx
from pydantic import BaseModel, ValidationError
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from spanreward.rewards.language.parse import SURROGATE
from spanreward.rewards.language.rules import Mode
from spanreward.rewards.language.scene_graph import SceneGraph
from spanreward.rewards.verdict import Status

PORT = 8077
LARGEST_REQUEST = 2**25  # bytes
TEXTS_TOGETHER = 32  # texts in one request
CHARACTERS_TOGETHER = 1_000_000  # characters in one request, unless one text is longer; at most 12 bytes each as JSON
LONGEST_TEXT = 1_000_000  # characters that spaCy reads of a text, unless a pipeline sets another limit
CONNECT_TIMEOUT = 5.0  # seconds
BACKOFF = wait_random_exponential(multiplier=0.5, max=8.0)  # seconds
AWAY = (502, 503, 504)
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class ReaderFailure(OSError):
    """A reader that gave no answer (status TIMEOUT) or a wrong one (ERROR). The message says what to do."""

    def __init__(self, message: str, status: Status = Status.ERROR) -> None:
        super().__init__(message)
        self.status = status


class Retryable(Exception):
    """A failed attempt after which another may succeed."""


class ReaderInfo(BaseModel):
    """What a reader says about itself: its pipeline's name and version, its coreference, its version of spanreward."""

    pipeline: str
    coref: str
    version: str

    @property
    def name(self) -> str:
        """What `reader_name` returns in the reader's process."""
        return f"{self.pipeline}, coref {self.coref}"


class Reading(ReaderInfo):
    """An answer: the reader and one graph per text."""

    graphs: list[dict[str, Any]]


Answer = TypeVar("Answer", bound=ReaderInfo)


class ServerReader:
    """A reader behind HTTP.

    Args:
        url: such as http://127.0.0.1:8077.
        pipeline, coref: the names that the reader must have; None accepts any.
        deadline: seconds for all texts of one call.
        attempts: how often a request is sent at most.

    Raises:
        ValueError: for a url that is not http or https.
    """

    def __init__(
        self, url: str, pipeline: str | None = None, coref: str | None = None, deadline: float = 600, attempts: int = 8
    ) -> None:
        parsed = httpx.URL(url)
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise ValueError(f"the reader's url {url!r} is not of the form http://127.0.0.1:{PORT}")
        self.url = url.rstrip("/")
        self.host = parsed.host
        self.port = parsed.port or {"http": 80, "https": 443}[parsed.scheme]
        self.pipeline = pipeline
        self.coref = coref
        self.deadline = deadline
        self.attempts = attempts
        self._name: str | None = None

    def name(self) -> str:
        """Returns the reader's pipeline and coreference, which it asks for once. Raises ReaderFailure."""
        if self._name is None:
            end = time.monotonic() + CONNECT_TIMEOUT
            with self._client() as client:
                self._name = self._checked(self._ask(ReaderInfo, client, "/reader", None, end, attempts=1))
        return self._name

    def read(self, texts: Sequence[str], mode: Mode) -> list[SceneGraph]:
        """Returns one graph per text, as `describe` in the reader's process. Raises ReaderFailure and nothing else."""
        end = time.monotonic() + self.deadline
        with self._client() as client:
            return [graph for some in batches(texts) for graph in self._read(client, some, mode, end)]

    def _read(self, client: httpx.Client, texts: Sequence[str], mode: Mode, end: float) -> list[SceneGraph]:
        body = json.dumps({"texts": [sendable(text) for text in texts], "mode": mode}).encode()
        reading = self._ask(Reading, client, "/graphs", body, end, self.attempts)
        self._name = self._checked(reading)
        if len(reading.graphs) != len(texts):
            raise ReaderFailure(f"the reader at {self.url} gave {len(reading.graphs)} graphs for {len(texts)} texts")
        try:
            return [SceneGraph.from_dict(graph) for graph in reading.graphs]
        except (KeyError, TypeError) as error:
            raise ReaderFailure(f"the reader at {self.url} gave something that is no graph: {error!r}") from error

    def _ask(
        self, kind: type[Answer], client: httpx.Client, path: str, body: bytes | None, end: float, attempts: int
    ) -> Answer:
        """Returns the answer to a POST with `body`, or to a GET where `body` is None. Raises ReaderFailure."""
        retrying = Retrying(
            retry=retry_if_exception_type(Retryable), wait=BACKOFF, stop=stop_after_attempt(attempts), reraise=True
        )
        try:
            response = retrying(self._ask_once, client, path, body, end)
        except Retryable as error:
            asked = f"asked {attempts} times, at last: " if attempts > 1 else ""
            problem = f"no reader answers at {self.url}: {self._start()} ({asked}{error})"
            raise ReaderFailure(problem, Status.TIMEOUT) from error
        try:
            return kind.model_validate_json(response.content)
        except ValidationError as error:
            raise ReaderFailure(f"{self.url} does not answer as a reader does: {self._start()}") from error

    def _ask_once(self, client: httpx.Client, path: str, body: bytes | None, end: float) -> httpx.Response:
        """Makes one attempt. Raises Retryable or ReaderFailure."""
        left = end - time.monotonic()
        late = ReaderFailure(f"the reader at {self.url} did not answer within {self.deadline:g} s", Status.TIMEOUT)
        if left <= 0:
            raise late
        timeout = httpx.Timeout(left, connect=min(left, CONNECT_TIMEOUT))
        try:
            response = client.request("GET" if body is None else "POST", path, content=body, timeout=timeout)
        except (httpx.ReadTimeout, httpx.WriteTimeout) as error:
            raise late from error
        except httpx.TransportError as error:
            raise Retryable(f"{type(error).__name__} {error}".strip()) from error
        if response.status_code in AWAY:
            raise Retryable(f"it answers {response.status_code}")
        if not response.is_success:
            raise ReaderFailure(f"{self.url} answers {response.status_code}: {response.text[:300]}")
        return response

    def _checked(self, info: ReaderInfo) -> str:
        """Returns the reader's name. Raises ReaderFailure if the reader has changed or another one is wanted."""
        ours = version("spanreward")
        if info.version != ours:
            raise ReaderFailure(
                f"the reader at {self.url} is spanreward {info.version}, and this is {ours}: install the same in both"
            )
        if self.pipeline not in (None, info.pipeline.split()[0]) or self.coref not in (None, info.coref):
            wanted = ", ".join(filter(None, (self.pipeline, self.coref and f"coref {self.coref}")))
            raise ReaderFailure(f"the reader at {self.url} has {info.name}, and {wanted} is wanted: {self._start()}")
        if self._name not in (None, info.name):
            raise ReaderFailure(
                f"the reader at {self.url} was {self._name} and is {info.name}: start it again as it was"
            )
        return info.name

    def _start(self) -> str:
        """Returns how to start the reader that is wanted."""
        pipeline = f" --pipeline {self.pipeline}" if self.pipeline else ""
        coref = f" --coref {self.coref}" if self.coref else ""
        return f"start one with spanreward read --serve --port {self.port}{pipeline}{coref}"

    def _client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, trust_env=self.host not in LOOPBACK)  # no proxy to this machine itself


def batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yields the texts in order, as many together as one request takes."""
    batch: list[str] = []
    for text in texts:
        if batch and (len(batch) == TEXTS_TOGETHER or sum(map(len, batch)) + len(text) > CHARACTERS_TOGETHER):
            yield batch
            batch = []
        batch.append(text)
    if batch:
        yield batch


def sendable(text: str) -> str:
    """Returns the text without what `readable` removes anyway: lone surrogates, which UTF-8 lacks, and a long rest."""
    start = len(text) - len(text.lstrip())
    return SURROGATE.sub("\ufffd", text[: start + LONGEST_TEXT])
