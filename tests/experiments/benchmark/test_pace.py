"""How many rounds, requests and seconds: the simulations, on cases that can be computed by hand."""

import json
import math
from pathlib import Path

import pytest

from experiments.benchmark import ahead, requests
from tests.support.experiment_numbers import numbers_of


def step(**seconds: float) -> dict[str, float]:
    return {phase: seconds.get(phase, 0.0) for phase in ahead.PHASES}


def test_ahead_a_step_takes_as_long_as_its_slowest_part() -> None:
    judged = [step(push=1, decode=4, judge=9, train=3)] * 50
    assert ahead.ahead(judged, 1) == pytest.approx(9)
    learnt = [step(push=1, decode=4, judge=2, train=30)] * 50
    assert ahead.ahead(learnt, 1) == pytest.approx(30)
    written = [step(push=1, decode=40, judge=2, train=3)] * 50
    assert ahead.ahead(written, 4) == pytest.approx(41)


def test_by_group_the_judge_begins_before_the_last_completion() -> None:
    """By batch steps end at 21, 31 and 42; by group at 12, 22 and 32."""
    steps = [step(decode=10, judge=10, train=1)] * 3
    assert ahead.ahead(steps, 1) == pytest.approx(10.5)
    assert ahead.ahead(steps, 10) == pytest.approx(10)


def test_ahead_reads_a_runs_phases(tmp_path: Path) -> None:
    lines = [{f"seconds/{phase}": seconds for phase in ahead.PHASES} for seconds in (1.0, 3.0)]
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in [*lines, {"loss": 1}]))
    words = f"ahead --metrics {path} --variation 0 --groups 4 --batch 2"
    numbers = numbers_of(tmp_path, "benchmark", *words.split())
    assert numbers["seconds"] == dict.fromkeys(ahead.PHASES, 2.0)
    assert numbers["ways"]["in turn on the same GPUs"] == pytest.approx(14)
    assert numbers["ways"]["the judge on its own GPUs"] == pytest.approx(8)
    assert 0.8 < numbers["credit"]["r"] < 1


def test_questions_of_one_text_are_turns_of_one_chat() -> None:
    contents = ["TEXT:\nA dog.\nIs it a dog?", "TEXT:\nA dog.\nIs it red?"]
    chats = requests.turns(contents)
    assert [len(chat) for chat in chats] == [1, 3]
    assert chats[0][0]["content"] == contents[0]
    expected = [contents[0], requests.FILLER, "Is it red?"]
    assert [message["content"] for message in chats[1]] == expected
    assert requests.uncached([[1, 2, 3], [1, 2, 4], [5]]) == 3 + 1 + 1


@pytest.mark.vllm
def test_requests_are_measured(tmp_path: Path) -> None:
    found = requests.empty_model(count=40, words=20, rounds=1)
    assert found["a second"] > 1
    assert 0 < found["share of encoding"] < 1
    assert math.isfinite(found["count"])
