"""A reward on another machine, or in another environment, behind `spanreward serve`. It needs no parser and no torch.

    # elsewhere: spanreward serve posh --judge vllm:Qwen/Qwen3-14B
    GRPOTrainer(reward_funcs=[RemoteReward("http://127.0.0.1:8400")], ...)      # in a recipe: metric: remote

The verdicts, with spans and missed words, are those of the metric there. The key is SPANREWARD_API_KEY on both sides.
What the server does not answer, refuses or answers wrongly is None with a status, never 0.
"""

import asyncio
import json
import random
from collections.abc import Container, Sequence
from typing import Any

import httpx2 as httpx
from pydantic import BaseModel, TypeAdapter
from pydantic_core import from_json

from spanreward.rewards.base.cost import Cost
from spanreward.rewards.base.verdict import NotApplicable, Sample, Status, Verdict
from spanreward.rewards.files import http_client as http
from spanreward.rewards.files.pictures import as_text
from spanreward.rewards.judges.remote.answer import Busy, Refused, read
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.reward.row import row_of

ROWS, SEEING = 16, 4  # of a request, without and with pictures: a lost one loses few verdicts
LARGEST = 1 << 26  # bytes of an answer
CONNECT = 5.0  # seconds, to connect, and for the description
SHORTEST, LONGEST = 0.2, 5.0  # seconds, of the longest first and the longest later pause
PICTURES = {"image", "images"}
VERDICTS = TypeAdapter(list[Verdict])


class Description(BaseModel):
    """What a server tells of its reward at /health: attributes of Reward, and what else decides the verdicts."""

    columns: tuple[str, ...]
    one_of: tuple[str, ...]
    main_parts: tuple[str, ...]
    scale: tuple[float, float]
    by_batch: bool
    wording: str
    decided_by: str = ""
    tokenizers: tuple[str, ...] = ()


class RemoteReward(Reward):
    """The reward of a server that `spanreward serve` started.

    Args:
        url: such as http://127.0.0.1:8400. ValueError for one that is not http or https, or holds a secret.
        name: in logs, beside other rewards.
        deadline: the seconds of one call. Until then a server that is away, busy or restarting is asked again; a row
            without an answer is a TIMEOUT.
        concurrency: the most requests under way.
    """

    def __init__(self, url: str, name: str = "remote", deadline: float = 300.0, concurrency: int = 8) -> None:
        super().__init__(name)
        self.server = http.Server.at(url, "the reward's url")
        self.deadline, self.concurrency, self.decided_by = deadline, concurrency, ""

    @property
    def remote(self) -> bool:
        return True

    def reader(self) -> str:
        """Returns the metric, judge and parser there, and learns once what it needs to know of them. Raises
        ConnectionError where no server of a reward answers.
        """
        if not self.decided_by:
            try:
                told = Description.model_validate_json(http.run(self._health()))
            except (TimeoutError, httpx.HTTPError, http.BadAnswer, ValueError) as error:
                why = http.legible(f"{type(error).__name__} {error}", 120)
                raise ConnectionError(f"{self.server.url} serves no reward: start spanreward serve ({why})") from error
            self.__dict__.update(told)
        return self.decided_by

    async def _health(self) -> bytes:
        async with asyncio.timeout(CONNECT), self.server.client(httpx.Timeout(CONNECT)) as client:
            return (await http.exchange(client, "GET", "/health", None, 1 << 16))[1]

    def missing_column(self, present: Container[str]) -> str | None:
        try:
            self.reader()
        except ConnectionError:  # the verdicts will say so
            return None
        return super().missing_column(present)

    def cost(self, words: float, references: int) -> Cost | None:
        return None

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns the server's verdicts, one per sample, in order. It raises nothing for what the server does."""
        self.missing_column(())
        found: dict[int, Verdict] = {}
        rows: dict[int, dict[str, Any]] = {}
        for number, sample in enumerate(samples):
            row = {**dict.fromkeys((*self.columns, *self.one_of)), **row_of(sample)}
            rows[number] = {name: value for name, value in row.items() if name not in PICTURES}
            try:
                if sample.images and PICTURES & {*self.columns, *self.one_of}:
                    rows[number]["images"] = [as_text(image, scale=not sample.bbox) for image in sample.images]
            except NotApplicable as reason:
                found[number] = Verdict(None, Status.NOT_APPLICABLE, note=str(reason))
                del rows[number]
        found |= zip(rows, http.run(self._ask(list(rows.values()))), strict=True)
        return [found[number] for number in range(len(samples))]

    async def _ask(self, rows: list[dict[str, Any]]) -> list[Verdict]:
        places = asyncio.Semaphore(self.concurrency)
        size = len(rows) + 1 if self.by_batch else SEEING if any("images" in row for row in rows) else ROWS
        requests = [rows[start : start + size] for start in range(0, len(rows), size)]
        async with self.server.client(httpx.Timeout(self.deadline, connect=CONNECT), self.concurrency) as client:
            found = await asyncio.gather(*(self._judged(client, places, request) for request in requests))
        return [verdict for verdicts in found for verdict in verdicts]

    async def _judged(
        self, client: httpx.AsyncClient, places: asyncio.Semaphore, rows: list[dict[str, Any]]
    ) -> list[Verdict]:
        """Returns the verdicts on one request's rows, which is sent again while the server is away or busy."""
        body = json.dumps({"rows": rows}, ensure_ascii=False, default=str).encode("utf-8", "replace")
        trouble, pause, status = "no answer", SHORTEST, Status.ERROR
        try:
            async with asyncio.timeout(self.deadline), places:
                while True:
                    try:
                        response, content = await http.exchange(client, "POST", "/score", body, LARGEST)
                        if response.is_success:
                            return verdicts_in(content, len(rows))
                        said, wait = read(response.status_code, content), http.seconds_to_wait(response)
                        if isinstance(said, Refused):
                            raise http.BadAnswer(said.words or f"it answers {said.status}")
                        trouble = said.why if isinstance(said, Busy) else f"it answers {response.status_code}"
                    except httpx.RequestError as error:
                        trouble, wait = f"{type(error).__name__} {error}", 0.0
                    await asyncio.sleep(max(wait, random.uniform(0, pause)))
                    pause = min(2 * pause, LONGEST)
        except TimeoutError:
            status, trouble = Status.TIMEOUT, f"no verdict within {self.deadline:g} s, at last: {trouble}"
        except (http.BadAnswer, ValueError) as error:
            trouble = str(error)
        return [Verdict(None, status, note=http.legible(f"{self.server.url}: {trouble}"))] * len(rows)


def verdicts_in(content: bytes, count: int) -> list[Verdict]:
    """Reads a server's answer. Raises ValueError for one that does not hold `count` verdicts with finite numbers."""
    said = from_json(content, allow_inf_nan=False)
    verdicts = VERDICTS.validate_python(said.get("verdicts") if isinstance(said, dict) else None)
    if len(verdicts) != count:
        raise ValueError(f"it answered {len(verdicts)} verdicts for {count} rows")
    return verdicts
