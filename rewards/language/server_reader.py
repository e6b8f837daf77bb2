"""A reader in another process, environment or machine. It gets texts over HTTP and returns scene graphs as JSON.

    # where the pipeline and the coreference are: spanreward read --serve --pipeline en_core_web_trf --coref maverick
    reader = ServerReader("http://127.0.0.1:8077")
    reader.name()                                           # "en_core_web_trf 3.8.0, coref maverick"
    reader.read(["A red circle."], "published")             # [SceneGraph(...)], as `describe` returns them there

A request that reaches no reader is sent again after growing random pauses, `attempts` times in all. After the last
attempt and at the deadline the call raises ReaderFailure. The server is in reader_server.py.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from importlib.metadata import version
from typing import Annotated, TypeVar

import httpx2 as httpx
from pydantic import AfterValidator, BaseModel, ValidationError
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from spanreward.rewards.http_client import BadAnswer, Server, exchange, legible, run
from spanreward.rewards.language.parse import SURROGATE
from spanreward.rewards.language.rules import Mode
from spanreward.rewards.language.scene_graph import SceneGraph, check_places
from spanreward.rewards.verdict import Status

PORT = 8077
LARGEST_REQUEST = 2**25  # bytes
TEXTS_TOGETHER = 32  # texts in one request
CHARACTERS_TOGETHER = 1_000_000  # characters in one request, unless one text is longer; at most 12 bytes each as JSON
LONGEST_TEXT = 1_000_000  # characters that spaCy reads of a text, unless a pipeline sets another limit
CONNECT_TIMEOUT = 5.0  # seconds
BACKOFF = wait_random_exponential(multiplier=0.5, max=8.0)  # seconds
AWAY = (502, 503, 504)
ANSWER = 1 << 16  # bytes of an answer beside its graphs
GRAPH = 256  # bytes of the graphs for each character; short captions have up to 40, a list of single letters 57


class ReaderFailure(OSError):
    """A reader that gave no answer (status TIMEOUT) or a wrong one (ERROR). The message says what to do."""

    def __init__(self, message: str, status: Status = Status.ERROR) -> None:
        super().__init__(message)
        self.status = status


class Retryable(Exception):
    """A failed attempt after which another may succeed."""


def plain(name: str) -> str:
    """Returns the name. Raises ValueError if it is blank or does not fit into a note as it is."""
    if not name.strip() or legible(name) != name:
        raise ValueError("no name")
    return name


Name = Annotated[str, AfterValidator(plain)]


class ReaderInfo(BaseModel):
    """What a reader says about itself: its pipeline's name and version, its coreference, its version of spanreward."""

    pipeline: Name
    coref: Name
    version: Name

    @property
    def name(self) -> str:
        """What `reader_name` returns in the reader's process."""
        return f"{self.pipeline}, coref {self.coref}"


class Reading(ReaderInfo):
    """An answer: the reader and one graph per text."""

    graphs: list[SceneGraph]


Answer = TypeVar("Answer", bound=ReaderInfo)
Result = TypeVar("Result")


class ServerReader:
    """A reader behind HTTP.

    Args:
        url: such as http://127.0.0.1:8077.
        pipeline, coref: the names that the reader must have; None accepts any.
        deadline: seconds for all texts of one call.
        attempts: how often a request is sent at most.

    Raises:
        ValueError: as `Server.at`.
    """

    def __init__(
        self, url: str, pipeline: str | None = None, coref: str | None = None, deadline: float = 600, attempts: int = 8
    ) -> None:
        self.server = Server.at(url, "the reader's url")
        self.pipeline = pipeline
        self.coref = coref
        self.deadline = deadline
        self.attempts = attempts
        self._name: str | None = None

    @property
    def url(self) -> str:
        return self.server.url

    def name(self) -> str:
        """Returns the reader's pipeline and coreference, which it asks for once. Raises ReaderFailure."""
        if self._name is None:
            self._name = self._checked(run(self._within(min(self.deadline, CONNECT_TIMEOUT), self._who)))
        return self._name

    def read(self, texts: Sequence[str], mode: Mode) -> list[SceneGraph]:
        """Returns one graph per text, as `describe` in the reader's process. Raises ReaderFailure and nothing else."""

        async def read_all(client: httpx.AsyncClient) -> list[SceneGraph]:
            return [graph for some in batches(texts) for graph in await self._read(client, some, mode)]

        return run(self._within(self.deadline, read_all))

    async def _within(self, seconds: float, work: Callable[[httpx.AsyncClient], Awaitable[Result]]) -> Result:
        """Returns what the work returns with a client. Raises ReaderFailure after so many seconds."""
        try:
            async with (
                asyncio.timeout(seconds),
                self.server.client(httpx.Timeout(None, connect=CONNECT_TIMEOUT)) as client,
            ):
                return await work(client)
        except TimeoutError as error:
            late = f"the reader at {self.url} did not answer within {seconds:g} s"
            raise ReaderFailure(late, Status.TIMEOUT) from error

    async def _who(self, client: httpx.AsyncClient) -> ReaderInfo:
        return await self._ask(ReaderInfo, client, "GET", "/reader", None, ANSWER, attempts=1)

    async def _read(self, client: httpx.AsyncClient, texts: Sequence[str], mode: Mode) -> list[SceneGraph]:
        sent = [sendable(text) for text in texts]
        largest = ANSWER + GRAPH * sum(map(len, sent))
        body = {"texts": sent, "mode": mode}
        reading = await self._ask(Reading, client, "POST", "/graphs", body, largest, self.attempts)
        self._name = self._checked(reading)
        if len(reading.graphs) != len(texts):
            raise ReaderFailure(f"the reader at {self.url} gave {len(reading.graphs)} graphs for {len(texts)} texts")
        try:
            for graph, text in zip(reading.graphs, sent, strict=True):
                check_places(graph, text)
        except ValueError as error:
            raise ReaderFailure(f"the reader at {self.url} gave something that is no graph: {error}") from error
        return reading.graphs

    async def _ask(
        self,
        kind: type[Answer],
        client: httpx.AsyncClient,
        method: str,
        path: str,
        body: object,
        largest: int,
        attempts: int,
    ) -> Answer:
        """Returns the answer of at most `largest` bytes. Raises ReaderFailure."""
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(Retryable), wait=BACKOFF, stop=stop_after_attempt(attempts), reraise=True
        )
        try:
            content: bytes = await retrying(self._ask_once, client, method, path, body, largest)
        except Retryable as error:
            asked = f"asked {attempts} times, at last: " if attempts > 1 else ""
            problem = f"no reader answers at {self.url}: {self._start()} ({asked}{error})"
            raise ReaderFailure(problem, Status.TIMEOUT) from error
        try:
            return kind.model_validate_json(content)
        except ValidationError as error:
            raise ReaderFailure(f"{self.url} does not answer as a reader does: {self._start()}") from error

    async def _ask_once(self, client: httpx.AsyncClient, method: str, path: str, body: object, largest: int) -> bytes:
        """Makes one attempt. Raises Retryable or ReaderFailure."""
        try:
            response, content = await exchange(client, method, path, body, largest)
        except httpx.RequestError as error:
            raise Retryable(legible(f"{type(error).__name__} {error}")) from error
        except BadAnswer as error:
            raise ReaderFailure(f"{self.url} does not answer as a reader does: {error}") from error
        if response.status_code in AWAY:
            raise Retryable(f"it answers {response.status_code}")
        if not response.is_success:
            raise ReaderFailure(f"{self.url} answers {response.status_code}: {legible(content)}")
        return content

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
        return f"start one with spanreward read --serve --port {self.server.port}{pipeline}{coref}"


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
