"""One loop for all that asks a server: judges and RemoteReward. What it asks again, how often, and until when.

    async with server.client(timeout, concurrency) as client:
        asks = [partial(post, client, "/v1/completions", body, largest, read) for body in bodies]
        answers, retries = await persist(asks, server.url, concurrency, seconds=300.0)

docs/judges.md#servers says it for users. A request that waits keeps its place, so that a troubled server gets fewer at
a time.
"""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

import httpx2 as httpx

from spanreward.rewards.base.verdict import Status
from spanreward.rewards.files import http_client as http
from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.judges.remote.answer import Busy, Refused

T = TypeVar("T")
ATTEMPTS = 6  # for errors that the request itself probably causes
SHORTEST, LONGEST = 0.5, 10.0  # seconds, of the longest first and the longest later pause
CONNECT = 5.0  # seconds, to connect to the server, and for what it says of itself


async def post(
    client: httpx.AsyncClient, path: str, body: Any, largest: int, reading: Callable[[int, bytes], T | Refused | Busy]
) -> T | Refused | Busy:
    """Makes one attempt. largest: bytes of the answer. reading: of its status and content, whatever they are."""
    try:
        response, content = await http.exchange(client, "POST", path, body, largest)
    except http.Untrusted as error:
        return Refused(0, str(error))
    except httpx.RequestError as error:
        return Busy(http.legible(f"{type(error).__name__} {error}"), patient=True)
    except http.BadAnswer as error:
        return Busy(str(error), patient=False)
    found = reading(response.status_code, content)
    if isinstance(found, Busy):
        return replace(found, after=http.seconds_to_wait(response))
    if isinstance(found, Refused) and response.has_redirect_location:
        target = http.legible(re.split("[?#]", response.headers["Location"])[0])
        return replace(found, words=f"it sends to {target}, where no question and no key goes: give that url")
    return found


async def persist(
    asks: Sequence[Callable[[], Awaitable[T | Failure | Busy]]],
    url: str,
    concurrency: int,
    seconds: float,
    deadline: float,
) -> tuple[list[T | Failure], int]:
    """Returns one answer per ask, in order, and the number of attempts beyond the first ones.

    An ask that is Busy is made again, until it was so ATTEMPTS times by its own fault (an ERROR), or after `seconds` (a
    TIMEOUT). deadline: of which these seconds are what is left.
    """
    answers: dict[int, T | Failure] = {}
    places = asyncio.Semaphore(concurrency)
    retries, trouble = 0, ""

    async def settle(number: int) -> None:
        nonlocal retries, trouble
        troubles = faults = 0
        async with places:
            while isinstance(found := await asks[number](), Busy):
                troubles += 1
                faults += not found.patient
                trouble = f"; the last trouble: {found.why}"
                if faults == ATTEMPTS:
                    found = Failure(Status.ERROR, f"{url} failed, the last of {ATTEMPTS} times: {found.why}")
                    break
                await asyncio.sleep(found.after + pause(troubles))
                retries += 1
            answers[number] = found

    with suppress(TimeoutError):
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
            for number in range(len(asks)):
                group.create_task(settle(number))
    late = Failure(Status.TIMEOUT, f"no answer from {url} within {deadline:g} s{trouble}")
    return [answers.get(number, late) for number in range(len(asks))], retries


def pause(attempt: int) -> float:
    """Random seconds to wait after this many failed attempts in a row (from 1): up to 0.5, 1, 2, 4, 8, 10, 10 ..."""
    return random.uniform(0.0, min(SHORTEST * 2.0 ** min(attempt - 1, 10), LONGEST))
