"""A question that shares its beginning reads, compares and counts as one that does not."""

import json
import pickle
from collections.abc import Sequence
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given, strategies as st

from spanreward.rewards import PoshReward, Sample
from spanreward.rewards.judges import question as question_module
from spanreward.rewards.judges.judge import Judge, Question, Rating, rating_of
from spanreward.rewards.judges.question import SharedPrompt, question_keys


def plain(beginning: str, rest: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": beginning + rest}]


def test_it_reads_as_a_list_of_one_message() -> None:
    prompt, listed = (
        SharedPrompt("TEXT: a kite. ", "Is it red?"),
        plain("TEXT: a kite. ", "Is it red?"),
    )
    assert list(prompt) == listed == prompt
    assert prompt == listed
    assert prompt[-1] == listed[0]
    assert pickle.loads(pickle.dumps(Question(prompt))) == Question(prompt)


TEXT = st.text(st.characters(exclude_categories=()), max_size=20)


@given(TEXT, TEXT, st.data())
def test_its_key_is_that_of_the_text_as_a_list(
    beginning: str, rest: str, data: st.DataObject
) -> None:
    description = (0, data.draw(st.integers(0, len(beginning + rest))))
    shared = Question(SharedPrompt(beginning, rest), description=description)
    listed = Question(plain(beginning, rest), description=description)
    assert question_keys([shared]) == question_keys([listed])


class Keeping(Judge):
    """Finds everything, and keeps what it is asked."""

    name = "keeping"
    sees_pictures = False
    _takes_shared = True

    def __init__(self) -> None:
        self.asked: list[Question] = []

    def rate_each(self, questions: Sequence[Question], scale: Sequence[str]) -> list[Rating]:
        self.asked += questions
        return [rating_of(5.0, scale)] * len(questions)


def posh_questions(kites: int) -> list[Question]:
    """Returns PoSh's questions on a text with as many things, and on itself."""
    colours = ("red", "blue", "green", "white", "black")
    things = ("kite", "boat", "house", "tree", "bird", "wall", "bench")
    text = " ".join(
        f"A {colours[n % 5]} {things[n % 7]} {n} is near a {things[n % 6]}." for n in range(kites)
    )
    judge = Keeping()
    PoshReward(judge).assess([Sample("", text, references=(text + " It is late.",))])
    return judge.asked


def test_questions_about_one_text_share_it() -> None:
    prompts: list[Any] = [question.messages for question in posh_questions(8)]
    assert {type(prompt) for prompt in prompts} == {SharedPrompt}
    assert len(prompts) > 20
    assert len({id(prompt.beginning) for prompt in prompts}) == 2  # of precision and of recall
    assert max(len(prompt.rest) for prompt in prompts) < 400


class Sending(Keeping):
    """A judge of a user's own, which sends the messages as JSON."""

    _takes_shared = False

    def rate_each(self, questions: Sequence[Question], scale: Sequence[str]) -> list[Rating]:
        for question in questions:
            assert json.loads(json.dumps(question.messages)) == question.messages
        return super().rate_each(questions, scale)


def test_a_judge_of_a_users_own_may_send_the_messages_as_json() -> None:
    shared = [Question(SharedPrompt("ab", rest)) for rest in "cdc"]
    assert [rating.mean for rating in Sending().rate(shared)] == [5.0] * 3


def test_twice_the_text_is_twice_the_hashing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of twice the length has twice the questions, and each hashes what is its own."""

    def bytes_hashed(kites: int) -> int:
        questions = posh_questions(kites)
        with monkeypatch.context() as patch:
            hashed = Mock(wraps=question_module._sha256_digits)
            patch.setattr(question_module, "_sha256_digits", hashed)
            question_keys([Question(q.messages, (), q.probe, q.description) for q in questions])
        return sum(len(call.args[0]) for call in hashed.call_args_list)

    assert 0 < bytes_hashed(64) < 2.3 * bytes_hashed(32)
