"""A reader in another process, environment or machine: texts go to it over HTTP, scene graphs come back as JSON.

    # where the pipeline and the coreference are: spanreward read --serve --pipeline en_core_web_trf --coref maverick
    reader = ServerReader("http://127.0.0.1:8077")
    reader.name()                                           # "en_core_web_trf 3.8.0, coref maverick"
    reader.read(["A red circle."], "published")             # [SceneGraph(...)], those that `describe` gives there

A request that finds nobody is sent again after growing random pauses, `attempts` times in all; then, and at the
deadline, the call is a ReaderFailure. rewards/language/reader_server.py is the other side.
"""

import json
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any, TypeVar

import httpx2 as httpx
from pydantic import BaseModel, ValidationError
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from rewards.language.parse import SURROGATE
from rewards.language.rules import Mode
from rewards.language.scene_graph import SceneGraph
from rewards.verdict import Status

PORT = 8077
LARGEST_REQUEST = 2**25  # bytes
TEXTS_TOGETHER = 32  # of one request
CHARACTERS_TOGETHER = 1_000_000  # likewise, but for a longer text alone; at most 12 bytes each as JSON
LONGEST_TEXT = 1_000_000  # characters: what spaCy reads of a text, unless a pipeline says otherwise
CONNECT_TIMEOUT = 5.0  # seconds
BACKOFF = wait_random_exponential(multiplier=0.5, max=8.0)  # seconds
AWAY = (502, 503, 504)
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class ReaderFailure(OSError):
    """A reader that did not answer (status TIMEOUT), or not as it must (ERROR). The message says what to do."""

    def __init__(self, message: str, status: Status = Status.ERROR) -> None:
        super().__init__(message)
        self.status = status


class Trouble(Exception):
    """What may pass."""


class Told(BaseModel):
    """What a reader says of itself. pipeline: name and version; version: of spanreward."""

    pipeline: str
    coref: str
    version: str

    @property
    def name(self) -> str:
        """As `reader_name` has it in the reader's own process."""
        return f"{self.pipeline}, coref {self.coref}"


class Reading(Told):
    """An answer: who read, and a graph per text."""

    graphs: list[dict[str, Any]]


Answer = TypeVar("Answer", bound=Told)


class ServerReader:
    """A reader behind HTTP.

    Args:
        url: such as http://127.0.0.1:8077.
        pipeline, coref: by their names, what the reader must have; None takes what it has.
        deadline: seconds for all texts of one call.
        attempts: of each request.

    Raises ValueError for a url that is not http or https.
    """

    def __init__(
        self,
        url: str,
        pipeline: str | None = None,
        coref: str | None = None,
        deadline: float = 600.0,
        attempts: int = 8,
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
        self._told: Told | None = None

    def name(self) -> str:
        """The pipeline and coreference that the reader says it has, asked once. Raises ReaderFailure."""
        if self._told is None:
            with self._client() as client:
                try:
                    answer = self._ask(client, "GET", "/reader", None, time.monotonic() + CONNECT_TIMEOUT)
                except Trouble as trouble:
                    raise ReaderFailure(f"{self._nobody()} ({trouble})", Status.TIMEOUT) from trouble
            self._take(self._parsed(Told, answer))
        assert self._told is not None
        return self._told.name

    def read(self, texts: Sequence[str], mode: Mode) -> list[SceneGraph]:
        """One graph per text, as `describe` gives it in the reader's process. Raises ReaderFailure, nothing else."""
        end = time.monotonic() + self.deadline
        with self._client() as client:
            return [graph for some in batches(texts) for graph in self._read(client, some, mode, end)]

    def _read(self, client: httpx.Client, texts: Sequence[str], mode: Mode, end: float) -> list[SceneGraph]:
        body = json.dumps({"texts": [sendable(text) for text in texts], "mode": mode}).encode()
        retrying = Retrying(
            retry=retry_if_exception_type(Trouble),
            wait=BACKOFF,
            stop=stop_after_attempt(self.attempts),
            reraise=True,
        )
        try:
            answer = retrying(self._ask, client, "POST", "/graphs", body, end)
        except Trouble as trouble:
            raise ReaderFailure(
                f"{self._nobody()} (asked {self.attempts} times, at last: {trouble})", Status.TIMEOUT
            ) from trouble
        reading = self._parsed(Reading, answer)
        self._take(Told(**reading.model_dump(exclude={"graphs"})))
        if len(reading.graphs) != len(texts):
            raise ReaderFailure(f"the reader at {self.url} gave {len(reading.graphs)} graphs for {len(texts)} texts")
        try:
            return [SceneGraph.from_dict(graph) for graph in reading.graphs]
        except (KeyError, TypeError) as error:
            raise ReaderFailure(f"the reader at {self.url} gave something that is no graph: {error!r}") from error

    def _ask(self, client: httpx.Client, method: str, path: str, body: bytes | None, end: float) -> httpx.Response:
        """One attempt. Raises Trouble for what may pass, and ReaderFailure."""
        left = end - time.monotonic()
        late = ReaderFailure(f"the reader at {self.url} did not answer within {self.deadline:g} s", Status.TIMEOUT)
        if left <= 0:
            raise late
        timeout = httpx.Timeout(left, connect=min(left, CONNECT_TIMEOUT))
        try:
            response = client.request(method, path, content=body, timeout=timeout)
        except (httpx.ReadTimeout, httpx.WriteTimeout) as error:
            raise late from error
        except httpx.TransportError as error:
            raise Trouble(f"{type(error).__name__} {error}".strip()) from error
        if response.status_code in AWAY:
            raise Trouble(f"it answers {response.status_code}")
        if not response.is_success:
            raise ReaderFailure(f"{self.url} answers {response.status_code}: {response.text[:300]}")
        return response

    def _parsed(self, kind: type[Answer], response: httpx.Response) -> Answer:
        try:
            return kind.model_validate_json(response.content)
        except ValidationError as error:
            raise ReaderFailure(f"{self.url} does not answer as a reader does: {self._start()}") from error

    def _take(self, told: Told) -> None:
        """Raises ReaderFailure for another reader than it was, or must be: graphs of both would not compare."""
        ours = version("spanreward")
        if told.version != ours:
            raise ReaderFailure(
                f"the reader at {self.url} is spanreward {told.version}, and this is {ours}: install the same in both"
            )
        if self.pipeline not in (None, told.pipeline.split()[0]) or self.coref not in (None, told.coref):
            wanted = ", ".join(filter(None, (self.pipeline, self.coref and f"coref {self.coref}")))
            raise ReaderFailure(f"the reader at {self.url} has {told.name}, and {wanted} is wanted: {self._start()}")
        if self._told is not None and told != self._told:
            raise ReaderFailure(
                f"the reader at {self.url} was {self._told.name} and is {told.name}: start it again as it was"
            )
        self._told = told

    def _nobody(self) -> str:
        return f"no reader answers at {self.url}: {self._start()}"

    def _start(self) -> str:
        """What to do for a reader of the kind that is wanted."""
        pipeline = f" --pipeline {self.pipeline}" if self.pipeline else ""
        coref = f" --coref {self.coref}" if self.coref else ""
        return f"start one with spanreward read --serve --port {self.port}{pipeline}{coref}"

    def _client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, trust_env=self.host not in LOOPBACK)  # no proxy to this machine itself


def batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in order, as many together as one request takes."""
    batch: list[str] = []
    for text in texts:
        if batch and (len(batch) == TEXTS_TOGETHER or sum(map(len, batch)) + len(text) > CHARACTERS_TOGETHER):
            yield batch
            batch = []
        batch.append(text)
    if batch:
        yield batch


def sendable(text: str) -> str:
    """What `readable` leaves of a text anyway, with every character where it was: UTF-8 has no lone surrogates."""
    start = len(text) - len(text.lstrip())
    return SURROGATE.sub("\ufffd", text[: start + LONGEST_TEXT])
