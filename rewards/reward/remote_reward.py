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
import time
from collections.abc import Container, Sequence
from functools import partial
from typing import Any

from pydantic import BaseModel
from pydantic_core import from_json

from spanreward.rewards.base.verdict import NotApplicable, Sample, Status, Verdict
from spanreward.rewards.files import http_client as http
from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.judges.remote.answer import Busy, Refused, trouble
from spanreward.rewards.judges.remote.client import CONNECT, Client, all_in_time
from spanreward.rewards.judges.remote.endpoint import refusal, still_busy, too_late
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.rows.pictures import as_text
from spanreward.rewards.rows.sample import row_of

# rows of a request, without and with pictures: a lost one loses few verdicts
ROWS = 16
SEEING = 4
UNDER_WAY = 8  # requests at a time
MOST_HEALTH_BYTES = 1 << 16  # bytes of a description
MOST_ANSWER_BYTES = 1 << 26  # bytes of an answer
PICTURES = {"image", "images"}
ROW_REFUSED = (413, 422)  # statuses of a request that is refused for one of its rows


class Answer(BaseModel):
    """What a server answers about some rows.

    Args:
        verdicts: one for each row, in order.
        tokens: where a tokenizer was named, for each row the credit of each token, or a sentence
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

    Raises:
        ValueError: an invalid url.
    """

    def __init__(self, url: str, name: str = "remote", deadline: float = 300.0) -> None:
        super().__init__(name)
        self.server = http.Server.at(url, "the reward's url")
        self.deadline: float = deadline
        self.decided_by = ""  # "" until the server was asked

    def reader(self) -> str:
        """Returns the metric, judge and parser there, asked once.

        Raises ConnectionError where nothing answers.
        """
        if not self.decided_by:
            try:
                health = http.run(self._health())
            except TimeoutError as error:
                raise self._away("TimeoutError") from error
            if isinstance(health, Busy):
                raise self._away(health.why)
            if isinstance(health, Refused):
                raise self._away(health.words or f"it answers {health.status}")
            # what the server tells of its reward becomes this one's, its columns first of all
            for attribute, value in health:
                setattr(self, attribute, value)
        return self.decided_by

    def _away(self, why: str) -> ConnectionError:
        """Returns the error for a server that serves no reward."""
        reason = http.legible(why, 120)
        return ConnectionError(
            f"{self.server.url} serves no reward: start spanreward serve ({reason})"
        )

    async def _health(self) -> Description | Refused | Busy:
        """Returns what the server tells of its reward. Raises TimeoutError after CONNECT
        seconds.
        """
        async with (
            asyncio.timeout(CONNECT),
            Client(self.server, read_description, MOST_HEALTH_BYTES) as client,
        ):
            return await client.get("/health")

    def missing_column(self, present: Container[str]) -> str | None:
        """Returns the first column that the server's metric lacks, or None, also where the server
        is away.
        """
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
        self.missing_column(())  # asks the server which columns its metric reads
        rows_or_verdicts = [self._row(sample) for sample in samples]
        rows = [row for row in rows_or_verdicts if isinstance(row, dict)]
        answers = iter(http.run(self._ask(rows)))
        verdicts = []
        for entry in rows_or_verdicts:
            if isinstance(entry, Verdict):
                verdicts.append(entry)
            else:
                verdicts.append(next(answers))
        return verdicts

    def _row(self, sample: Sample) -> dict[str, Any] | Verdict:
        """Returns the row to send, or the verdict on one whose picture cannot be read."""
        # a column that the row lacks is sent as None: a missing one fails the whole request
        needed_columns = dict.fromkeys((*self.columns, *self.one_of))
        pictures: Sequence[Any] = ()
        if not PICTURES.isdisjoint(needed_columns):
            pictures = sample.images
        try:
            # a box counts pixels of the whole picture, which then keeps its size
            encoded = [as_text(picture, scale=not sample.bbox) for picture in pictures]
        except NotApplicable as reason:
            return Verdict(None, Status.NOT_APPLICABLE, note=str(reason))
        return {**needed_columns, **row_of(sample), "images": encoded}

    async def _ask(self, rows: list[dict[str, Any]]) -> list[Verdict]:
        """Returns the server's verdict on each row, in order."""
        if self.by_batch:  # rows that are compared go together
            size = len(rows) + 1
        elif any(row["images"] for row in rows):
            size = SEEING
        else:
            size = ROWS
        # each request's rows, and the number of the first one
        parts: list[tuple[int, list[dict[str, Any]]]] = []
        for start in range(0, len(rows), size):
            parts.append((start, rows[start : start + size]))
        verdicts: dict[int, Verdict] = {}
        end = time.monotonic() + self.deadline
        async with Client(
            self.server, read_verdicts, MOST_ANSWER_BYTES, self.deadline, UNDER_WAY
        ) as client:
            # once, and again for the halves of requests that were refused for one of their rows
            while parts:
                asks = [partial(client.post, "/score", {"rows": part}) for _, part in parts]
                seconds_left = end - time.monotonic()
                answers = await all_in_time(asks, UNDER_WAY, seconds_left)
                again: list[tuple[int, list[dict[str, Any]]]] = []
                for (start, part), answer in zip(parts, answers, strict=True):
                    if self._is_of_a_row(answer) and len(part) > 1:
                        middle = len(part) // 2
                        again.append((start, part[:middle]))
                        again.append((start + middle, part[middle:]))
                        continue
                    verdicts_of_part = self._verdicts(answer, len(part), client)
                    for number, verdict in enumerate(verdicts_of_part, start):
                        verdicts[number] = verdict
                parts = again
        return [verdicts[number] for number in range(len(rows))]

    def _is_of_a_row(self, answer: Any) -> bool:
        """Returns whether the server refused the request for one of its rows. The rows are then
        asked about again by halves, so that the others have verdicts.
        """
        if self.by_batch or not isinstance(answer, Refused):
            return False
        return answer.status in ROW_REFUSED

    def _verdicts(
        self,
        answer: list[Verdict] | Refused | Busy | None,
        count: int,
        client: Client[list[Verdict]],
    ) -> list[Verdict]:
        """Returns the verdicts of an answer on `count` rows."""
        if answer is None:  # the deadline has passed
            failure = too_late(self.server.url, self.deadline, client)
        elif isinstance(answer, Busy):
            failure = still_busy(self.server.url, answer)
        elif isinstance(answer, Refused):
            failure = refusal(self.server.url, answer)
        elif len(answer) != count:
            words = f"{self.server.url} answered {len(answer)} verdicts for {count} rows"
            failure = Failure(Status.ERROR, words)
        else:
            return answer
        return [Verdict(None, failure.status, note=failure.message)] * count


def read_description(status: int, content: bytes) -> Description | Refused | Busy:
    """Returns what a server tells of its reward, or why it tells nothing."""
    try:
        return Description.model_validate_json(content)
    except ValueError as error:
        # an error of the server or of a proxy, or something else that answers there
        return trouble(status, content) or Refused(status, http.legible(str(error)))


def read_verdicts(status: int, content: bytes) -> list[Verdict] | Refused | Busy:
    """Returns the verdicts of an answer, of any status and bytes, or why there are none.

    Every number in a verdict is finite.
    """
    try:
        data = from_json(content, allow_inf_nan=False)
        return Answer.model_validate(data).verdicts
    except ValueError as error:
        return trouble(status, content) or Busy(http.legible(str(error)), patient=False)
