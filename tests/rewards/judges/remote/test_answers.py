"""A server's answers: values, refusals, busy servers, how to ask, and where no key may go."""

import json
import logging
import math
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from experiments.field.servers import outcome
from spanreward.rewards.base.verdict import Status
from spanreward.rewards.files import http_client
from spanreward.rewards.files.http_client import Server as ServerUrl
from spanreward.rewards.judges import Failure, Question, Rating
from spanreward.rewards.judges.by_name import names_of_members
from spanreward.rewards.judges.remote.answer import (
    Busy,
    Refused,
    ServerAnswer,
    read_models,
    read_server_answer,
)
from spanreward.rewards.judges.remote.chat_judge import ChatJudge
from spanreward.rewards.judges.remote.server_judge import ServerJudge
from tests.support.fakes import asked
from tests.support.server import Server

SECRET = "sk-very-secret-9"


def give(entry: object) -> Question:
    return asked(f"give {entry}")[0]


def refusing(
    status: int, said: Any, refuses: Callable[[dict], bool] = lambda body: True
) -> Callable[[dict, int], Any]:
    content = said if isinstance(said, bytes) else json.dumps(said).encode()
    return lambda body, number: (status, {}, content) if refuses(body) else None


def answered(server: Server) -> Any:
    return ChatJudge(server.url, "m", deadline=20.0).rate([give(4)])[0]


def error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


LOGIN = {"status_code": 1004, "status_msg": "login fail"}
ODD = {"detail": [{"loc": ["body", "n"], "msg": "odd"}]}
RAW = {"raw": '{"error": {"message": "inner"}}'}
WHO = "Who are you and what do you want from this server?"
ADVISED = ("bad token", "Forbidden", "", WHO)
REFUSED: list[tuple[int, Any, str, str]] = [
    (200, error("The account is empty", code=402), "The account is empty", "'m' (402)"),
    (200, {"error": "no such key"}, "no such key", "with 200"),
    (200, {"detail": "Not authenticated"}, "Not authenticated", "with 200"),
    (200, error("bad token", code="401"), "bad token", "'m' (401)"),
    (200, {"base_resp": LOGIN}, "login fail", "with 200"),
    (400, b"the prompt is too long", "too long", "with 400"),
    (400, error("outer", metadata=RAW), "inner; outer", "with 400"),
    (400, [error("first of a list", code=400)], "first of a list", "with 400"),
    (413, b"<html><style>a{}</style><h1>Too   Large</h1></html>", "413: Too Large", ""),
    (413, b"<SCRIPT x>if (a < b) {}</script ><h1>Too   Large</h1>", "413: Too Large", ""),
    (422, {"object": "error", "message": ODD}, "n: odd", "with 422"),
    (429, error("Look at your plan", type="insufficient_quota"), "Look at your plan", "'m' (402)"),
    (429, error("Insufficient balance, recharge", code="1113"), "recharge", "'m' (402)"),
]
REFUSED += [
    (status, error(words), words, f"'m' ({status})")
    for status, words in (
        (403, "You may not request logprobs from this model"),
        (403, "The text was flagged by a filter for violence"),
        (403, "Forbidden"),
        (403, "This token has no access to the model any more"),
        (404, "No provider here can handle the parameters that you asked for"),
        (404, "The model 'm' was not found on this machine"),
        (404, ""),
        (401, WHO),
        (402, "Please pay for what you use from this server first"),
    )
]
QUOTA = "You exceeded your current quota, see billing details"
BUSY: list[tuple[int, Any, bool, str]] = [
    (200, error("upstream went away", code=502), True, "502: upstream"),
    (
        200,
        {"choices": [{**error("lost", code=503), "message": {"content": ""}}]},
        True,
        "503: lost",
    ),
    (200, error("later please", type="overloaded_error"), True, "later"),
    (200, error("a minute's worth", status="RESOURCE_EXHAUSTED"), True, "minute"),
    (200, {"error": "internal error"}, False, "internal"),
    (200, b'{"choices": [', False, "form: {"),
    (200, b'{"choices": []}', False, "form: {"),
    (200, b"[1]", False, "form: [1]"),
    (200, b'data: {"choices": [{"delta": {"content": "4"}}]}\n\n', False, "form: data: {"),
    (200, b"<html><head><title>Sign in</title></head></html>", False, "form: Sign in"),
    (200, b"upstream is warming up", False, "form: upstream is warming up"),
    (200, b"", False, "but empty"),
    (409, {"message": "the model is being replaced"}, False, "409: the model"),
    (429, [error(QUOTA, code=429)], True, QUOTA),
    (500, b"oops", False, "500: oops"),
    (503, error("Loading model", code=503), True, "503: Loading"),
    (529, b"", True, "529"),
]


@pytest.mark.parametrize(("status", "said", "words", "who"), REFUSED)
def test_a_refusal_has_its_own_words_and_advice_only_where_it_helps(
    server: Server, status: int, said: Any, words: str, who: str
) -> None:
    server.behave = refusing(status, said)
    judge = ChatJudge(server.url, "m", deadline=20.0, concurrency=1)
    answer, other = judge.rate([give(4), give(5)])
    message = answer.message
    assert (answer, answer.status, judge.usage.retries) == (other, Status.ERROR, 0)
    assert [part for part in (words, who) if part not in message] == []
    assert (http_client.KEY_VARIABLE in message or "/v1/models" in message) is (words in ADVISED)
    # a key, a quota or a model is refused once for all; some forms are tried without extra fields
    questions = 1 if who.endswith(")") else 2
    assert len(server.bodies) <= questions * (1 if status in (200, 413, 429) else 2)


@pytest.mark.parametrize(("status", "said", "patient", "words"), BUSY)
def test_a_busy_server_is_asked_anew(
    server: Server, status: int, said: Any, patient: bool, words: str
) -> None:
    content = refusing(status, said)({}, 0)[2]
    assert isinstance(found := read_server_answer(status, content), Busy)
    assert (found.patient, found.why.count(words)) == (patient, 1)
    server.behave = lambda body, number: (status, {}, content) if number < 2 else None
    assert isinstance(answered(server), Rating)
    assert len(server.bodies) == 3


def good(**fields: Any) -> bytes:
    return json.dumps({"choices": [{"text": "4"}], **fields}).encode()


def usage(prompt: Any, cached: Any) -> bytes:
    details = {"cached_tokens": cached}
    return good(usage={"prompt_tokens": prompt, "prompt_tokens_details": details})


@pytest.mark.parametrize(
    ("content", "counts"),
    [
        *((before + good(), (0, 0)) for before in (b"\xef\xbb\xbf", b"\n: wait\n\n", b"  \r\n")),
        *((good(error=none), (0, 0)) for none in (None, "", {}, {"code": 0, "message": ""})),
        *((good(usage=none), (0, 0)) for none in ([None], 7, None)),
        *((usage(count, count), (0, 0)) for count in (None, "many", -7, 10**400, 1 << 40)),
        (usage(3, [1]), (3, 0)),
        (usage(3, 1), (3, 1)),
    ],
)
def test_a_good_answer_is_read_whatever_is_odd_beside_it(
    content: bytes, counts: tuple[int, int]
) -> None:
    answer = read_server_answer(200, content)
    assert isinstance(answer, ServerAnswer)
    assert answer.text == "4"
    assert (answer.prompt_tokens, answer.cached_tokens) == counts


KEYS = st.sampled_from(
    ["error", "message", "code", "detail", "choices", "logprobs", "content", "data", "id", "loc"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
).map(lambda said: json.dumps(said).encode("utf-8", "replace"))
BYTES = st.binary(max_size=200) | st.text(max_size=100).map(str.encode)


@settings(max_examples=600, deadline=None)
@given(st.sampled_from([200, 204, 302, 400, 404, 429, 500]) | st.integers(0, 700), JSON | BYTES)
def test_any_bytes_are_read(status: int, content: bytes) -> None:
    assert isinstance(read_server_answer(status, content), ServerAnswer | Refused | Busy)
    read_models(content)


Test = Callable[[dict], bool]


def most(count: int) -> tuple[Test, Test]:
    """Refuses more log-probabilities, and is asked for as many."""
    return lambda body: body["top_logprobs"] > count, lambda body: body["top_logprobs"] == count


def without(name: str, kept: str = "model") -> tuple[Test, Test]:
    """Refuses a field, and is asked without it, but with the kept one."""
    return lambda body: name in body, lambda body: name not in body and kept in body


TEMPLATE = "chat_template_kwargs"
COMPLETION = "'max_tokens' is unsupported with this model. Use 'max_completion_tokens' instead."
LEARNT: list[tuple[int, str, Test, Test]] = [
    (400, "top_logprobs must be between 0 and 5", *most(5)),
    (400, "Cannot request more than 8 logprobs.", *most(8)),
    (422, "20 is greater than the maximum of 7 - 'top_logprobs'", *most(7)),
    (400, COMPLETION, lambda b: "max_tokens" in b, lambda b: b["max_completion_tokens"] == 1),
    (400, "'temperature' does not support 0.0", *without("temperature")),
    (404, "No endpoint here takes chat_template_kwargs", *without(TEMPLATE, "temperature")),
    (422, "Extra inputs are not permitted", *without(TEMPLATE, "temperature")),
]


def numbered(count: int) -> list[Question]:
    return asked(*(f"{number}: give 4" for number in range(count)))


@pytest.mark.parametrize(("status", "words", "refuses", "mended"), LEARNT)
def test_how_to_ask_is_learnt_once(
    server: Server, status: int, words: str, refuses: Any, mended: Any, caplog: Any
) -> None:
    server.behave = refusing(status, error(words), refuses)
    judge = ChatJudge(server.url, "m", concurrency=8)
    with caplog.at_level(logging.WARNING):
        answers = judge.rate(numbered(40)) + judge.rate([give(5)])
    assert all(isinstance(one, Rating) for one in answers), answers[0]
    assert mended(server.bodies[-1])
    assert len(server.bodies) <= 41 + 8 + 1  # at most what was under way is refused
    assert caplog.text.count("in another form") == 1
    assert judge.usage.retries == 0


def test_several_things_are_learnt_one_after_another_by_one_question(server: Server) -> None:
    unknown = {"temperature": "fixed", "max_tokens": "unknown, see max_completion_tokens"}

    def behave(body: dict, number: int) -> Any:
        for name, words in unknown.items():
            if name in body:
                said = error(f"{name}: {words}", param=name)
                return 400, {}, json.dumps(said).encode()
        return (400, {}, b"logprobs at most 5") if body["top_logprobs"] > 5 else None

    server.behave = behave
    answers = ChatJudge(server.url, "m", concurrency=8).rate(numbered(24))
    assert all(isinstance(one, Rating) for one in answers)
    assert len(server.bodies) <= 24 + 8 + 3


def test_what_did_not_help_is_not_kept(server: Server, folder: Path) -> None:
    words = b"'max_tokens' or 'max_completion_tokens' is too large: the context is 40 tokens; temperature is fine"
    server.behave = lambda body, number: (400, {}, words) if number < 9 else None
    judge = ServerJudge(server.url, "m", folder)
    assert isinstance(judge.rate([give(4)])[0], Failure)
    server.behave = lambda body, number: None
    assert isinstance(judge.rate([give(5)])[0], Rating)
    assert (server.bodies[-1]["max_tokens"], server.bodies[-1]["temperature"]) == (1, 0.0)


def tops(*pairs: tuple[str, float | None]) -> Callable[[dict, int], Any]:
    listed = [{"token": token, "logprob": value, "bytes": None} for token, value in pairs]
    content = [{"token": "4", "logprob": -9999.0, "bytes": [52], "top_logprobs": listed}]
    return lambda body, number: (
        lambda answer: answer["choices"][0].update(logprobs={"content": content})
    )


def test_ids_with_one_spelling_are_added_up_and_null_is_nothing(server: Server) -> None:
    half = [("4", math.log(0.5)), ("5", math.log(0.3)), ("4", math.log(0.2))]
    server.behave = tops(*half, ("3", None), ("2", -9999.0))
    expected = {"1": 0, "2": 0, "3": 0, "4": 0.7, "5": 0.3}
    assert answered(server).probabilities == pytest.approx(expected)
    server.behave = tops(("4", math.log(0.9)), ("4", math.log(0.8)))
    assert "no distribution" in answered(server).message
    server.behave = tops(("4", None), ("5", None))
    assert "0.0%" in answered(server).message


def test_five_tokens_without_the_scale_are_no_rating(server: Server) -> None:
    """What five tokens do not show counts as 0; below min_mass there is no rating."""
    rest = [(token, math.log(0.24)) for token in ("The", "It", "I", "A")]
    server.behave = tops(*rest, ("4", math.log(0.04)))
    assert isinstance(answered(server), Failure)
    server.behave = tops(*rest[:3], ("4", math.log(0.2)), ("5", math.log(0.05)))
    assert answered(server).mass == pytest.approx(0.25)


MODELS: list[Any] = [
    [{"id": "m"}],
    {"models": [{"name": "m", "model": "m"}]},
    {"data": [{"name": "other"}, None, 3, {"id": 7}, {"id": "m", "max_model_len": "many"}]},
    ["other", "m"],
]


@pytest.mark.parametrize("listed", MODELS)
def test_lists_of_models(listed: Any) -> None:
    assert read_models(json.dumps(listed).encode())["m"].max_model_len is None


@pytest.mark.parametrize(
    ("root", "url"),
    [
        ("/openai/deployments/x", "/openai/deployments/x"),
        *(("/api/v3", "/api/v3/"), ("/v1beta/openai", "/v1beta/openai/")),
        *(("/x/v1", "/x"), ("/x/v1", "/x/v1/"), ("/v1", ""), ("/v1", "/v1/chat/completions")),
    ],
)
@pytest.mark.parametrize("models", [404, 405, 401, 200])
def test_a_server_without_a_list_of_models_under_any_path(
    server: Server, root: str, url: str, models: int
) -> None:
    server.models = models

    def behave(body: dict, number: int) -> Any:
        known = server.paths[number].startswith(f"{root}/chat/")
        return None if known else (404, {}, b'{"detail": "Not Found"}')

    server.behave = behave
    judge = ChatJudge(server.url + url, "m", deadline=20.0)
    judge.start()
    assert isinstance(judge.rate([give(4)])[0], Rating)
    assert judge.name == judge.name


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost."])
def test_no_loopback_has_a_proxy(server: Server, monkeypatch: Any, host: str) -> None:
    proxy = Server()
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    monkeypatch.delenv("NO_PROXY", raising=False)
    ChatJudge(f"http://{host}:{server.port}", "m", deadline=0.5).rate([give(4)])
    assert proxy.bodies == []
    proxy.stop()


HERE = "127.0.0.1 127.0.0.2 127.255.255.254 0.0.0.0 localhost LOCALHOST localhost. [::1] [::]"
ELSEWHERE = "10.0.0.1 example.org localhost.example.org [fe80::1] 128.0.0.1 127.0.0.1.example.org"


@pytest.mark.parametrize("host", [*HERE.split(), *ELSEWHERE.split()])
def test_what_is_this_machine(host: str) -> None:
    assert ServerUrl.checked(f"http://{host}:8000", "it").here is (host in HERE.split())


def test_a_redirect_is_named_and_gets_no_key(server: Server, monkeypatch: Any) -> None:
    monkeypatch.setenv(http_client.KEY_VARIABLE, SECRET)
    target = Server()
    where = f"http://me:{SECRET}@127.0.0.1:{target.port}/v1/chat?api_key={SECRET}"
    server.behave = lambda body, number: (307, {"Location": where})
    message = answered(server).message
    assert f"127.0.0.1:{target.port}/v1/chat" in message
    assert SECRET not in message
    assert (target.bodies, len(server.bodies)) == ([], 1)
    target.stop()


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[tuple[Server, Path]]:
    """A server behind TLS, and its self-signed certificate."""
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    made = f"openssl req -x509 -newkey rsa:2048 -nodes -keyout {key} -out {certificate} -days 2"
    named = ["-subj", "/CN=here", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*made.split(), *named], check=True, capture_output=True)
    server = Server()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.http.socket = context.wrap_socket(server.http.socket, server_side=True)
    server.url = server.url.replace("http:", "https:")
    yield server, certificate
    server.stop()


def test_a_certificate_is_trusted_by_ssl_cert_file_or_refused_at_once(
    secure: tuple[Server, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server, certificate = secure
    start = time.monotonic()
    message = ChatJudge(server.url, "m", deadline=60.0).rate([give(4)])[0].message
    assert "not trusted (self" in message
    assert "SSL_CERT_FILE" in message
    with pytest.raises(RuntimeError, match="SSL_CERT_FILE"):
        ChatJudge(server.url, "m").start()
    assert time.monotonic() - start < 20
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    ChatJudge(server.url, "m").start()
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    with pytest.raises(ValueError, match="SSL_CERT_DIR has no certificates"):
        ChatJudge(server.url, "m")


@pytest.mark.parametrize(
    "judges",
    [
        *("encoder:/data/a+b", "server:http://h/v1#org/a+b", "encoder:c++/judge"),
        *("vllm:org/a+matching", "match encoder:/data/a+b match", "match mtch:x"),
        *("match mine.py:Own cascade", "match vllm:m server:http://h:1#m"),
    ],
)
def test_a_plus_in_a_folder_is_no_jury(judges: str) -> None:
    assert names_of_members(judges.replace(" ", "+")) == judges.split()


@pytest.mark.parametrize(
    ("case", "comes_out"),
    [
        ({"models": ["plain"]}, "starts: Served(id='plain'"),
        ({"models": {"models": [{"name": "plain"}]}}, "starts: Served(id='plain'"),
        (
            {"status": 400, "body": {"error": "top_logprobs: less than or equal to 5"}},
            "mean 4.11, mass 0.98 (2 requests)",
        ),
    ],
)
def test_a_case_from_the_field(case: dict[str, Any], comes_out: str) -> None:
    assert outcome(case).startswith(comes_out)


def test_a_chosen_token_that_the_list_leaves_out_counts() -> None:
    listed = [{"token": "4", "logprob": -2.8}, {"token": "3", "logprob": -3.5}]
    chosen = {"token": "5", "logprob": -0.1}
    for top in (listed, [chosen, *listed]):
        body = {"choices": [{"logprobs": {"content": [{**chosen, "top_logprobs": top}]}}]}
        answer = read_server_answer(200, json.dumps(body).encode())
        assert isinstance(answer, ServerAnswer)
        assert sorted(answer.first) == [("3", -3.5), ("4", -2.8), ("5", -0.1)]
