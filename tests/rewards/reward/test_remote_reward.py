"""A reward behind HTTP: the same verdicts as here, and what a server does wrong costs its own rows
and is never a 0.
"""

import os
import pickle
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image

from spanreward import RemoteReward, Sample, Status, Verdict, build_reward
from spanreward.rewards.files import http_client
from spanreward.rewards.judges.remote.client import ATTEMPTS
from spanreward.rewards.reward.remote_reward import read_verdicts
from spanreward.rewards.rows.pictures import as_text, opened, shown_picture
from spanreward.rewards.rows.sample import read_sample, row_of
from tests.support.liar import PATIENT, SECRET, TRANSPORT, legible
from tests.support.paths import ROOT
from tests.support.server import Server
from tests.support.short_pauses import shorten_pauses

SOON, SLACK = 0.3, 20.0
ROWS = [
    Sample("", text, references=("A red circle.",)) for text in ("A red circle.", "A blue circle.")
]
LIGHT = """
import sys
class Blocker:
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in ("torch", "transformers", "spacy", "scipy", "trl"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocker())
from spanreward import RemoteReward
print(RemoteReward("http://127.0.0.1:9", deadline=0.1)([""], ["A cat."], reference=["A cat."]))
"""
VERDICT = b'{"score": 0.5, "status": "ok"}'
LIES = {
    "no verdicts": b"{}",
    "verdicts that are none": b'{"verdicts": 3}',
    "one verdict for two rows": b'{"verdicts": [%s]}' % VERDICT,
    "three verdicts": b'{"verdicts": [%s]}' % b",".join([VERDICT] * 3),
    "a score of 2": b'{"verdicts": [{"score": 2.0, "status": "ok"}, %s]}' % VERDICT,
    "a score of NaN": b'{"verdicts": [{"score": NaN, "status": "ok"}, %s]}' % VERDICT,
    "a score without a status": b'{"verdicts": [{"score": 0.5, "status": "error"}, %s]}' % VERDICT,
    "a failure of status ok": b'{"verdicts": [{"score": null, "status": "ok"}, %s]}' % VERDICT,
    "a status of its own": b'{"verdicts": [{"score": null, "status": "tired"}, %s]}' % VERDICT,
    "a part of 1e300": b'{"verdicts": [{"score": 0.5, "parts": {"f1": 1e300}}, %s]}' % VERDICT,
    "a credit of infinity": b'{"verdicts": [{"score": 0.5, "spans": [{"start": 0, "end": 1, "score": 1, '
    b'"credit": 1e999, "kind": "entity", "note": "", "component": 0}]}, %s]}' % VERDICT,
    "a span that ends before it begins": b'{"verdicts": [{"score": 0.5, "spans": [{"start": 4, "end": 1, "score": 1, '
    b'"credit": 0, "kind": "entity", "note": "", "component": 0}]}, %s]}' % VERDICT,
    "a span past the text": b'{"verdicts": [{"score": 0.5, "spans": [{"start": 4, "end": 99999, "score": 1, '
    b'"credit": 0, "kind": "entity", "note": "", "component": 0}]}, %s]}' % VERDICT,
    "missed words of a text that is not there": b'{"verdicts": [{"score": 0.5, "reference": 7, "missed": [{"start": 0, '
    b'"end": 9, "score": 0, "credit": 0, "kind": "entity", "note": "", "component": 0}]}, %s]}'
    % VERDICT,
}


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.stop()


def test_it_needs_no_parser_and_no_model() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIGHT],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": ""},
    )
    assert done.stdout.strip() == "[None]", done.stderr


def test_a_sample_is_read_again_as_it_was() -> None:
    asked = {"question": "What?", "answers": ("2", "two"), "task": "ic"}
    more = {"context": "ctx", "anchor": "other", "criteria": ("Be kind.",)}
    samples = [
        Sample("Say.", "A dog. \ud83d\ude00\n"),
        Sample("", "", references=("['a list', 'in a text']", "A cat."), id="7"),
        Sample("p", "c", bbox=(0.0, 1.0, 2.5, 3.0), **asked),
        Sample("p", "c", columns={"mine": [0, {"a": None}]}, **more),
    ]
    for sample in samples:
        row = row_of(sample)
        assert read_sample(row, row["completion"], row["prompt"]) == sample
    again = read_sample({**row_of(samples[3])}, "c", "p")
    assert again.columns["mine"] == [0, {"a": None}]


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "1", "P", "CMYK", "I;16", "LA"])
def test_a_picture_travels_as_it_is_seen(mode: str) -> None:
    picture = Image.new(
        mode, (5, 3), 1 if mode in ("1", "P") else 200 if mode in ("L", "I;16") else None
    )
    content = b64decode(as_text(picture).removeprefix("data:image/png;base64,"))
    seen = shown_picture(opened({"bytes": content}))
    assert seen.tobytes() == shown_picture(picture).tobytes()


@pytest.mark.parametrize("lie", [*TRANSPORT, *LIES])
def test_a_server_that_lies_is_none_with_a_status(
    server: Server, lie: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(http_client.KEY, SECRET)
    shorten_pauses(monkeypatch, 0.001)
    server.behave = lambda body, number: {**TRANSPORT, **LIES}[lie]
    begun = time.monotonic()
    verdicts = RemoteReward(server.url, deadline=SOON if lie in PATIENT else SLACK).judge_samples(
        ROWS
    )
    assert time.monotonic() - begun < SLACK
    past = lie in ("a span past the text", "missed words of a text that is not there")
    assert [verdict.score for verdict in verdicts] == [None, 0.5 if past else None]
    assert verdicts[0].status.failed
    assert legible(verdicts[0].note), verdicts[0].note
    if lie in PATIENT:
        assert verdicts[0].status is Status.TIMEOUT
    else:
        assert len(server.bodies) <= 2 * ATTEMPTS  # some are lost connections


def test_a_busy_server_is_asked_again_and_only_the_lost_request_fails(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten_pauses(monkeypatch, 0.001)
    good = [Sample("", f"{number}") for number in range(40)]  # three requests

    def behave(body: dict, number: int) -> Any:
        if number < 4:
            return (429, 503, 502, 408)[number]
        if any(row["completion"] == "20" for row in body["rows"]):
            return 400
        return b'{"verdicts": [%s]}' % b",".join([VERDICT] * len(body["rows"]))

    server.behave = behave
    verdicts = RemoteReward(server.url, deadline=SLACK).assess(good)
    assert [number for number, verdict in enumerate(verdicts) if verdict.score is None] == list(
        range(16, 32)
    )
    assert {verdict.status for verdict in verdicts[16:32]} == {Status.ERROR}
    assert "so it is" in verdicts[16].note


def test_a_reward_without_a_server_is_made_and_says_so() -> None:
    reward = pickle.loads(
        pickle.dumps(RemoteReward("http://127.0.0.1:9/", name="posh", deadline=0.2))
    )
    assert (reward.__name__, reward.cost(9, 1), reward.missing_column(())) == ("posh", None, None)
    (verdict,) = reward.judge_samples(ROWS[:1])
    assert verdict.status is Status.TIMEOUT
    for told in ("http://127.0.0.1:9", "0.2 s", "ConnectError"):
        assert told in verdict.note
    assert isinstance(build_reward("remote", None, {"url": "http://127.0.0.1:9"}), RemoteReward)


def test_verdicts_are_read_whole() -> None:
    told = b'{"verdicts": [{"score": 0.25, "parts": {"f1": 0.25}, "spans": [{"start": 2, "end": 5, "score": 0.0, '
    told += b'"credit": -0.1, "kind": "attribute", "note": "no", "component": 1, "asked": false}], "note": "n"}]}'
    (verdict,) = read_verdicts(200, told)
    assert isinstance(verdict, Verdict)
    assert (verdict.score, verdict.parts, verdict.spans[0].asked) == (0.25, {"f1": 0.25}, False)
