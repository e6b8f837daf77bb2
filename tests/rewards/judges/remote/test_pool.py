"""One judge behind several local servers, of which one dies, hangs, is slow, busy, broken, or serves something else."""

import logging
import pickle
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from spanreward.rewards.judges import CachedJudge, Failure, Question, Rating, load_judge
from spanreward.rewards.judges.remote import pool as pool_module
from spanreward.rewards.judges.remote.pool import ATTEMPTS, Pool, Stretches
from spanreward.rewards.judges.remote.server_judge import ServerJudge
from spanreward.rewards.verdict import Status
from tests.support.server import LOST, SOON, Server, text_of

COUNT = 120
GIVEN = [str(1 + number % 5) for number in range(COUNT)]
QUESTIONS = [
    Question([{"role": "user", "content": f"number {number:03}: give {entry}"}]) for number, entry in enumerate(GIVEN)
]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "pause", lambda attempt: random.uniform(0.01, 0.05))


@pytest.fixture
def servers() -> Iterator[list[Server]]:
    servers = [Server() for _ in range(3)]
    yield servers
    for server in servers:
        server.stop()


@pytest.fixture
def judge(servers: list[Server], folder: str) -> ServerJudge:
    return ServerJudge(urls(servers), "m", folder, deadline=60.0, concurrency=4)


def urls(servers: list[Server]) -> str:
    return ",".join(server.url for server in servers)


def rated(answers: list[Rating | Failure]) -> list[str]:
    assert all(isinstance(answer, Rating) for answer in answers), [a for a in answers if isinstance(a, Failure)]
    return [max(a.probabilities, key=a.probabilities.__getitem__) for a in answers if isinstance(a, Rating)]


def asked(server: Server) -> list[str]:
    """The questions that reached the server, in order."""
    return [text_of(body).partition("number ")[2][:3] for body in server.bodies]


def ends_after(server: Server, count: int) -> Callable[[dict, int], Any]:
    """From this request on the process is gone: nobody listens, and what was under way is lost."""

    def behave(body: dict, number: int) -> Any:
        if number == count:
            threading.Thread(target=server.stop).start()
        return LOST if number >= count else None

    return behave


@given(st.integers(0, 40), st.integers(1, 5), st.data())
def test_each_number_is_taken_once_and_what_is_put_back_once_more(count: int, takers: int, data: st.DataObject) -> None:
    stretches = Stretches(count, takers)
    taken: list[int] = []
    returned: list[int] = []
    while True:
        taker = data.draw(st.integers(0, takers - 1))
        number = stretches.take(taker)
        if number is None:
            break
        taken.append(number)
        if len(returned) < 5 and data.draw(st.booleans()):
            returned.append(number)
            stretches.put_back(data.draw(st.integers(0, takers - 1)), number)
    assert Counter(taken) == Counter(range(count)) + Counter(returned)


def test_alone_a_taker_has_its_own_stretch_and_then_the_later_halves_of_others() -> None:
    stretches = Stretches(12, 3)
    assert [stretches.take(1) for _ in range(12)] == [4, 5, 6, 7, 2, 3, 10, 11, 1, 9, 0, 8]


def test_one_dies_and_one_is_slow(servers: list[Server], judge: ServerJudge) -> None:
    fast, dying, slow = servers
    fast.delay = dying.delay = lambda body: 0.01
    slow.delay = lambda body: 0.25
    dying.behave = ends_after(dying, 12)
    assert rated(judge.rate(QUESTIONS)) == GIVEN
    answered, lost = asked(dying)[:12], asked(dying)[12:]
    once = Counter(asked(fast) + asked(slow) + answered)
    assert once == Counter(f"{number:03}" for number in range(COUNT))  # each of them answered, and answered once
    assert 1 <= len(lost) == judge.usage.retries <= 4  # only what was under way at the dead one was sent again
    assert len(asked(slow)) < len(asked(fast)) / 2


def test_neighbours_stay_together(servers: list[Server], judge: ServerJudge) -> None:
    for server in servers:
        server.delay = lambda body: 0.02
    assert rated(judge.rate(QUESTIONS)) == GIVEN
    for number, server in enumerate(servers):
        own = {f"{one:03}" for one in range(number * COUNT // 3, (number + 1) * COUNT // 3)}
        assert len(own & set(asked(server))) > 0.8 * len(asked(server))
        assert 1 < server.most <= 4


def test_a_server_that_comes_back_is_asked_again(servers: list[Server], judge: ServerJudge) -> None:
    kept, dying, other = servers
    for server in (kept, other):
        server.delay = lambda body: 0.2
    dying.behave = ends_after(dying, 2)
    back: list[Server] = []

    def restart() -> None:
        while dying.stopping.wait(SOON) and not back:
            try:
                back.append(Server(dying.port))
            except OSError:
                time.sleep(0.02)  # the old one has not let go of the port

    thread = threading.Thread(target=restart)
    thread.start()
    assert rated(judge.rate(QUESTIONS)) == GIVEN
    thread.join()
    back[0].stop()
    assert len(asked(back[0])) > 10
    assert not set(asked(back[0])) & set(asked(kept) + asked(other))


def test_a_server_that_comes_back_with_another_model_is_not_asked(
    servers: list[Server], judge: ServerJudge, caplog: pytest.LogCaptureFixture
) -> None:
    judge.start()
    changed = servers[1]
    changed.behave = lambda body, number: changed.models.__setitem__(0, {"id": "m", "root": "/weights/other"}) or LOST
    with caplog.at_level(logging.WARNING):
        assert rated(judge.rate(QUESTIONS)) == GIVEN
    assert len(changed.bodies) <= 4  # what was under way when it changed
    (line,) = [record.message for record in caplog.records if "other" in record.message]
    assert f"{changed.url} serves 'm' from /weights/other" in line
    assert "the others serve 'm' from /weights/m" in line


def test_a_run_begins_with_servers_that_agree(
    servers: list[Server], judge: ServerJudge, folder: str, caplog: pytest.LogCaptureFixture
) -> None:
    servers[2].stop()
    with caplog.at_level(logging.WARNING):
        judge.start()
    assert f"{servers[2].url}: no list of models with 'm'" in caplog.text
    servers[1].models = [{"id": "m", "root": "/weights/m", "max_model_len": 512}]
    apart = ServerJudge(urls(servers), "m", folder)
    said = rf"{servers[0].url} serves 'm' from /weights/m, and {servers[1].url} serves 'm' .* up to 512 tokens"
    for use in (apart.start, lambda: apart.rate(QUESTIONS)):
        with pytest.raises(ValueError, match=said):
            use()
    assert sum(len(server.bodies) for server in servers) == 1  # the first start's calibration
    with pytest.raises(RuntimeError, match=r"models does not list the judge's model 'n'"):
        ServerJudge(urls(servers), "n", folder).start()


def test_the_name_and_what_is_remembered_do_not_depend_on_who_answered(
    servers: list[Server], judge: ServerJudge, folder: str, tmp_path: Path
) -> None:
    alone = ServerJudge(servers[2].url, "m", folder)
    assert judge.name == ServerJudge(urls(servers[::-1]), "m", folder).name == alone.name
    cached = CachedJudge(judge, tmp_path / "ratings.sqlite")
    assert rated(cached.rate(QUESTIONS)) == GIVEN
    again = CachedJudge(alone, tmp_path / "ratings.sqlite")
    assert rated(again.rate(QUESTIONS)) == GIVEN
    assert (again.hits, again.misses) == (COUNT, 0)


@pytest.mark.parametrize("trouble", [500, b"no JSON", 429, 503, 404], ids=str)
def test_a_server_that_fails_on_everything_costs_no_answer(
    servers: list[Server], judge: ServerJudge, trouble: Any
) -> None:
    broken = servers[0]
    broken.behave = lambda body, number: trouble
    for server in servers[1:]:
        server.delay = lambda body: 0.01
    assert rated(judge.rate(QUESTIONS)) == GIVEN
    assert Counter(asked(servers[1]) + asked(servers[2])) == Counter(f"{number:03}" for number in range(COUNT))
    assert len(broken.bodies) < COUNT


def test_a_question_that_breaks_every_server_fails_alone(servers: list[Server], judge: ServerJudge) -> None:
    for server in servers:
        server.behave = lambda body, number: LOST if "number 007" in text_of(body) else None
    answers = judge.rate(QUESTIONS)
    assert isinstance(answers[7], Failure)
    assert answers[7].status is Status.ERROR
    assert f"the last of {ATTEMPTS} times" in answers[7].message
    assert rated(answers[:7] + answers[8:]) == GIVEN[:7] + GIVEN[8:]
    assert sum(asked(server).count("007") for server in servers) == ATTEMPTS


def test_what_hangs_at_one_server_is_answered_by_another(servers: list[Server], folder: str) -> None:
    judge = ServerJudge(urls(servers), "m", folder, deadline=60.0, concurrency=4, read_timeout=0.5)
    servers[1].hang = lambda body: True
    assert rated(judge.rate(QUESTIONS)) == GIVEN
    elsewhere = asked(servers[0]) + asked(servers[2])
    assert Counter(elsewhere) == Counter(f"{number:03}" for number in range(COUNT))


def test_when_all_are_down_what_is_left_fails_at_the_deadline(servers: list[Server], folder: str) -> None:
    judge = ServerJudge(urls(servers), "m", folder, deadline=2.0, concurrency=4)
    for server in servers:
        server.behave = ends_after(server, 5)
    start = time.monotonic()
    answers = judge.rate(QUESTIONS)
    assert 2.0 <= time.monotonic() - start < SOON
    late = [answer for answer in answers if isinstance(answer, Failure)]
    assert COUNT - 15 <= len(late) < COUNT
    assert {answer.status for answer in late} == {Status.TIMEOUT}
    for word in (*(server.url for server in servers), "within 2 s; the last trouble: http"):
        assert word in late[0].message
    assert rated([answer for answer in answers if isinstance(answer, Rating)])
    assert judge.usage.timeouts == len(late)


def test_when_all_refuse_nothing_is_waited_for(servers: list[Server], judge: ServerJudge) -> None:
    for server in servers:
        server.behave = lambda body, number: 401
    start = time.monotonic()
    answers = judge.rate(QUESTIONS)
    assert time.monotonic() - start < SOON
    assert {answer.status for answer in answers if isinstance(answer, Failure)} == {Status.ERROR}
    assert sum(len(server.bodies) for server in servers) <= 12
    assert len(answers) == COUNT


def test_settings(servers: list[Server], judge: ServerJudge, folder: str) -> None:
    named = load_judge(f"server:{urls(servers[:2])}#m", tokenizer=folder, deadline=7.0)
    assert isinstance(named, ServerJudge)
    assert isinstance(named.endpoint, Pool)
    assert [member.endpoint.url for member in named.endpoint.members] == [server.url for server in servers[:2]]
    assert rated(named.rate(QUESTIONS[:3])) == GIVEN[:3]
    copy = pickle.loads(pickle.dumps(judge))
    assert rated(copy.rate(QUESTIONS[:9])) == GIVEN[:9]
    with pytest.raises(ValueError, match="is there twice"):
        ServerJudge(f"{servers[0].url},{servers[0].url}/v1", "m")
    with pytest.raises(ValueError, match=r"a spawned server listens on 127.0.0.1 only, not 'http://127.0.0.1:1,http"):
        ServerJudge("http://127.0.0.1:1,http://127.0.0.1:2", "m", spawn=True)
    with pytest.raises(ValueError, match="does not begin with http"):
        ServerJudge(f"{servers[0].url},", "m")


def test_within_a_with_all_calls_share_one_deadline(servers: list[Server], folder: str) -> None:
    judge = ServerJudge(urls(servers), "m", folder, deadline=50.0)
    with judge:
        time.sleep(0.2)
        left = judge.left()
        assert left < 50.0
    with judge:
        assert left < judge.left()
