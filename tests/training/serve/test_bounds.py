"""What comes from outside is bounded before it is decoded, and a page may do nothing."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")
from experiments.attack.judges import SLOW
from experiments.attack.server import JUDGES
from spanreward import MatchJudge, PoshReward, RemoteReward, Sample
from spanreward.rewards.files import http_client
from spanreward.training.serve import request, server as connections
from spanreward.training.serve.request import ArrivingBody, TooMuch, read_request
from tests.support.paths import ROOT
from tests.support.served import served

ROW = {"completion": "A red circle.", "reference": "A red circle."}
PICTURE = "data:image/png;base64,AAAA"


def body(**columns: Any) -> bytes:
    return json.dumps({"rows": [{**ROW, **columns}]}).encode()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "the body: Invalid JSON"),
        (b'"\xff"', "the body: Invalid JSON"),
        (b'{"rows": [], "rows": []}', 'the body: Invalid JSON: Detected duplicate key "rows"'),
        (b'{"rows": [{"completion": "a", "completion": "b"}]}', "the body: Invalid JSON: Detected"),
        (b"[" * 100_000, "the body: Invalid JSON: recursion limit exceeded"),
        (b'{"rows": [{"b": ' + b"[" * 300 + b"]" * 300 + b"}]}", "the body: Inv"),
        (b"{}", "rows: Field required"),
        (b"[1]", "the body: Input should be an object"),
        (b'{"row": []}', "row: Extra inputs are not permitted"),
        (b'{"rows": []}', "rows: List should have at least 1 item"),
        (json.dumps({"rows": [ROW] * 4097}).encode(), "rows: List should have at most 4096 items"),
        (body(**{str(n): n for n in range(300)}), "row 0: 302 keys, and a row has at most 256"),
        (body(reference="x" * 1_048_577), "row 0: reference holds more than 1,048,576 characters"),
        (body(reference=[["x" * 1_048_577]]), "row 0: reference holds more than 1,048,576"),
        (body(**{"x" * 1_048_577: 1}), "row 0: " + "x" * 80 + " holds more than"),
        (body(images=[PICTURE] * 65), "rows.0.images: List should have at most 64 items"),
        (body(images=[PICTURE] * 257), "a request has at most 256 pictures, got 257"),
        (body(completion_ids=[-1] * 1000), "rows.0.completion_ids.0: Input should be greater"),
        (body(completion_ids=[1 << 32]), "rows.0.completion_ids.0: Input should be less"),
        (body(completion=[1] * 1000), "rows.0.completion.str: Input should be a valid string"),
        (body(images=["x"] * 60), "rows.0.images.0: String should match pattern"),
        (body(images=[None]), "rows.0.images.0: Input should be a valid string"),
        (body(image="file:///etc/passwd"), "rows.0.image: String should match pattern"),
        (body(image="data:image/png;base64,*"), "rows.0.image: String should match pattern"),
        (body(image={"path": "/etc/passwd"}), "rows.0.image: Input should be a valid string"),
        (body(image=""), "rows.0.image: String should match pattern"),
    ],
)
def test_a_body_past_a_bound_is_one_sentence(content: bytes, told: str) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        read_request(content)
    assert str(error.value).startswith(told)


def test_pydantic_stops_at_the_first_error() -> None:
    """Its errors take 1 kB each; with fail_fast there is one of a list."""
    wrong = {"completion": "x", "completion_ids": [-1] * 1000, "images": ["x"] * 60}
    for rows, most in (([wrong], 2), ([3] * 1000, 1), ([{"completion": [1] * 1000}], 2)):
        with pytest.raises(request.ValidationError) as error:
            request.Asked.model_validate({"rows": rows})
        assert error.value.error_count() <= most


def test_bytes_and_values_are_counted_while_they_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "BODY_BYTES", 100)
    monkeypatch.setattr(request, "BODY_VALUES", 10)
    blanks, values = ArrivingBody(), ArrivingBody()
    blanks.add(b" " * 100)
    with pytest.raises(TooMuch, match="at most 100 bytes"):
        blanks.add(b" ")
    values.add(b"[1,2,3,{}")
    values.add(b",4,5,6,")
    assert values.values == 9
    values.add(b"[")
    with pytest.raises(TooMuch, match="at most 10 values"):
        values.add(b",")


@contextmanager
def served_port(judge: MatchJudge | None = None) -> Iterator[int]:
    with served(PoshReward(judge or MatchJudge())) as (url, _):
        yield int(url.rpartition(":")[2])


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with served_port() as port:
        yield port


def ask(
    port: int, path: str = "/score", **headers: str
) -> tuple[int, dict[str, Any], http.client.HTTPMessage]:
    sent = {"Host": "127.0.0.1", "Content-Type": "application/json", **headers}
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    client.request("POST", path, body(), sent)
    answer = client.getresponse()
    content = answer.read()
    client.close()
    return answer.status, json.loads(content), answer.headers


@pytest.mark.parametrize(
    ("name", "values", "status"),
    [
        ("Host", ("127.0.0.1", "127.0.0.1:8400", "127.1.2.3", "[::1]:8400"), 200),
        ("Host", ("localhost:1", "LOCALHOST"), 200),
        ("Host", ("evil.example", "127.0.0.1.evil.example", "", "[::1", "0", "a b"), 403),
        ("Origin", ("https://evil.example", "null", "http://127.0.0.1:3000"), 403),
        ("Content-Type", ("application/json", "Application/JSON; charset=utf-8"), 200),
        ("Content-Type", ("text/plain", "application/x-www-form-urlencoded", ""), 415),
        ("Content-Type", ("multipart/form-data; boundary=a", "text/plain; application/json"), 415),
    ],
)
def test_programs_on_this_machine_may_ask_and_no_page(
    port: int, name: str, values: tuple[str, ...], status: int
) -> None:
    """Without a key; and a body says that it is JSON."""
    for value in values:
        found, answer, _ = ask(port, **{name: value})
        assert found == status, value
        assert status != 403 or "browser" in answer["error"]


def test_a_slash_leads_nowhere(port: int) -> None:
    status, answer, headers = ask(port, path="/score/", Host="evil.example")
    assert (status, answer) == (404, {"error": "Not Found"})
    assert headers["Location"] is None


def closed(client: socket.socket) -> float:
    """Returns after how many seconds the other side ends the connection."""
    begun = time.monotonic()
    assert client.recv(100) == b""
    return time.monotonic() - begun


def answered(client: socket.socket) -> bytes:
    """Returns a whole answer, whose header and body may come one after the other."""
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += client.recv(10_000)
    header, _, body = answer.partition(b"\r\n\r\n")
    (length,) = re.findall(rb"content-length: (\d+)", header.lower())
    while len(body) < int(length):
        body += client.recv(10_000)
    return header


def test_a_connection_that_says_nothing_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.5)
    with served_port() as port:
        for beginning in (b"", b"POST /score HTTP/1.1\r\nHost: 127.0.0.1\r\n"):
            with connected(port) as client:
                client.sendall(beginning)
                assert closed(client) < 10
        # after an answer, and in the middle of the next header
        with connected(port) as client:
            client.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert answered(client).startswith(b"HTTP/1.1 200")
            client.sendall(b"GET /hea")
            assert closed(client) < 10


def test_the_longest_idle_connection_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 4)
    with served_port() as port:
        clients = []
        for _ in range(8):
            clients.append(connected(port))
            time.sleep(0.05)
        assert ask(port)[0] == 200
        for client in clients[:5]:
            assert closed(client) < 5
        for client in clients:
            client.close()


def test_a_connection_that_waits_for_its_answer_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.2)

    class Slow(MatchJudge):
        def rate_each(self, questions: Any, scale: Any) -> Any:
            time.sleep(1.0)
            return super().rate_each(questions, scale)

    with served_port(Slow()) as port:
        assert ask(port)[0] == 200


@pytest.mark.slow
@pytest.mark.parametrize(
    ("signals", "code"),
    [
        ((signal.SIGTERM, signal.SIGTERM), 128 + signal.SIGTERM),
        ((signal.SIGINT,), 128 + signal.SIGINT),
        ((signal.SIGINT, signal.SIGTERM), 128 + signal.SIGTERM),
    ],
)
def test_a_signal_ends_it_while_a_long_row_is_judged(signals: tuple[int, ...], code: int) -> None:
    command = [sys.executable, "-m", "spanreward", "serve", "posh", "--port", "0"]
    command += ["--judge", f"{JUDGES}:slow"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), http_client.KEY_VARIABLE: ""}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().split()[0].rpartition(":")[2])
        client = http.client.HTTPConnection("127.0.0.1", port)
        slow = json.dumps({"rows": [{**ROW, "completion": f"A circle moves {SLOW}."}]})
        client.request("POST", "/score", slow, {"Content-Type": "application/json"})
        time.sleep(3.0)
        for number in signals:
            process.send_signal(number)
            time.sleep(0.5)
        assert process.wait(30) == code
        client.close()


def test_a_row_that_is_refused_costs_a_remote_client_no_other() -> None:
    good = [Sample("", text, references=("A red circle.",)) for text in ("A red circle.", "A cat.")]
    large = Sample("", "A red circle.", references=("x" * 1_048_577,))
    with served(PoshReward(MatchJudge())) as (url, service):
        here = PoshReward(MatchJudge()).judge_samples(good)
        verdicts = RemoteReward(url).judge_samples([good[0], large, good[1]] + good * 2)
        refused = service.counts['spanreward_refused_total{code="422"}']
    assert verdicts.pop(1).note.startswith(f"{url} refuses the question with 422: row 0: reference")
    assert verdicts == here * 3
    assert refused == 4  # of seven rows, three, two and one
