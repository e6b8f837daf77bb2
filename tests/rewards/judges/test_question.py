"""A question that shares its beginning with others reads, compares and counts as one that does
not.
"""

import json
import pickle
from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from spanreward.rewards import PoshReward, Sample
from spanreward.rewards.judges import question as question_module
from spanreward.rewards.judges.judge import Judge, Question, Rating, rating_of
from spanreward.rewards.judges.question import SharedPrompt, question_keys


def plain(beginning: str, rest: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": beginning + rest}]


def test_it_reads_as_a_list_of_one_message() -> None:
    prompt = SharedPrompt("TEXT: a kite. ", "Is it red?")
    assert list(prompt) == plain("TEXT: a kite. ", "Is it red?")
    assert prompt == plain("TEXT: a kite. ", "Is it red?")
    assert prompt[-1]["content"] == "TEXT: a kite. Is it red?"
    *others, last = prompt
    assert (others, last["role"]) == ([], "user")
    assert pickle.loads(pickle.dumps(Question(prompt))) == Question(prompt)


@given(
    st.text(st.characters(exclude_categories=()), max_size=20),
    st.text(st.characters(exclude_categories=()), max_size=20),
    st.data(),
)
def test_its_key_is_that_of_the_same_text_as_a_list(
    beginning: str, rest: str, data: st.DataObject
) -> None:
    length = len(beginning + rest)
    description = (0, data.draw(st.integers(0, length)))
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
    sentences = []
    for number in range(kites):
        colour, thing = colours[number % 5], things[number % 7]
        sentences.append(f"A {colour} {thing} {number} is near a {things[number % 6]}.")
    judge = Keeping()
    text = " ".join(sentences)
    PoshReward(judge).assess([Sample("", text, references=(text + " It is late.",))])
    return judge.asked


def test_questions_about_one_text_share_it() -> None:
    prompts = [question.messages for question in posh_questions(8)]
    shared = [prompt.beginning for prompt in prompts if isinstance(prompt, SharedPrompt)]
    assert len(shared) == len(prompts) > 20
    assert len({id(beginning) for beginning in shared}) == 2  # of precision and of recall
    assert max(len(prompt.rest) for prompt in prompts if isinstance(prompt, SharedPrompt)) < 400


def test_a_judge_of_a_users_own_may_send_the_messages_as_json() -> None:
    class Sending(Judge):
        name = "sending"
        sees_pictures = False

        def rate_each(self, questions: Sequence[Question], scale: Sequence[str]) -> list[Rating]:
            for question in questions:
                assert json.loads(json.dumps(question.messages)) == question.messages
            return [rating_of(5.0, scale)] * len(questions)

    shared = [Question(SharedPrompt("ab", rest)) for rest in "cdc"]
    assert [rating.mean for rating in Sending().rate(shared)] == [5.0] * 3  # type: ignore[union-attr]


def test_twice_the_text_is_twice_the_hashing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of twice the length has twice the questions, and each hashes what is its own."""
    hashed: list[int] = []
    hash_of = question_module._sha256

    def counting(content: bytes) -> str:
        hashed.append(len(content))
        return hash_of(content)

    monkeypatch.setattr(question_module, "_sha256", counting)

    def bytes_hashed(kites: int) -> int:
        questions = posh_questions(kites)
        hashed.clear()
        question_keys([Question(q.messages, (), q.probe, q.description) for q in questions])
        return sum(hashed)

    assert bytes_hashed(64) < 2.3 * bytes_hashed(32)
