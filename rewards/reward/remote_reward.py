"""A reward on another machine, or in another environment, behind `spanreward serve`. This machine
needs no parser and no torch.

    # on the other machine: spanreward serve posh --judge vllm:Qwen/Qwen3-14B
    GRPOTrainer(reward_funcs=[RemoteReward("http://127.0.0.1:8400")], ...)
    # in a recipe: metric: remote

The verdicts are those of the server's metric, with spans and missed words. The key is
SPANREWARD_API_KEY on both machines. If the server does not answer, refuses a row or gives an
invalid answer, the score is None with a status, never 0.
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
from spanreward.rewards.judges.remote.answer import Busy, Refused, error_in_answer
from spanreward.rewards.judges.remote.client import CONNECT_TIMEOUT, Client, all_in_time
from spanreward.rewards.judges.remote.endpoint import (
    failure_of_busy,
    failure_of_refusal,
    failure_of_timeout,
)
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.rows.pictures import as_text
from spanreward.rewards.rows.sample import row_of

# The most rows of a request, without pictures and with pictures. Small requests, because a lost
# request loses the verdicts of all its rows.
ROWS_A_REQUEST = 16
ROWS_WITH_PICTURES = 4
UNDER_WAY = 8  # the most requests at the same time
MOST_HEALTH_BYTES = 1 << 16  # the most bytes of a Description
MOST_ANSWER_BYTES = 1 << 26  # the most bytes of an Answer
PICTURE_COLUMNS = {"image", "images"}
# the index of a request's first row among all rows, and the rows of the request
RowsOfRequest = tuple[int, list[dict[str, Any]]]
ROW_REFUSED = (413, 422)  # HTTP statuses of a request that is refused because of one of its rows


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
    """A server's description of its reward, at /health.

    The fields are the attributes of Reward with the same names, with the exceptions below.

    Args:
        decided_by: the metric, judge and parser, which decide the verdicts.
        tokenizers: the tokenizers that a request may name.
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
        url: such as http://127.0.0.1:8400. It must be http or https, and must not hold a secret.
        name: the reward's name in logs.
        deadline: the seconds of one call, at most. Until then a server that is away, busy or
            restarting is asked again. A row without an answer by then has status TIMEOUT.

    Raises:
        ValueError: an invalid url.
    """

    def __init__(self, url: str, name: str = "remote", deadline: float = 300.0) -> None:
        super().__init__(name)
        self.server = http.Server.checked(url, "the reward's url")
        self.deadline: float = deadline
        self.decided_by = ""  # set by the first request to the server

    def reader(self) -> str:
        """Returns the server's metric, judge and parser. Only the first call asks the server.

        Raises ConnectionError if the server does not answer.
        """
        if not self.decided_by:
            description = self._description()
            # copy all fields of the description to this reward: `decided_by`, `columns` and so on
            for field, value in description:
                setattr(self, field, value)
        return self.decided_by

    def _description(self) -> Description:
        """Returns the server's description of its reward. Raises ConnectionError without one."""
        try:
            health = http.run_coroutine(self._health())
        except TimeoutError as error:
            raise self._unreachable("TimeoutError") from error
        if isinstance(health, Busy):
            raise self._unreachable(health.why)
        if isinstance(health, Refused):
            raise self._unreachable(health.words or f"it answers {health.status}")
        return health

    def _unreachable(self, why: str) -> ConnectionError:
        """Returns the error for a url without a reward. why: the reason, for the message."""
        reason = http.safe_line(why, 120)
        return ConnectionError(
            f"{self.server.url} serves no reward: start spanreward serve ({reason})"
        )

    async def _health(self) -> Description | Refused | Busy:
        """Returns the server's description of its reward, or the reason why there is none.

        Raises TimeoutError after CONNECT_TIMEOUT seconds.
        """
        async with (
            asyncio.timeout(CONNECT_TIMEOUT),
            Client(self.server, read_description, MOST_HEALTH_BYTES) as client,
        ):
            return await client.get("/health")

    def missing_column(self, present: Container[str]) -> str | None:
        """Returns the first column that the server's metric needs and the data lacks, or None.

        None also if the server does not answer. present: the columns of the data.
        """
        try:
            self.reader()
        except ConnectionError:  # the verdicts will have this error as their note
            return None
        return super().missing_column(present)

    def cost(self, words: float, references: int) -> None:
        """Returns None, because the server's judge bears the cost."""

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns the server's verdicts, one per sample, in order.

        Errors of the server become verdicts, and raise nothing.
        """
        # The result does not matter here. The call asks the server which columns its metric reads,
        # and stores the answer in `self.columns` and `self.one_of`, which `_row` needs.
        self.missing_column(())
        rows_or_verdicts = [self._row(sample) for sample in samples]
        rows = [row for row in rows_or_verdicts if isinstance(row, dict)]
        answers = iter(http.run_coroutine(self._ask(rows)))
        verdicts = []
        for entry in rows_or_verdicts:
            if isinstance(entry, Verdict):
                verdicts.append(entry)
            else:
                verdicts.append(next(answers))
        return verdicts

    def _row(self, sample: Sample) -> dict[str, Any] | Verdict:
        """Returns the row to send, or a verdict for a sample with an unreadable picture."""
        # The row has every column that the metric needs, with None for a missing value. A missing
        # column would fail the whole request.
        needed_columns = dict.fromkeys((*self.columns, *self.one_of))
        pictures: Sequence[Any] = ()
        if not PICTURE_COLUMNS.isdisjoint(needed_columns):
            pictures = sample.images
        try:
            # a box is in pixels of the unscaled picture, so a picture with a box is not scaled
            encoded = [as_text(picture, scale=not sample.bbox) for picture in pictures]
        except NotApplicable as reason:
            return Verdict(None, Status.NOT_APPLICABLE, note=str(reason))
        return {**needed_columns, **row_of(sample), "images": encoded}

    async def _ask(self, rows: list[dict[str, Any]]) -> list[Verdict]:
        """Returns the server's verdict on each row, in order."""
        parts = self._in_requests(rows)
        verdicts: dict[int, Verdict] = {}
        end = time.monotonic() + self.deadline
        async with Client(
            self.server, read_verdicts, MOST_ANSWER_BYTES, self.deadline, UNDER_WAY
        ) as client:
            # send all requests, then the halves of requests that were refused because of one row
            while parts:
                asks = [partial(client.post, "/score", {"rows": part}) for _, part in parts]
                seconds_left = end - time.monotonic()
                answers = await all_in_time(asks, UNDER_WAY, seconds_left)
                again: list[RowsOfRequest] = []
                for (start, part), answer in zip(parts, answers, strict=True):
                    if self._refuses_one_row(answer) and len(part) > 1:
                        middle = len(part) // 2
                        again.append((start, part[:middle]))
                        again.append((start + middle, part[middle:]))
                        continue
                    verdicts_of_part = self._verdicts(answer, len(part), client)
                    for number, verdict in enumerate(verdicts_of_part, start):
                        verdicts[number] = verdict
                parts = again
        return [verdicts[number] for number in range(len(rows))]

    def _in_requests(self, rows: list[dict[str, Any]]) -> list[RowsOfRequest]:
        """Returns the rows of each request, with the index of the request's first row among all
        rows: 20 rows without pictures give [(0, the first 16 rows), (16, the last 4 rows)].
        """
        if self.by_batch:  # all rows that are compared go into one request
            size = len(rows) + 1
        elif any(row["images"] for row in rows):
            size = ROWS_WITH_PICTURES
        else:
            size = ROWS_A_REQUEST
        return [(start, rows[start : start + size]) for start in range(0, len(rows), size)]

    def _refuses_one_row(self, answer: Any) -> bool:
        """Returns whether the server refused the request because of one of its rows.

        The halves of such a request are sent again, so that all other rows get verdicts.
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
        """Returns the verdicts of an answer, or a failed verdict for each row of the request.

        Args:
            answer: the server's answer, None after the deadline.
            count: the number of rows of the request.
            client: the client that sent the request, for the error message.
        """
        if answer is None:  # the deadline has passed
            failure = failure_of_timeout(self.server.url, self.deadline, client)
        elif isinstance(answer, Busy):
            failure = failure_of_busy(self.server.url, answer)
        elif isinstance(answer, Refused):
            failure = failure_of_refusal(self.server.url, answer)
        elif len(answer) != count:
            words = f"{self.server.url} answered {len(answer)} verdicts for {count} rows"
            failure = Failure(Status.ERROR, words)
        else:
            return answer
        return [Verdict(None, failure.status, note=failure.message)] * count


def read_description(status: int, content: bytes) -> Description | Refused | Busy:
    """Returns the server's description of its reward, or the reason why there is none.

    status, content: of the response to /health.
    """
    try:
        return Description.model_validate_json(content)
    except ValueError as error:
        # the response holds the error of the server or of a proxy
        described_error = error_in_answer(status, content)
        if described_error is not None:
            return described_error
        # the server is of another kind
        return Refused(status, http.safe_line(str(error)))


def read_verdicts(status: int, content: bytes) -> list[Verdict] | Refused | Busy:
    """Returns the verdicts of a response, or the reason why there are none.

    A response with an infinite number or NaN is invalid. status, content: of the response to
    /score.
    """
    try:
        data = from_json(content, allow_inf_nan=False)
        return Answer.model_validate(data).verdicts
    except ValueError as error:
        # the response holds the server's error, or nothing that can be read
        described_error = error_in_answer(status, content)
        if described_error is not None:
            return described_error
        # A further try may get a readable response (`Busy`). The tries are limited (not `patient`),
        # because the rows themselves may be the cause.
        return Busy(http.safe_line(str(error)), patient=False)
