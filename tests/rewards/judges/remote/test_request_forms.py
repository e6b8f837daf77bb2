"""Ratings from servers in six manners, and 500 mutated answers: nothing is made up or raised."""

import json
import logging
import math
import random
from dataclasses import replace
from typing import Any

import pytest
from PIL import Image

from spanreward import Failure, Rating, Status
from spanreward.rewards.files import http_client
from spanreward.rewards.judges.remote import client
from spanreward.rewards.judges.remote.chat_judge import ChatJudge
from spanreward.rewards.judges.remote.remote_judge import THINKING_TOKENS, WRITTEN_TOKENS
from tests.support.fakes import asked
from tests.support.server import Server
from tests.support.short_pauses import shorten_pauses

Body = dict[str, Any]
TOP = (("4", 0.6), ("5", 0.3), ("3", 0.05), ("four", 0.03))


def listed(count: int) -> list[dict[str, Any]]:
    tops = ((token, math.log(share), list(token.encode())) for token, share in TOP[:count])
    return [dict(zip(("token", "logprob", "bytes"), top, strict=True)) for top in tops]


def answer(content: str | None, **fields: Any) -> Body:
    message = {"role": "assistant", "content": content, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop", **fields}
    usage = {"prompt_tokens": 40, "completion_tokens": 1, "total_tokens": 41}
    return {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice], "usage": usage}


def says(server: Server, said: Body | bytes) -> None:
    content = said if isinstance(said, bytes) else json.dumps(said).encode()
    server.behave = lambda body, number: (200, {}, content)


def with_logprobs(body: Body, text: str, most: int) -> Body:
    if not body.get("logprobs"):
        return answer(text)
    chosen = listed(1)[0]
    content = [{**chosen, "top_logprobs": listed(min(most, body.get("top_logprobs", 0)))}]
    return answer(text, logprobs={"content": content, "refusal": None}, finish_reason="length")


def openai(body: Body, text: str) -> tuple[int, bytes]:
    if "chat_template_kwargs" in body or "repetition_penalty" in body:
        words = "Unrecognized request argument supplied"
        return 400, json.dumps({"error": {"message": words, "code": None}}).encode()
    return 200, json.dumps(with_logprobs(body, text, 20)).encode()


def openai_thinking(body: Body, text: str) -> tuple[int, bytes]:
    """Another name for the length, no temperature, no log-probabilities, thoughts at first."""
    length = body.get("max_completion_tokens", 99)
    extra = "chat_template_kwargs" in body or "repetition_penalty" in body
    for refused, status, words in (
        ("max_tokens" in body, 400, "'max_tokens' is not supported. Use 'max_completion_tokens'."),
        ("temperature" in body, 400, "Unsupported value: 'temperature' does not support 0.0"),
        ("logprobs" in body, 403, "You are not allowed to request logprobs from this model"),
        (length < 16, 400, "Invalid 'max_output_tokens': Expected a value >= 16, but got 1"),
        (extra, 400, "Unknown parameter in the request"),
    ):
        if refused:
            return status, json.dumps({"error": {"message": words}}).encode()
    if length < 1000:
        return 200, json.dumps(answer("", finish_reason="length")).encode()
    return 200, json.dumps(answer(text)).encode()


def gemini(body: Body, text: str) -> tuple[int, bytes]:
    if body.get("logprobs"):
        words = "Logprobs is not enabled for models/m"
        error = {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}
        return 400, json.dumps([{"error": error}]).encode()
    said = answer(text)
    del said["choices"][0]["logprobs"]
    return 200, json.dumps(said).encode()


def anthropic(body: Body, text: str) -> tuple[int, bytes]:
    """Its OpenAI layer ignores the fields that it does not have."""
    return 200, json.dumps(answer(text)).encode()


def ollama(body: Body, text: str) -> tuple[int, bytes]:
    return 200, json.dumps(with_logprobs(body, text, 3)).encode()


def openrouter(body: Body, text: str) -> tuple[int, bytes]:
    said = with_logprobs(body, text, 5)
    said["provider"] = "somebody"
    said["choices"][0]["message"]["reasoning"] = None
    return 200, b": OPENROUTER PROCESSING\n\n\n" + json.dumps(said).encode()


KINDS = (openai, openai_thinking, gemini, anthropic, ollama, openrouter)
MANNERS = {kind.__name__: kind for kind in KINDS}
GIVE_LOGPROBS = ("openai", "ollama", "openrouter")


SECRET = "sk-very-secret-9"
QUESTIONS = asked(*(f"Rate it, {n}." for n in range(12)))


@pytest.fixture(autouse=True)
def with_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_pauses(monkeypatch, 0.001)
    monkeypatch.setenv(http_client.KEY_VARIABLE, SECRET)


def speak(server: Server, manner: str, text: str = "4") -> None:
    def behave(body: dict[str, Any], number: int) -> Any:
        status, content = MANNERS[manner](body, text)
        return status, {}, content

    server.behave = behave


@pytest.mark.parametrize("manner", MANNERS)
def test_each_manner_rates(server: Server, manner: str, caplog: pytest.LogCaptureFixture) -> None:
    speak(server, manner)
    judge = ChatJudge(server.url, "m", deadline=60.0)
    with caplog.at_level(logging.WARNING):
        ratings = judge.rate(QUESTIONS)
    assert all(isinstance(rating, Rating) for rating in ratings), ratings[0]
    first = ratings[0]
    if manner in GIVE_LOGPROBS:
        assert (first.samples, judge.usage.written) == (0, 0)
        assert first.mean == pytest.approx((0.6 * 4 + 0.3 * 5 + 0.05 * 3) / 0.95)
        assert "no distribution" not in caplog.text
    else:
        assert (first.samples, judge.usage.written) == (1, 12)
        assert first.mean == 4
        assert "12 ratings" in caplog.text
        # the next call asks in writing at once, in the manner that is known
        before = len(server.bodies)
        judge.rate([*QUESTIONS[:3], *asked("Another.")])
        assert len(server.bodies) == before + 4
    assert judge.usage.retries == 0
    start = ChatJudge(server.url, "m", deadline=60.0)
    start.start()
    pictured = replace(QUESTIONS[0], images=(Image.new("RGB", (4, 4), "red"),))
    assert isinstance(start.rate([pictured])[0], Rating)


def test_a_thinking_model_gets_more_once(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    speak(server, "openai_thinking", "I think.\nRating: 2")
    judge = ChatJudge(server.url, "m", concurrency=1)
    with caplog.at_level(logging.WARNING):
        (first,) = judge.rate(QUESTIONS[:1])
    assert first.mean == 2
    assert server.bodies[-1]["max_completion_tokens"] == WRITTEN_TOKENS + THINKING_TOKENS
    assert caplog.text.count("tokens without an answer") == 1
    judge.rate(QUESTIONS)
    lengths = [body.get("max_completion_tokens") for body in server.bodies[-11:]]
    assert set(lengths) == {WRITTEN_TOKENS + THINKING_TOKENS}
    only_thoughts = answer("", finish_reason="length")
    only_thoughts["choices"][0]["message"]["reasoning_content"] = "Rating: 5"
    says(server, only_thoughts)
    (silent,) = ChatJudge(server.url, "m").rate(QUESTIONS[:1])
    assert silent.status is Status.UNPARSED
    for words in ("64 and then 4,160 tokens", "finish_reason 'length'", "wrote reasoning"):
        assert words in silent.message


def test_several_samples_are_a_distribution(server: Server) -> None:
    texts = iter(["Rating: 4", "5", "nothing to see", "Rating: 4"] * 2)
    server.behave = lambda body, number: (200, {}, json.dumps(answer(next(texts))).encode())
    judge = ChatJudge(server.url, "m", samples=4, concurrency=1)
    (rating,) = judge.rate(QUESTIONS[:1])
    assert rating.probabilities == pytest.approx({"1": 0, "2": 0, "3": 0, "4": 2 / 3, "5": 1 / 3})
    assert (rating.samples, rating.mass) == (3, 0.75)
    assert [body["temperature"] for body in server.bodies] == [1.0] * 4
    assert "logprobs" not in server.bodies[0]
    assert judge.name != ChatJudge(server.url, "m").name
    said = [json.dumps(answer(text)).encode() for text in ("4", "no idea", "no idea", "no idea")]
    server.behave = lambda body, number: (200, {}, said[number % 4])
    (unread,) = judge.rate(QUESTIONS[1:2])
    assert "'no idea'" in unread.message


def test_what_the_judge_answered_instead_is_said(server: Server) -> None:
    said = answer("Certainly! Here", finish_reason="length")
    token = {"token": "Cert", "logprob": -0.001}
    said["choices"][0]["logprobs"] = {"content": [{**token, "top_logprobs": [token]}]}
    said["choices"][0]["message"]["reasoning"] = "hm"
    says(server, said)
    (failure,) = ChatJudge(server.url, "m").rate(QUESTIONS[:1])
    for words in ("0.0%", "'Certainly! Here'", "finish_reason 'length'", "wrote reasoning"):
        assert words in failure.message


@pytest.mark.parametrize(
    ("sure", "rest", "mean"), [(-0.001, None, 4.0), (-0.001, -9999.0, 4.0), (-0.1, -9999.0, None)]
)
def test_one_real_probability_is_believed_if_it_is_sure(
    server: Server, sure: float, rest: float | None, mean: float | None
) -> None:
    """Exact ids of another question in the batch overwrite all but one log-probability."""
    said = answer("4")
    top: list[Body] = [{"token": "4", "logprob": sure}]
    top += [{"token": entry, "logprob": rest} for entry in "1235"]
    said["choices"][0]["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
    says(server, said)
    (rating,) = ChatJudge(server.url, "m").rate(QUESTIONS[:1])
    if mean is None:
        assert "spoilt" in rating.message
    else:
        assert rating.mean == pytest.approx(mean)


ODD: list[Any] = [None, "", "x", -1, 0, 1e308, True, [], {}, [None], {"a": 1}, "\ud800", SECRET]


def mutated(content: bytes, chance: random.Random) -> bytes:
    """One to three changes of an answer: of its JSON, or of its bytes."""
    said = json.loads(content[content.index(b"{") :])
    for _ in range(chance.randint(1, 3)):
        where: Any = said
        while True:
            keys = list(where) if isinstance(where, dict) else range(len(where))
            if not keys:
                break
            key = chance.choice(list(keys))
            inner = where[key]
            if isinstance(inner, dict | list) and inner and chance.random() < 0.8:
                where = inner
                continue
            change = chance.choice(["odd", "gone", "text"])
            if change == "gone" and isinstance(where, dict):
                del where[key]
            elif change == "text":
                where[key] = chance.choice(["I cannot see 1 picture.", "4/10", "Rate: high", "[4]"])
            else:
                where[key] = chance.choice(ODD)
            break
    changed = json.dumps(said).encode()
    if chance.random() < 0.15:
        changed = changed[: chance.randint(0, len(changed))]
    if chance.random() < 0.1:
        place = chance.randint(0, len(changed))
        changed = changed[:place] + bytes([chance.randint(0, 255)]) + changed[place:]
    return changed


def carries_a_rating(content: bytes) -> bool:
    """Whether a person would find a rating in it, by the fields that all manners share."""
    try:
        (choice, *_) = json.loads(content)["choices"]
    except (ValueError, KeyError, TypeError):
        return False
    if not isinstance(choice, dict):
        return False
    tokens = json.dumps(choice.get("logprobs"))
    message = choice.get("message")
    text = message.get("content") if isinstance(message, dict) else None
    return any(f'"{n}"' in tokens for n in range(1, 6)) or text in ("4", "[4]")


@pytest.mark.parametrize("manner", MANNERS)
def test_mutations(server: Server, manner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """84 of each of the six manners: more than 500 in all."""
    monkeypatch.setattr(client, "MAX_ATTEMPTS", 2)
    chance = random.Random(f"mutations of {manner}")
    contents: dict[str, list[bytes]] = {}  # by the question's text, of each length asked for
    changed: dict[str, bytes] = {}
    plain = MANNERS[manner]

    def behave(body: dict[str, Any], number: int) -> Any:
        status, content = plain(body, "4")
        if status != 200:
            return status, {}, content
        text = body["messages"][0]["content"]
        key = f"{text} {body.get('max_completion_tokens')}"
        if key not in changed:
            changed[key] = mutated(content, chance)
            contents.setdefault(text, []).append(changed[key])
        return 200, {}, changed[key]

    server.behave = behave
    found = 0
    for start in range(0, 84, 12):
        judge = ChatJudge(server.url, "m", deadline=60.0, concurrency=1)  # in one order
        texts = [f"Rate, {number}." for number in range(start, start + 12)]
        ratings = judge.rate(asked(*texts))
        for text, rating in zip(texts, ratings, strict=True):
            if isinstance(rating, Failure):
                assert SECRET not in rating.message
                assert rating.message.isprintable()
                continue
            found += 1
            assert any(map(carries_a_rating, contents[text])), (contents[text], rating)
            assert all(0 <= share <= 1 for share in rating.probabilities.values())
            assert sum(rating.probabilities.values()) == pytest.approx(1.0)
    assert found > 10  # many changes touch nothing that counts
