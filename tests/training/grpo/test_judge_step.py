"""Rewards that wait for servers are asked at once, with the numbers of one after another."""

import json
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, Self

import pytest

from spanreward.rewards import (
    HarmonicReward,
    LaveReward,
    MatchJudge,
    PoshReward,
    RemoteReward,
    Reward,
    Sample,
    Status,
    Verdict,
)
from spanreward.rewards.experimental.jury_judge import JuryJudge
from spanreward.rewards.judges import CachedJudge, Judge, Question
from spanreward.rewards.judges.remote.chat_judge import ChatJudge
from spanreward.rewards.judges.remote.server_judge import ServerJudge
from spanreward.rewards.judges.usage import Usage
from spanreward.rewards.reward.reward import judges_of
from spanreward.training.grpo.judge_metrics import total_usage
from spanreward.training.grpo.judge_step import by_thread, judge_step
from spanreward.training.grpo.recorder import Recorder, awake_judges
from tests.support.fakes import FakeJudge, asked, certain, hashed_rating
from tests.support.served import served
from tests.support.server import SOON, Server, text_of
from tests.support.tiny_trainer import Scored
from tests.support.tokenizer import tokenizer

TIMES = ("seconds", "cpu_seconds", "encode_seconds", "wake_seconds", "sleep_seconds")
PROMPTS = ["Describe the picture."] * 4
TEXTS = ["A red star above a blue square.", "", "A blue square. A dog sits.", "Two green stars."]
COLUMNS: dict[str, Any] = {
    "reference": ["A red star.", "A red star.", None, "Two stars left of a green circle."],
    "context": ["A star and a square.", "A star.", "A square.", "Two stars."],
    "question": ["Which colour?"] * 4,
    "answers": [["red"], ["red"], ["blue"], ["green"]],
}


class Elsewhere(FakeJudge):
    """A judge behind a server of a test's own: `before` is called when it is asked."""

    remote = True

    def __init__(self, before: Callable[[], Any] = lambda: None) -> None:
        super().__init__(lambda prompt: certain(4))
        self.before = before

    def rate_each(self, questions: Sequence[Question], scale: Sequence[str]) -> Any:
        self.before()
        return super().rate_each(questions, scale)


class Here(Elsewhere):
    remote = False


class Asking(Reward):
    """One question about each completion, which is its text."""

    def __init__(self, *judges: Judge, name: str = "asking") -> None:
        super().__init__(name)
        self.judges = judges

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        questions = asked(*[sample.completion for sample in samples])
        verdicts = []
        for judge in self.judges:
            ratings = judge.rate(questions)
            verdicts = [Verdict((rating.mean - 1) / 4) for rating in ratings]
        return verdicts


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with the small tokenizer."""
    folder = tmp_path_factory.mktemp("tokenizer")
    tokenizer().save_pretrained(folder)
    return str(folder)


def step(*rewards: Reward) -> list[list[Verdict]]:
    """Judges two completions, and returns each reward's verdicts."""
    recorders = [Recorder(reward) for reward in rewards]
    judge_step(recorders, PROMPTS[:2], ["A red star.", "A dog."], lambda *_: None, {})
    return [recorder.verdicts for recorder in recorders]


# The numbers.


def rated_by_hash(body: dict, number: int) -> bytes:
    """An answer in which every question has a rating of its own."""
    rating = hashed_rating(text_of(body))
    logprobs = {entry: math.log(p) for entry, p in rating.probabilities.items()}
    listed = [{"token": entry, "logprob": logprob} for entry, logprob in logprobs.items()]
    choice = {"message": {"content": "4"}, "logprobs": {"content": [{"top_logprobs": listed}]}}
    usage = {"prompt_tokens": len(text_of(body)), "completion_tokens": 1}
    return json.dumps({"choices": [choice], "usage": usage}).encode()


def uneven(body: dict) -> float:
    """Seconds, so that answers of several rewards come in turns."""
    return sha256(text_of(body).encode()).digest()[0] / 25_600


def all_kinds(url: str, reward_url: str, folder: Path) -> list[Reward]:
    """Judges here and behind a server; some share a judge, a cache's file, or the parser."""
    shared = ChatJudge(url, "m")
    file = folder / "ratings.sqlite"
    return [
        PoshReward(shared, name="posh"),
        PoshReward(MatchJudge(), name="by words"),
        LaveReward(ChatJudge(url, "m"), rationale=False),
        PoshReward(CachedJudge(ChatJudge(url, "m"), file), name="cached"),
        RemoteReward(reward_url),
        PoshReward(CachedJudge(ChatJudge(url, "m"), file), name="cached again"),
        HarmonicReward(ChatJudge(url, "m"), task="vqa", evidence="context"),
        PoshReward(shared, score="precision", mode="published", name="published"),
        Scored(lambda sample: len(sample.completion) / 100),
    ]


def one_after_another(recorders: list[Recorder], log_metric: Any) -> Usage:
    judges = judges_of(recorder.reward for recorder in recorders)
    before = total_usage(judges)
    for recorder in recorders:
        with awake_judges(recorder.reward.judges_to_wake) as asleep:
            recorder.judge(PROMPTS, TEXTS, asleep, log_metric, **COLUMNS)
    return total_usage(judges).since(before)


def at_the_same_time(recorders: list[Recorder], log_metric: Any) -> Usage:
    return judge_step(recorders, PROMPTS, TEXTS, log_metric, COLUMNS)


def test_every_number_is_that_of_asking_one_after_another(server: Server, tmp_path: Path) -> None:
    server.behave, server.delay = rated_by_hash, uneven
    before, after = tmp_path / "before", tmp_path / "after"
    with served(PoshReward(MatchJudge())) as (reward_url, _):
        for _ in range(2):  # the caches know nothing, and then all
            expected = found_by(one_after_another, all_kinds(server.url, reward_url, before))
            assert found_by(at_the_same_time, all_kinds(server.url, reward_url, after)) == expected
            assert len(set(map(str, expected["scores"]))) == 6  # the rewards differ
            assert any(verdict.spans for verdict in expected["verdicts"][0])
            statuses = {verdict.status for verdict in chain(*expected["verdicts"])}
            assert statuses == {Status.OK, Status.EMPTY, Status.NOT_APPLICABLE}
    assert expected["usage"].cached == 44


def found_by(ask: Any, rewards: Sequence[Reward]) -> dict[str, Any]:
    """Returns everything that a step gives, but seconds."""
    recorders = [Recorder(reward) for reward in rewards]
    logged: dict[str, float] = {}
    usage = ask(recorders, logged.__setitem__)
    return {
        "usage": replace(usage, **dict.fromkeys(TIMES, 0.0)),
        "by judge": [count_of(judge) for judge in judges_of(rewards)],
        "logged": list(logged.items()),  # and their order
        "samples": [recorder.samples for recorder in recorders],
        "verdicts": [recorder.verdicts for recorder in recorders],
        "scores": [recorder(PROMPTS, TEXTS, **COLUMNS) for recorder in recorders],
    }


def count_of(judge: Judge) -> tuple[int, int, int]:
    return judge.usage.questions, judge.usage.cached, judge.usage.prompt_tokens


# What is asked at the same time.


@pytest.mark.parametrize("kind", ["two chats of one server", "token ids of two servers"])
def test_two_servers_are_asked_at_once(kind: str, server: Server, folder: str) -> None:
    """Each judge has one question under way at most. Its server answers when both have."""
    other = Server()
    both = threading.Barrier(2)

    def delay(body: dict) -> float:
        both.wait(SOON)
        return 0.0

    server.delay = other.delay = delay
    if kind == "two chats of one server":
        judges: list[Judge] = [ChatJudge(server.url, name, concurrency=1) for name in "mn"]
    else:
        judges = [ServerJudge(url, "m", folder, concurrency=1) for url in (server.url, other.url)]
    verdicts = step(*map(Asking, judges))
    other.stop()
    assert verdicts == [[Verdict(0.25)] * 2] * 2


def test_a_judge_here_is_asked_while_a_server_is() -> None:
    here_is_asked = threading.Event()
    away = Elsewhere(lambda: here_is_asked.wait(SOON) or pytest.fail("the judge here is not asked"))
    verdicts = step(Asking(away), Asking(Here(here_is_asked.set)))
    assert verdicts == [[Verdict(0.75)] * 2] * 2


class Noted(MatchJudge):
    """Notes when its outermost `with` begins and ends, in a list that several share."""

    def __init__(self, letter: str, notes: list[str]) -> None:
        super().__init__()
        self.letter, self.notes, self.depth = letter, notes, 0

    def __enter__(self) -> Self:
        self.depth += 1
        if self.depth == 1:
            self.notes.append(f"{self.letter} wakes")
        return self

    def __exit__(self, *args: Any) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.notes.append(f"{self.letter} sleeps")


def test_judges_of_a_step_are_awake_one_after_another_and_each_once() -> None:
    """Of a judge of 30 GB and one of 18 GB a GPU must hold the larger, and not both."""
    notes: list[str] = []
    large, small = Noted("large", notes), Noted("small", notes)
    lave = LaveReward(small, rationale=False)
    rewards = [PoshReward(large), lave, PoshReward(large), Scored(lambda _: 1.0)]
    recorders = [Recorder(reward) for reward in rewards]
    columns = {name: values[:1] for name, values in COLUMNS.items()}
    judge_step(recorders, PROMPTS[:1], ["A red star."], lambda *_: None, columns)
    assert notes == ["large wakes", "large sleeps", "small wakes", "small sleeps"]
    assert [recorder.verdicts[0].status for recorder in recorders] == [Status.OK] * 4


# Who shares a thread.


def test_judges_here_are_asked_by_the_callers_thread_in_order() -> None:
    notes: list[tuple[str, int]] = []

    def note(name: str) -> Callable[[], None]:
        return lambda: notes.append((name, threading.get_ident()))

    one, two = Here(note("one")), Here(note("two"))
    mixed = Asking(Here(note("mixed")), Elsewhere(note("mixed elsewhere")))
    step(Asking(Elsewhere()), Asking(two), mixed, Asking(one))
    caller = threading.get_ident()
    assert notes == [(name, caller) for name in ("two", "mixed", "mixed elsewhere", "one")]


def test_rewards_that_share_a_judge_share_a_thread(server: Server, tmp_path: Path) -> None:
    away, other = Elsewhere(), Elsewhere()
    local = Asking(Here())
    cached = CachedJudge(away, tmp_path / "ratings.sqlite")
    jury = JuryJudge(other, cached)
    remote = RemoteReward(server.url)
    for rewards, numbers in [
        ([Asking(away), Asking(other)], [[0], [1]]),
        ([Asking(away), local, Asking(other)], [[1], [0], [2]]),
        ([Asking(away), Asking(other), Asking(away)], [[0, 2], [1]]),
        ([Asking(away), Asking(cached), Asking(other)], [[0, 1], [2]]),
        ([Asking(away), Asking(other), Asking(jury)], [[0, 1, 2]]),
        ([Asking(other), Asking(away), Asking(away, other)], [[0, 1, 2]]),
        ([Asking(other), Asking(away), Asking(away, Here())], [[1, 2], [0]]),
        ([remote, Asking(away), RemoteReward(server.url)], [[0], [1], [2]]),
        ([remote, Asking(away), remote], [[0, 2], [1]]),
        ([local, Scored(lambda _: 1.0), remote], [[0, 1], [2]]),
        ([Asking(other)], [[0]]),  # a reward behind a server needs no thread
        ([], [[]]),
    ]:
        assert by_thread(rewards) == numbers


def test_caches_of_equal_judges_in_one_file_share_a_thread(tmp_path: Path) -> None:
    def cached(port: int, model: str, file: str) -> Asking:
        judge = ChatJudge(f"http://127.0.0.1:{port}", model)
        return Asking(CachedJudge(judge, tmp_path / file))

    first = cached(8000, "m", "ratings.sqlite")
    assert by_thread([first, cached(8000, "m", "x/../ratings.sqlite")]) == [[0, 1]]
    assert by_thread([first, cached(8001, "m", "ratings.sqlite")]) == [[0, 1]]
    assert by_thread([first, cached(8000, "m", "others.sqlite")]) == [[0], [1]]
    assert by_thread([first, cached(8000, "n", "ratings.sqlite")]) == [[0], [1]]


def test_exact_ids_and_the_likeliest_tokens_are_not_asked_of_one_server_together() -> None:
    """vLLM (V1 runner, read in 0.33) spoils the likeliest tokens beside exact ids."""
    url, other = "http://127.0.0.1:8000", "http://127.0.0.1:8001/v1"
    chats = [Asking(ChatJudge(url, "m")), Asking(ChatJudge(f"{url}/v1/", "m"))]
    ids = [Asking(ServerJudge(url, "m")), Asking(ServerJudge(url, "m"))]
    elsewhere = [Asking(ServerJudge(other, "m")), Asking(ChatJudge(other, "m"))]
    assert by_thread(chats) == [[0], [1]]
    published = PoshReward(ServerJudge(url, "m"), score="precision", mode="published")
    assert by_thread(ids) == [[0], [1]]
    assert by_thread([*ids, published]) == [[0, 1, 2]]
    assert by_thread([published, chats[0]]) == [[0], [1]]
    assert by_thread([*chats, ids[0]]) == [[0, 1, 2]]
    assert by_thread([*chats, *elsewhere]) == [[0], [1], [2, 3]]


# What fails or is interrupted.


def test_a_missing_column_is_said_before_a_judge_is_asked() -> None:
    away = Elsewhere()
    recorders = [Recorder(Asking(away)), Recorder(PoshReward(Elsewhere()))]
    with pytest.raises(ValueError, match="the dataset column 'reference'"):
        judge_step(recorders, PROMPTS, TEXTS, lambda *_: None, {})
    assert away.rated == []


def test_what_a_judge_elsewhere_raises_fails_its_rows_only() -> None:
    def dies() -> None:
        raise OSError("the line is dead")

    verdicts = step(Asking(Elsewhere(dies)), Asking(Elsewhere()), Asking(Elsewhere(dies)))
    statuses = [each.status for each, _ in verdicts]
    assert statuses == [Status.ERROR, Status.OK, Status.ERROR]
    assert "the line is dead" in verdicts[2][0].note


def test_what_ends_a_thread_ends_the_step() -> None:
    def leaves() -> None:
        raise SystemExit("a judge of a user's own")

    with pytest.raises(SystemExit, match="of a user's own"):
        step(Asking(Elsewhere()), Asking(Elsewhere(leaves)))


def test_ctrl_c_waits_for_no_server() -> None:
    interrupted, answered = threading.Event(), threading.Event()

    def hang() -> None:
        interrupted.wait(SOON)
        answered.set()

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        step(Asking(Elsewhere(hang)), Asking(Here(interrupt)))
    assert not answered.is_set()
    interrupted.set()
    assert answered.wait(SOON)
