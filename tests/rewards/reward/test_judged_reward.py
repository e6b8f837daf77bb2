"""JudgedReward: a metric of one's own from a prompt and a scale, or a function that reads answers."""

import json
import pickle
from collections.abc import Sequence
from typing import Any

import pytest

from spanreward import Failure, Judge, JudgedReward, Question, Rating, Sample, Status, Verdict
from spanreward.rewards.judges.judge import RATING_SCALE
from tests.support.fakes import prompt_of

POLITE = "Request: {prompt}\n\nAnswer: {completion}\n\nHow polite is it? Write a digit from 1 to 5."
GROUNDED = "What people say: {reference}\nAnswer: {completion}\nIs it right? Write yes or no."


class Asked(Judge):
    """Answers by the words of the completion, and keeps the questions."""

    name = "asked"

    def __init__(self, level: str = "4", text: str | Failure = "score: 0.5") -> None:
        self.level, self.text = level, text
        self.questions: list[Question] = []

    def rate(self, questions: Any, scale: Sequence[str] = RATING_SCALE) -> list[Rating | Failure]:
        self.questions += questions
        return [self._rating(prompt_of(question), scale) for question in questions]

    def _rating(self, content: str, scale: Sequence[str]) -> Rating | Failure:
        if "broken" in content:
            return Failure(Status.TIMEOUT, "no answer")
        level = scale[-1] if "please" in content else self.level
        return Rating({entry: float(entry == level) for entry in scale})

    def write(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        self.questions += questions
        return [self.text for _ in questions]


def marked(question: Question) -> str:
    return prompt_of(question)[slice(*question.description)]


def test_a_metric_of_one_prompt_and_a_scale() -> None:
    judge = Asked()
    polite = JudgedReward(judge, POLITE, name="polite")
    assert polite(["Where is it?", "Where?"], ["Over there, please.", "There."]) == [1.0, 0.75]
    assert polite.__name__ == "polite"
    first = judge.questions[0]
    shown = "Request: Where is it?\n\nAnswer: Over there, please.\n\nHow polite is it? Write a digit from 1 to 5."
    assert prompt_of(first) == shown
    assert marked(first) == "Over there, please."


def test_a_scale_of_words_goes_from_0_to_1_in_equal_steps() -> None:
    reward = JudgedReward(Asked(level="partly"), GROUNDED, scale=("no", "partly", "yes"))
    (verdict,) = reward.assess([Sample("", "A dog.", references="A cat.")])
    assert (verdict.score, verdict.parts["rating"]) == (0.5, 0.5)


def test_the_placeholders_are_the_columns() -> None:
    reward = JudgedReward(Asked(), GROUNDED, name="grounded")
    assert reward.columns == ("reference",)
    rows = [Sample("", "A dog."), Sample("", "A dog.", references=("A dog.", "A puppy."))]
    without, given = reward.assess(rows)
    assert without.status is Status.NOT_APPLICABLE
    assert without.note.endswith("no reference")
    assert given.status is Status.OK
    prompt = "{reference}{completion}"
    assert JudgedReward(Asked(), prompt, columns=("reference", "id")).columns == ("reference", "id")


def test_a_completion_that_writes_a_placeholder_stays_text() -> None:
    judge = Asked()
    JudgedReward(judge, GROUNDED).assess([Sample("", "{reference}", references=("A cat.",))])
    assert "Answer: {reference}\n" in prompt_of(judge.questions[0])


def test_a_failure_is_no_score_and_an_empty_completion_is_a_0_unasked() -> None:
    judge = Asked()
    samples = [Sample("", text) for text in ("It is broken.", "There.", " ")]
    failed, rated, empty = JudgedReward(judge, POLITE).assess(samples)
    assert (failed.score, failed.status) == (None, Status.TIMEOUT)
    assert (rated.score, rated.parts["rating"]) == (0.75, 4.0)  # in the scale's own numbers
    assert (empty.score, empty.status, len(judge.questions)) == (0.0, Status.EMPTY, 2)


def read_score(answer: str) -> float | Verdict | None:
    if "none" in answer:
        return None
    if "verdict" in answer:
        return Verdict(0.25, parts={"kindness": 2.0})
    return float(json.loads(answer)["score"])


ANSWERS: list[tuple[Any, float | None, Status]] = [
    ('{"score": 0.5}', 0.5, Status.OK),
    ("a verdict", 0.25, Status.OK),
    ("none", None, Status.UNPARSED),
    ("no JSON", None, Status.UNPARSED),
    ('{"rating": 1}', None, Status.UNPARSED),
    ('{"score": 7}', None, Status.UNPARSED),
    ('{"score": NaN}', None, Status.UNPARSED),
    (Failure(Status.ERROR, "away"), None, Status.ERROR),
]


@pytest.mark.parametrize(("answer", "score", "status"), ANSWERS)
def test_a_written_answer_is_read_by_a_function(answer: Any, score: Any, status: Any) -> None:
    reward = JudgedReward(Asked(text=answer), POLITE, parse=read_score)
    verdict = reward.assess([Sample("Where?", "There.")])[0]
    assert (verdict.score, verdict.status) == (score, status)
    if status is Status.UNPARSED:
        assert str(answer) in verdict.note


def test_spans_say_what_each_sentence_adds() -> None:
    text = "There it is. Over there, please."
    reward = JudgedReward(Asked(level="1"), POLITE, spans="ablation")
    (verdict,) = reward.assess([Sample("", text)])
    words = [span.text(text) for span in verdict.spans]
    assert words == ["There it is.", "Over there, please."]
    assert [span.credit for span in verdict.spans] == [0.0, 1.0]


def test_a_picture_or_its_context_is_shown_for_the_asking() -> None:
    judge = Asked()
    reward = JudgedReward(judge, POLITE, evidence="picture")
    assert reward.one_of == ("image", "images", "context")
    nothing, described = reward.assess([Sample("", "A dog."), Sample("", "A dog.", context="Rex.")])
    assert nothing.status is Status.NOT_APPLICABLE
    assert described.status is Status.OK
    content = prompt_of(judge.questions[0])
    assert content.startswith("A description of the picture that you can rely on:\nRex.\n\nRequest")
    assert marked(judge.questions[0]) == "A dog."


def test_it_is_pickled_and_tells_its_cost() -> None:
    reward = JudgedReward("match", POLITE, name="polite")
    assert pickle.loads(pickle.dumps(reward)).prompt == POLITE
    cost = reward.cost(50, 1)
    assert (cost.questions, cost.written_tokens, cost.exact) == (1, 1, True)
    assert JudgedReward("match", POLITE, parse=read_score).cost(50, 1).written_tokens == 256
    assert JudgedReward("match", GROUNDED).wording != reward.wording
