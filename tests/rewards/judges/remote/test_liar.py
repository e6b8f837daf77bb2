"""A server that lies about one question of three costs that one, in time, and no secret."""

import re
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spanreward import Failure, Status
from spanreward.rewards.files import http_client as http_client
from spanreward.rewards.judges.remote.chat_judge import ChatJudge
from spanreward.rewards.judges.remote.client import MAX_ATTEMPTS
from spanreward.rewards.judges.remote.endpoint import ANSWER_BYTES, BYTES_PER_TOKEN
from spanreward.rewards.judges.remote.server_judge import ServerJudge
from tests.support.fakes import asked
from tests.support.liar import BARE, PATIENT, RATINGS, SECRET, TRANSPORT, TWICE, legible
from tests.support.server import Server, text_of
from tests.support.short_pauses import shorten_pauses

LIES = {**TRANSPORT, **RATINGS, **BARE}
CHAT_LIES = {**LIES, "a token twice": TWICE}  # which a JSON object, as in completions, cannot hold
TOO_LONG = f"more than {ANSWER_BYTES + BYTES_PER_TOKEN:,} bytes"  # of an answer of one token
REASONS = {
    "status 500": f"the last of {MAX_ATTEMPTS} times",
    "gzip bomb": "is compressed",
    "megabytes of blanks": TOO_LONG,
    "megabytes of refusal": TOO_LONG,
}
ALL = {"status 401", "status 403", "status 404"}  # a server with such a status answers nobody
SOON = 0.2  # seconds, the deadline where a lie is asked again until then
SLACK = 20.0  # seconds, on a machine that does much else


@pytest.fixture(autouse=True)
def with_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(http_client.KEY_VARIABLE, SECRET)
    monkeypatch.setattr(zlib, "decompressobj", lambda *_: pytest.fail("it was decompressed"))
    shorten_pauses(monkeypatch, 0.001)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.stop()


@pytest.mark.parametrize(
    ("lie", "chat"), [*((lie, False) for lie in LIES), *((lie, True) for lie in CHAT_LIES)]
)
def test_a_lie_costs_one_question(server: Server, folder: Path, lie: str, chat: bool) -> None:
    deadline = SOON if lie in PATIENT else SLACK
    judge: Any = ServerJudge(server.url, "m", folder, deadline=deadline)
    if chat:
        judge = ChatJudge(server.url, "m", deadline=deadline)
    server.behave = lambda body, number: CHAT_LIES[lie] if "give 3" in text_of(body) else None
    start = time.monotonic()
    lied, *others = judge.rate(asked("give 3", "give 4", "give 5")[: 1 if lie in PATIENT else 3])
    assert time.monotonic() - start < SLACK
    assert isinstance(lied, Failure), f"{lie} was believed"
    assert legible(lied.message), lied.message
    assert not re.match(r"\w+Error: ", lied.message)  # nothing of ours has raised
    assert REASONS.get(lie, "") in lied.message
    assert lie not in REASONS or judge.usage.retries == MAX_ATTEMPTS - 1
    assert (lied.status is Status.TIMEOUT) == (lie in PATIENT)
    for rating, entry in zip(others, "45", strict=False):
        if lie not in ALL:
            assert rating.probabilities[entry] == pytest.approx(8 / 9)


def test_large_answers_that_are_allowed_are_read_in_time(server: Server, folder: Path) -> None:
    """64 answers of 2.6 MB took 10 s of a deadline of 4."""
    server.behave = lambda body, number: lambda answer: answer.update(padding="x" * 2_600_000)
    judge = ServerJudge(server.url, "m", folder, deadline=2.0)
    start = time.monotonic()
    answers = judge.rate(asked(*(f"number {n}, give 3" for n in range(64))))
    assert time.monotonic() - start < 2.0 + SLACK
    assert all(isinstance(answer, Failure) for answer in answers)
