"""A judge from a function: what is read as a rating, what is counted, what fails."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from PIL import Image

from spanreward import Failure, FunctionJudge, Status
from spanreward.rewards.files import http_client
from spanreward.rewards.judges.judge import RATING_SCALE, rating_of
from tests.support.fakes import asked

LETTERS = ("A", "B", "C")


def rated(answer: Any, scale: tuple[str, ...] = ("1", "2", "3", "4", "5")) -> Any:
    return FunctionJudge("j", lambda text: answer).rate(asked("?"), scale)[0]


@pytest.mark.parametrize(
    ("answer", "mean"),
    [
        *((5, 5.0), (3.25, 3.25), (1.0, 1.0), ("4", 4.0), ("Rating: 3/5", 3.0), ({5: 1.0}, 5.0)),
        *(("I give it 2 out of 5.", 2.0), ("From 1 to 5 this is a 3.5", 3.5)),
        ({"5": 0.5, "1": 0.25}, 0.25 / 0.75 + 5 * 0.5 / 0.75),
    ],
)
def test_what_is_a_rating(answer: Any, mean: float) -> None:
    assert rated(answer).mean == pytest.approx(mean)


NONE = (None, "", "no idea", 0, 6, -1, math.nan, math.inf, "7")


@pytest.mark.parametrize("answer", [*NONE, {}, {"5": 0.0}, {"5": 2.0}, {"5": -1}, {"1": math.nan}])
def test_what_is_none(answer: Any) -> None:
    assert rated(answer).status is Status.UNPARSED


def test_a_picture_costs_its_own_question_only() -> None:
    (plain,) = asked("?")
    pictured = replace(plain, images=(Image.new("RGB", (2, 2)),))
    judge = FunctionJudge("j", lambda text: 5)
    first, failed, last = judge.rate([plain, pictured, plain])
    assert failed.status is Status.ERROR
    assert "reads text" in failed.message
    assert first == last == rating_of(5, RATING_SCALE)
    assert [type(text) for text in judge.write([pictured, plain], 8)] == [Failure, str]


def test_letters_and_distributions() -> None:
    assert rated("The better one is B.", LETTERS).probabilities == {"A": 0, "B": 1, "C": 0}
    for none in ("Be careful", 2):
        assert rated(none, LETTERS).status is Status.UNPARSED
    assert rated({"5": 0.5, "1": 0.25}).mass == 0.75


def test_a_prompt_and_a_parser_and_what_is_counted() -> None:
    seen: list[str] = []

    def ask(text: str) -> str:
        seen.append(text)
        return json.dumps({"rating": len(seen)})

    judge = FunctionJudge("json", lambda text: json.loads(ask(f"{text}\nAs JSON."))["rating"])
    assert [rating.mean for rating in judge.rate(asked("a", "{b}"))] == [1, 2]
    assert judge.write(asked("c"), max_tokens=5) == ["3"]
    assert seen == ["a\nAs JSON.", "{b}\nAs JSON.", "c\nAs JSON."]
    assert judge.usage.questions == 3
    assert judge.usage.seconds > 0


def test_one_answer_that_cannot_be_parsed_costs_one_question() -> None:
    judge = FunctionJudge("json", lambda text: json.loads("not JSON" if text == "a" else "3"))
    first, second = judge.rate(asked("a", "b"))
    assert (first.status, second.mean) == (Status.ERROR, 3)
    assert rated({"5": "high"}).status is Status.ERROR
    silent = FunctionJudge("silent", lambda text: "hm")
    assert silent.rate(asked("a"))[0].status is Status.UNPARSED
    assert silent.usage.unparsed == 1


def test_an_error_is_one_line_without_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(http_client.KEY_VARIABLE, "open-sesame")

    def refuse(text: str) -> str:
        raise RuntimeError("refused:\n the key open-sesame\x1b[2J is not known")

    judge = FunctionJudge("mine", refuse)
    shown = Failure(Status.ERROR, "mine: RuntimeError: refused: the key *** [2J is not known")
    assert judge.rate(asked("a")) == [shown]
    assert judge.write(asked("a"), 3) == [shown]
