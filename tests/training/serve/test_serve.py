"""`spanreward serve`: the same verdicts as here for many clients, and bounds on each."""

import asyncio
import json
import re
import socket
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.error import HTTPError

import pytest
from PIL import Image

from experiments.scenes.policy import tiny_tokenizer
from spanreward import (
    HarmonicReward,
    MatchJudge,
    PoshReward,
    RemoteReward,
    Sample,
    Status,
    Verdict,
    token_credit,
)
from spanreward.rewards.files import http_client
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.rows.pictures import as_text
from tests.support.command import spanreward
from tests.support.served import served

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")
from spanreward.training.serve import request as body_bounds, service as app

REFERENCE = "A red circle above a square."
TEXTS = ("A red circle.", "A blue circle.", "", f"{REFERENCE} It is not there \ud83d\ude00.")
ROW = {"completion": "A blue circle.", "reference": REFERENCE}
ONE = {"rows": [{"completion": "x"}]}
HEAD = b"POST /score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


class Slow(Reward):
    """Scores a text by its length, slowly, and keeps the sizes of its batches."""

    def __init__(self, by_batch: bool = False, seconds: float = 0.05) -> None:
        super().__init__("slow")
        self.by_batch, self.seconds = by_batch, seconds
        self.batches: list[int] = []
        self.samples: list[Sample] = []

    def assess(self, samples: Any) -> list[Verdict]:
        time.sleep(self.seconds)
        self.batches.append(len(samples))
        self.samples += samples
        return [Verdict(len(one.completion) / 1000) for one in samples]


@pytest.fixture(scope="module")
def posh() -> Iterator[tuple[str, Any]]:
    tokenizers = {"tiny": tiny_tokenizer().backend_tokenizer}
    with served(PoshReward(MatchJudge()), tokenizers) as (url, service):
        yield url, service


def post(url: str, body: Any, path: str = "/score", **headers: str) -> tuple[int, Any]:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **headers}
    request = urllib.request.Request(url + path, content, headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read().decode()


def judged(reward: Reward, *texts: str) -> list[Verdict]:
    return reward.judge_samples([Sample("", text, references=(REFERENCE,)) for text in texts])


def here(*texts: str) -> list[Verdict]:
    return judged(PoshReward(MatchJudge()), *texts)


def there(url: str, *texts: str) -> list[Verdict]:
    return judged(RemoteReward(url), *texts)


def connected(url: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=20)


def test_the_verdicts_are_those_of_the_reward_here(posh: tuple[str, Any]) -> None:
    url, _ = posh
    here, there = PoshReward(MatchJudge()), RemoteReward(url)
    samples = [Sample("Say.", text, references=(REFERENCE, "A cat.")) for text in TEXTS] * 9
    samples += [Sample("", "A dog.", references=())]
    assert there.judge_samples(samples) == here.judge_samples(samples)
    # which posh does not read
    columns = {"reference": [REFERENCE] * 4, "image": [Image.new("RGB", (2, 2))] * 4}
    assert there([""] * 4, list(TEXTS), **columns) == here([""] * 4, list(TEXTS), **columns)
    with pytest.raises(ValueError, match="'reference'"):
        there([""], ["A cat."], caption=["A cat."])
    assert (there.columns, there.main_parts) == (here.columns, here.main_parts)
    assert there.reader() == "posh"


def test_pictures_reach_a_metric_that_reads_them() -> None:
    seen = Slow()
    seen.one_of = ("image", "images", "context")
    picture = Image.effect_noise((40, 30), 50).convert("RGB")
    with served(seen) as (url, _):
        columns = {"image": [picture, "/nowhere/at/all.png"]}
        assert RemoteReward(url)([""] * 2, ["A cat.", "A dog."], **columns) == [0.006, None]
        status, answer = post(url, {"rows": [{"completion": "x", "image": "/etc/passwd"}]})
        assert (status, answer["error"].partition(": ")[0]) == (422, "rows.0.image")
        assert post(url, {"rows": [{"completion": "xx", "images": [as_text(picture)]}]})[0] == 200
    assert [len(one.images) for one in seen.samples] == [1, 1]
    assert HarmonicReward(MatchJudge()).one_of == seen.one_of


def test_credit_of_tokens(posh: tuple[str, Any]) -> None:
    url, _ = posh
    tokenizer = tiny_tokenizer()
    text = ROW["completion"]
    ids = [*tokenizer.encode(text, add_special_tokens=False), tokenizer.eos_token_id]
    rows = [{**ROW, "completion_ids": ids}, ROW, {**ROW, "completion_ids": ids[:-2]}]
    status, answer = post(url, {"rows": rows, "tokenizer": "tiny"})
    assert status == 200
    credit, *reasons = answer["tokens"]
    assert credit == pytest.approx(token_credit(here(text)[0], ids, tokenizer))
    assert min(credit) < 0
    assert reasons[0].startswith("the row's 0 completion_ids")
    assert post(url, {"rows": [ROW]})[1]["tokens"] is None
    status, answer = post(url, {"rows": rows, "tokenizer": "gpt"})
    assert status == 422
    assert re.match("the tokenizer 'gpt' is not served: .* tiny", answer["error"])


LARGE = 1_000_000


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"rows": []}, "rows: List should have at least 1 item"),
        ({"judge": "match"}, "judge: Extra inputs"),
        ({"rows": [{"completion": "x"}]}, "row 0: posh needs the key 'reference'"),
        ({"rows": [ROW, {**ROW, "reference": 7}]}, "row 1: "),
        ({"rows": [ROW, {**ROW, "completion": [{"role": "user", "content": "x"}] * 2}]}, "row 1: "),
        # whatever was sent
        ({"rows": [{**ROW, "reference": {"a": "x" * LARGE}}]}, "row 0: "),
        ({"rows": [{**ROW, "answers": [["y" * LARGE]]}]}, "row 0: "),
        ({"rows": [{**ROW, "image": "/etc/passwd" * LARGE}]}, "rows.0.image: "),
        ({"a\nb\x1b[31m": 1}, "a"),
        ({"tokenizer": "z" * LARGE}, "the tokenizer 'zz"),
    ],
    ids=range(10),
)
def test_a_refusal_is_one_short_sentence(posh: tuple[str, Any], changes: Any, told: str) -> None:
    status, answer = post(posh[0], {"rows": [ROW], **changes})
    assert (status, answer.keys()) == (422, {"error"})
    assert answer["error"].startswith(told)
    assert answer["error"].isprintable()
    assert len(answer["error"]) <= 300


def test_another_path_and_another_method_are_refused(posh: tuple[str, Any]) -> None:
    url, _ = posh
    assert post(url, b"{}", path="/nowhere") == (404, {"error": "Not Found"})
    with pytest.raises(HTTPError, match="405"):
        get(f"{url}/score")


def raw(url: str, request: bytes) -> bytes:
    with connected(url) as client:
        client.sendall(request)
        return client.recv(100_000).split(b"\r\n")[0]


def test_what_nobody_named(posh: tuple[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    url, service = posh
    body = json.dumps({"rows": [ROW]}).encode()
    chunked = HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    assert b" 200 " in raw(url, chunked)
    gzipped = HEAD + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00"
    assert b" 422 " in raw(url, gzipped)
    odds = (("completion_ids", None), ("prompt", None), ("id", 7), ("reference", ["", None]))
    for key, value in (*odds, ("reference", {})):
        status, answer = post(url, {"rows": [{**ROW, key: value}]})
        assert status == 200 or (status, answer.keys()) == (422, {"error"}), key
    rows = b'{"completion": "x", "reference": NaN}, {"completion": "x", "reference": null}'
    status, answer = post(url, b'{"rows": [%b]}' % rows)
    assert [one["status"] for one in answer["verdicts"]] == ["not_applicable"] * 2
    assert post(url, b'{"rows": [{"completion": "\\ud800", "reference": "y"}]}')[0] == 422
    lone, long = "A blue \ud800 circle.", "A red circle. " * 20_000
    odd_one, long_one = there(url, lone, long)
    assert odd_one.status is Status.OK
    assert long_one.score == here(long)[0].score

    async def within() -> list[Verdict]:
        return there(url, "A red circle.")  # as in a notebook

    assert asyncio.run(within()) == here("A red circle.")
    assert there(url) == []
    with urllib.request.urlopen(urllib.request.Request(f"{url}/health", method="HEAD")) as answer:
        assert answer.status == 200
    with connected(url) as gone:
        gone.sendall(HEAD + b"Content-Length: 100\r\n\r\n{")
    time.sleep(0.3)
    assert service.counts[app.BYTES_HELD] == service.counts[app.ROWS_HELD] == 0
    assert [one for one in caplog.messages if "Exception" in one] == []


def test_health_metrics_and_schema(posh: tuple[str, Any]) -> None:
    url, _ = posh
    post(url, {"rows": [{"completion": "", "reference": "y"}]})
    health = json.loads(get(f"{url}/health"))
    expected = {"columns": ["reference"], "decided_by": "posh", "tokenizers": ["tiny"]}
    assert health.items() >= expected.items()
    lines = dict(line.rsplit(" ", 1) for line in get(f"{url}/metrics").splitlines())
    assert int(lines['spanreward_rows_total{status="empty"}']) >= 1
    assert lines["spanreward_rows_held"] == lines["spanreward_body_bytes_held"] == "0"
    schema = json.loads(get(f"{url}/openapi.json"))
    assert schema["openapi"] == "3.1.0"
    assert {"Asked", "Answer", "Row", "Verdict", "Span"} <= set(schema["components"]["schemas"])
    named = set(re.findall('"#/components/schemas/([^"]+)"', json.dumps(schema)))
    assert named <= set(schema["components"]["schemas"])
    assert set(schema["paths"]) == {"/score", "/health", "/metrics"}


def test_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(http_client.KEY_VARIABLE, "sesame")
    with served(Slow()) as (url, _):
        assert post(url, ONE)[0] == 401
        assert "SPANREWARD_API_KEY" in post(url, ONE, Authorization="Bearer wrong")[1]["error"]
        for key in ("Bearer sesame", "bearer sesame"):
            assert post(url, ONE, Authorization=key)[0] == 200
        for other in ("Basic sesame", "sesame", "Bearer", "Bearer sesame x", "Bearer s\u00e9same"):
            assert post(url, ONE, Authorization=other)[0] == 401, other
        with pytest.raises(HTTPError, match="401"):
            get(f"{url}/metrics")
        # with a key a name is free
        named = {"Host": "judge.example", "Authorization": "Bearer sesame"}
        assert post(url, ONE, **named)[0] == 200
        assert post(url, ONE, Host="judge.example")[0] == 401
        assert post(url, ONE, **{**named, "Content-Type": "text/plain"})[0] == 415
        assert RemoteReward(url)([""], ["xx"]) == [0.002]
        assert RemoteReward(url).reader() == "slow"


@pytest.mark.parametrize("by_batch", [False, True])
def test_rows_of_many_requests_are_judged_together_unless_they_compare(by_batch: bool) -> None:
    reward = Slow(by_batch)
    with served(reward) as (url, _), ThreadPoolExecutor(16) as pool:
        asked = [[Sample("", "x" * size)] * 3 for size in range(16)]
        found = list(pool.map(RemoteReward(url).judge_samples, asked))
    for size, verdicts in enumerate(found):
        assert [one.score for one in verdicts] == [size / 1000] * 3
    assert sum(reward.batches) == 48
    assert (set(reward.batches) == {3}) == by_batch
    assert by_batch or len(reward.batches) < 16


def test_what_waits_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "MAX_QUEUED_ROWS", 8)
    with served(Slow(seconds=0.2)) as (url, service), ThreadPoolExecutor(12) as pool:
        rows = {"rows": [{"completion": "x"}] * 4}
        codes = [status for status, _ in pool.map(lambda _: post(url, rows), range(12))]
        assert set(codes) == {200, 429}
        refused = post(url, {"rows": [{"completion": "x"}] * 9})[1]["error"]
        assert refused.startswith("0 rows wait, and 8 may")
        assert RemoteReward(url).judge_samples([Sample("", "x")] * 4)[0].score == 0.001
        assert service.counts['spanreward_refused_total{code="429"}'] == codes.count(429) + 1
        assert (service.counts[app.ROWS_HELD], service.counts[app.BYTES_HELD]) == (0, 0)


def test_a_body_is_bounded_in_bytes_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_bounds, "BODY_BYTES", 100_000)
    monkeypatch.setattr(app, "BODY_SECONDS", 0.3)
    with served(Slow()) as (url, service):
        head = HEAD + b"Content-Length: %d\r\n\r\n"
        assert b"413" in raw(url, head % 10**9 + b" " * 200_000)
        assert b"408" in raw(url, head % 1000 + b"{")
        with connected(url) as gone:
            gone.sendall(head % 1000 + b"{")
        assert post(url, ONE)[0] == 200
        assert service.counts[app.BYTES_HELD] == 0
        monkeypatch.setattr(app, "MAX_BODY_BYTES", 10)
        assert post(url, ONE)[0] == 429


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--port", "0", "--tokenizer", "/nowhere"], "--tokenizer /nowhere has no tokenizer.json"),
        (["--port", "0", "--set", "mode=odd"], "mode is"),
        (["--port", "TAKEN"], "Address already in use"),
        (["--port", "99999"], "--port is 0 to 65535, got 99999"),
    ],
)
def test_what_cannot_be_served_is_one_sentence(
    words: list[str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(http_client.KEY_VARIABLE, raising=False)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("spanreward.training.serve.server.RewardServer.run", None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        words = [port if word == "TAKEN" else word for word in words]
        done = spanreward("serve", "posh", "--judge", "match", *words)
    assert done.code == 1
    assert done.err.startswith("spanreward serve: ")
    assert told in done.err
    assert len(done.err.splitlines()) == 1
