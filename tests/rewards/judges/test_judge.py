"""Judge: equal questions are asked once and counted each, and a rating of nothing is none."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from PIL import Image

from spanreward import Failure, Judge, MatchJudge, PoshReward, Rating, Sample, Status
from spanreward.rewards.judges.judge import RATING_SCALE, answer_questions
from spanreward.rewards.judges.question import question_keys
from tests.support.fakes import FakeJudge, asked, hashed_rating, prompt_of

PROMPTS = ("b", "a", "b", "c", "a")
LATE = Failure(Status.TIMEOUT, "too late")


def test_equal_questions_are_asked_once_and_counted_each() -> None:
    judge = FakeJudge()
    assert judge.rate(asked(*PROMPTS)) == [hashed_rating(prompt) for prompt in PROMPTS]
    assert judge.rated == [["b", "a", "c"]]
    names = ('"B"', '"A"', '"B"')
    assert judge.write(asked(*names), 4) == ["the b", "the a", "the b"]
    assert judge.written == [['"B"', '"A"']]
    assert judge.usage.questions == len(PROMPTS) + len(names)


def test_a_damaged_picture_and_what_is_none_cost_only_their_own_questions(tmp_path: Path) -> None:
    path = tmp_path / "cut.png"
    Image.effect_noise((64, 64), 90).save(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    damaged, intact = Image.open(path), Image.new("RGB", (4, 4))
    (text,) = asked("a")
    pictures = (damaged, "a picture", intact, damaged, intact.copy())
    judge = FakeJudge()
    ratings = judge.rate([replace(text, images=(picture,)) for picture in pictures])
    assert [ratings[number] for number in (1, 2, 4)] == [hashed_rating("a")] * 3
    assert judge.rated == [["a"] * 2]  # both intact ones look alike
    assert "64 x 64 pixels" in ratings[0].message
    assert ratings[3] == ratings[0]
    assert judge.rate([replace(text, images=(damaged,))]) == ratings[:1]
    assert judge.rated == [["a"] * 2]


def test_without_questions_nobody_is_asked() -> None:
    judge = FakeJudge()
    assert judge.rate([]) == judge.write([], 4) == []
    assert (judge.rated, judge.written, judge.usage.questions) == ([], [], 0)


@pytest.mark.parametrize("given", [{}, {"1": 0.0, "5": 0.0}, {"1": math.nan}])
def test_a_rating_of_nothing_is_unparsed(given: dict[str, float]) -> None:
    judge = FakeJudge(lambda prompt: Rating(given) if prompt == "a" else hashed_rating(prompt))
    first, second = judge.rate(asked("a", "b"))
    assert first.status is Status.UNPARSED
    assert second == hashed_rating("b")


def test_too_few_answers_are_no_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeJudge, "rate_each", lambda *_, **__: [hashed_rating("b")])
    with pytest.raises(ValueError, match="shorter"):
        FakeJudge().rate(asked("a", "b"))


def test_a_judge_that_defines_neither_says_so() -> None:
    class Silent(Judge):
        name = "silent"

    with pytest.raises(NotImplementedError, match=r"silent .*define rate_each"):
        Silent().rate(asked("a"))
    with pytest.raises(NotImplementedError, match="define write_each"):
        Silent().write(asked("a"), 4)


def test_failures_stay_in_their_place() -> None:
    judge = FakeJudge()
    answers = answer_questions(judge.rate, [LATE, *asked("a", "b"), LATE], RATING_SCALE)
    assert answers == [LATE, hashed_rating("a"), hashed_rating("b"), LATE]
    assert answer_questions(judge.write, [LATE], 4) == [LATE]
    assert judge.written == []


def test_a_subclass_may_add_to_rate() -> None:
    class Noting(MatchJudge):
        calls = 0

        def rate(self, questions: Any, scale: Any = RATING_SCALE) -> Any:
            self.calls += 1
            return super().rate(questions, scale)

    judge = Noting()
    samples = [Sample("Describe.", "A red circle.", references=("A circle.",))]
    assert PoshReward(judge).assess(samples) == PoshReward(MatchJudge()).assess(samples)
    assert judge.calls > 0


class Plain(Judge):
    name = "plain"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def rate(self, questions: Any, scale: Any = RATING_SCALE) -> Any:
        self.asked += map(prompt_of, questions)
        return [Rating({"1": math.nan}) for _ in questions]

    def write(self, questions: Any, max_tokens: int) -> Any:
        self.asked += map(prompt_of, questions)
        return ["text" for _ in questions]


def test_a_judge_that_defines_rate_gets_each_question_once_and_is_checked() -> None:
    judge = Plain()
    answers = judge.rate(asked("a", "b", "a"))
    assert [answer.status for answer in answers] == [Status.UNPARSED] * 3
    assert judge.write(asked("c", "c"), 4) == ["text", "text"]
    assert judge.asked == ["a", "b", "c"]


def test_a_question_is_keyed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    (question,) = asked("How red is it?")
    key = question_keys([question])
    monkeypatch.setattr("spanreward.rewards.judges.question.exact_json", lambda data: b"")
    assert question_keys([question]) == key
    assert replace(question, top=5)._key is None


class Raising(FakeJudge):
    """Raises for a call with one of these prompts."""

    calls, bad = 0, "c"

    def rate_each(self, questions: Any, scale: Any) -> Any:
        self.calls += 1
        for prompt in map(prompt_of, questions):
            if prompt in self.bad:
                raise KeyError(f"cannot read {prompt}, password=hunter2")
        return super().rate_each(questions, scale)


def test_a_question_for_which_a_judge_raises_fails_alone() -> None:
    judge = Raising()
    ratings = judge.rate(asked(*"abcdefgh"))
    assert ratings.pop(2) == Failure(Status.ERROR, "KeyError: 'cannot read c, password=***'")
    assert ratings == [hashed_rating(prompt) for prompt in "abdefgh"]
    assert judge.calls == 1 + 1 + 6  # all, the harmless one, and two at each of three levels
    assert judge.usage.questions == 8


def test_a_judge_that_raises_for_anything_is_asked_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = Raising()
    monkeypatch.setattr(Raising, "rate_each", Mock(side_effect=KeyError("cannot read a")))
    with pytest.raises(KeyError, match="cannot read a"):
        judge.rate(asked("a", "b", "c"))
    assert Raising.rate_each.call_count == 2
    with pytest.raises(KeyError):
        judge.rate(asked("a"))
    assert Raising.rate_each.call_count == 3
