"""A reward on another machine, or in another environment, behind `spanreward serve`. It needs no
parser and no torch.

    # elsewhere: spanreward serve posh --judge vllm:Qwen/Qwen3-14B
    GRPOTrainer(reward_funcs=[RemoteReward("http://127.0.0.1:8400")], ...)
    # in a recipe: metric: remote

The verdicts, with spans and missed words, are those of the metric there. The key is
SPANREWARD_API_KEY on both sides. What the server does not answer, refuses or answers wrongly is
None with a status, never 0.
"""

import asyncio
import json
from collections.abc import Container, Sequence
from functools import partial
from itertools import chain
from typing import Any

import httpx2 as httpx
from pydantic import BaseModel
from pydantic_core import from_json

from spanreward.rewards.base.verdict import NotApplicable, Sample, Status, Verdict
from spanreward.rewards.files import http_client as http
from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.judges.remote.answer import Busy, Refused, trouble
from spanreward.rewards.judges.remote.endpoint import CONNECT, persist, post
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.rows.pictures import as_text
from spanreward.rewards.rows.sample import row_of

ROWS, SEEING = 16, 4  # of a request, without and with pictures: a lost one loses few verdicts
UNDER_WAY = 8  # requests at a time
LARGEST = 1 << 26  # bytes of an answer
PICTURES = {"image", "images"}


class Answer(BaseModel):
    """One verdict for each row, in order, and with a tokenizer each token's credit, or a sentence
    why there is none.
    """

    verdicts: list[Verdict]
    tokens: list[list[float] | str] | None = None


class Description(BaseModel):
    """What a server tells of its reward at /health: attributes of Reward, and what else decides the
    verdicts.
    """

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
        url: such as http://127.0.0.1:8400. ValueError for one that is not http or https, or holds a
            secret.
        name: in logs, beside other rewards.
        deadline: the seconds of one call. Until then a server that is away, busy or restarting is
            asked again; a row without an answer is a TIMEOUT.
    """

    def __init__(self, url: str, name: str = "remote", deadline: float = 300.0) -> None:
        super().__init__(name)
        self.server = http.Server.at(url, "the reward's url")
        self.deadline: float = deadline
        self.decided_by = ""

    def reader(self) -> str:
        """Returns the metric, judge and parser there, asked once.

        Raises ConnectionError where nothing answers.
        """
        if not self.decided_by:
            try:
                told = Description.model_validate_json(http.run(self._health()))
            except (TimeoutError, httpx.HTTPError, http.BadAnswer, ValueError) as error:
                why = http.legible(f"{type(error).__name__} {error}", 120)
                raise ConnectionError(
                    f"{self.server.url} serves no reward: start spanreward serve ({why})"
                ) from error
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

    def cost(self, words: float, references: int) -> None:
        """Returns None: the server's judge answers."""

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns the server's verdicts, one per sample, in order.

        It raises nothing for what the server does.
        """
        self.missing_column(())
        told = [self._row(sample) for sample in samples]
        verdicts = iter(http.run(self._ask([row for row in told if isinstance(row, dict)])))
        return [one if isinstance(one, Verdict) else next(verdicts) for one in told]

    def _row(self, sample: Sample) -> dict[str, Any] | Verdict:
        """Returns the row to send, or the verdict on one whose picture cannot be read."""
        reads = dict.fromkeys((*self.columns, *self.one_of))
        pictures = sample.images if PICTURES & reads.keys() else ()
        try:
            shown = [as_text(picture, scale=not sample.bbox) for picture in pictures]
        except NotApplicable as reason:
            return Verdict(None, Status.NOT_APPLICABLE, note=str(reason))
        return {**reads, **row_of(sample), "images": shown}

    async def _ask(self, rows: list[dict[str, Any]]) -> list[Verdict]:
        size = (
            len(rows) + 1
            if self.by_batch
            else SEEING
            if any(row["images"] for row in rows)
            else ROWS
        )
        parts = [rows[start : start + size] for start in range(0, len(rows), size)]
        async with self.server.client(
            httpx.Timeout(self.deadline, connect=CONNECT), UNDER_WAY
        ) as client:
            asks = [partial(_score, client, part) for part in parts]
            found, _ = await persist(asks, self.server.url, UNDER_WAY, self.deadline, self.deadline)
        verdicts = [
            [Verdict(None, one.status, note=one.message)] * len(part)
            if isinstance(one, Failure)
            else one
            for part, one in zip(parts, found, strict=True)
        ]
        return list(chain.from_iterable(verdicts))


async def _score(
    client: httpx.AsyncClient, rows: list[dict[str, Any]]
) -> list[Verdict] | Refused | Busy:
    body = json.dumps({"rows": rows}, ensure_ascii=False, default=str).encode("utf-8", "replace")
    return await post(client, "/score", body, LARGEST, partial(read_verdicts, len(rows)))


def read_verdicts(count: int, status: int, content: bytes) -> list[Verdict] | Refused | Busy:
    """Reads an answer, of any status and bytes, to so many rows.

    Every number in a verdict is finite.
    """
    try:
        verdicts = Answer.model_validate(from_json(content, allow_inf_nan=False)).verdicts
    except ValueError as error:
        return trouble(status, content) or Busy(http.legible(str(error)), patient=False)
    if len(verdicts) != count:
        return Busy(f"it answered {len(verdicts)} verdicts for {count} rows", patient=False)
    return verdicts
