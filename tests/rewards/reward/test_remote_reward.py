"""A reward behind HTTP: what a server does wrong costs its own rows and is never a 0."""

import pickle
import time
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image

from spanreward import RemoteReward, Sample, Status, build_reward
from spanreward.rewards.files import http_client
from spanreward.rewards.judges.remote.client import MAX_ATTEMPTS
from spanreward.rewards.rows.pictures import as_text, opened_picture, shown_picture
from tests.support.liar import PATIENT, SECRET, TRANSPORT, legible
from tests.support.server import Server
from tests.support.short_pauses import shorten_pauses

SOON, SLACK = 0.3, 20.0
ROWS = [Sample("", text, references=("A red circle.",)) for text in ("A red kite.", "A dog.")]
VERDICT = '{"score": 0.5, "status": "ok"}'
SPAN = '"end": 1, "score": 1, "kind": "entity", "note": "", "component": 0'
FIRST = {  # of two verdicts
    "a score of NaN": '{"score": NaN, "status": "ok"}',
    "a score without a status": '{"score": 0.5, "status": "error"}',
    "a credit of infinity": f'{{"score": 0.5, "spans": [{{"start": 0, "credit": 1e999, {SPAN}}}]}}',
    "a span that ends first": f'{{"score": 0.5, "spans": [{{"start": 4, "credit": 0, {SPAN}}}]}}',
}
MISSED = f'"missed": [{{"start": 0, "credit": 0, {SPAN}}}]'
PAST = {  # the text, which the reward knows
    "a span": FIRST["a span that ends first"].replace('"end": 1', '"end": 99999'),
    "missed words": f'{{"score": 0.5, "reference": 7, {MISSED}}}',
}


def verdicts(*texts: str) -> bytes:
    return f'{{"verdicts": [{", ".join(texts)}]}}'.encode()


LIES = {
    "no verdicts": b"{}",
    "verdicts that are none": b'{"verdicts": 3}',
    "one verdict for two rows": verdicts(VERDICT),
    "three verdicts": verdicts(*[VERDICT] * 3),
    **{name: verdicts(first, VERDICT) for name, first in (FIRST | PAST).items()},
}


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.stop()


COLOURS = {"1": 1, "P": 1, "L": 200, "I;16": 200}


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "1", "P", "CMYK", "I;16", "LA"])
def test_a_picture_travels_as_it_is_seen(mode: str) -> None:
    picture = Image.new(mode, (5, 3), COLOURS.get(mode))
    content = b64decode(as_text(picture).removeprefix("data:image/png;base64,"))
    seen = shown_picture(opened_picture({"bytes": content}))
    assert seen.tobytes() == shown_picture(picture).tobytes()


@pytest.mark.parametrize("lie", [*TRANSPORT, *LIES])
def test_a_server_that_lies_is_none_with_a_status(
    server: Server, lie: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(http_client.KEY_VARIABLE, SECRET)
    shorten_pauses(monkeypatch, 0.001)
    server.behave = lambda body, number: {**TRANSPORT, **LIES}[lie]
    begun = time.monotonic()
    reward = RemoteReward(server.url, deadline=SOON if lie in PATIENT else SLACK)
    first, second = reward.judge_samples(ROWS)
    assert time.monotonic() - begun < SLACK
    assert (first.score, second.score) == (None, 0.5 if lie in PAST else None)
    assert first.status.failed
    assert legible(first.note), first.note
    if lie in PATIENT:
        assert first.status is Status.TIMEOUT
    else:
        assert len(server.bodies) <= 2 * MAX_ATTEMPTS  # some are lost connections


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
        return verdicts(*[VERDICT] * len(body["rows"]))

    server.behave = behave
    found = RemoteReward(server.url, deadline=SLACK).assess(good)
    lost = [number for number, verdict in enumerate(found) if verdict.score is None]
    assert lost == list(range(16, 32))
    assert {verdict.status for verdict in found[16:32]} == {Status.ERROR}
    assert "so it is" in found[16].note


def test_a_reward_without_a_server_is_made_and_says_so() -> None:
    made = RemoteReward("http://127.0.0.1:9/", name="posh", deadline=0.2)
    reward = pickle.loads(pickle.dumps(made))
    assert (reward.__name__, reward.cost(9, 1), reward.missing_column(())) == ("posh", None, None)
    (verdict,) = reward.judge_samples(ROWS[:1])
    assert verdict.status is Status.TIMEOUT
    for told in ("http://127.0.0.1:9", "0.2 s", "ConnectError"):
        assert told in verdict.note
    assert isinstance(build_reward("remote", None, {"url": "http://127.0.0.1:9"}), RemoteReward)
