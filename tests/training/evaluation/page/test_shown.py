"""What a page shows of each prompt."""

from typing import Any

import pytest

from spanreward.rewards.base.verdict import Status, Verdict
from spanreward.training.evaluation.answer_scores.answer import JudgedAnswer
from spanreward.training.evaluation.answers.prompts import Prompts
from spanreward.training.evaluation.page.shown import shown_prompts

LOST_BY = ["truth_f1", "posh_f1"]


def answer(text: str, truth: float | None, posh: float | None) -> JudgedAnswer:
    verdict = Verdict(0.5) if text else Verdict(None, Status.TIMEOUT)
    scores = {"truth_f1": truth, "posh_f1": posh, "words": float(len(text.split()))}
    if text and truth is None:
        del scores["truth_f1"]
    return JudgedAnswer(text, verdict, scores)


def shown() -> Any:
    message = {"role": "user", "content": "Describe."}
    rows: list[Any] = [{"id": name, "image": None, "prompt": [message]} for name in "abcde"]
    rows[0]["reference"] = ["A dog."]
    sft = [
        answer("one two", 0.5, 0.5),
        answer("one", 0.9, 0.2),
        answer("one", 0.5, 0.5),
        answer("one", None, 0.9),
        answer("one", 0.4, 0.4),
    ]
    dapo = [
        answer("one two", 0.7, 0.7),
        answer("one two", 0.1, 0.8),  # the truth is worse, its reward better
        answer("one", 0.5, 0.5),
        answer("one", None, 0.5),  # no truth: the reward says who lost
        answer("", None, None),
    ]
    prompts = Prompts(rows, {"era": [("old",), ("new",), (), (), ()]}, {})
    return shown_prompts(prompts, {"base": [sft], "sft": [sft], "dapo": [dapo]}, LOST_BY)


def test_what_the_last_model_lost_comes_first() -> None:
    found = shown()
    told = [(one.id, one.outcome, one.by, one.margin, one.length) for one in found]
    assert told == [
        ("b", "lost", "truth_f1", pytest.approx(-0.8), "longer"),
        ("d", "lost", "posh_f1", pytest.approx(-0.4), "as long"),
        ("c", "tied", "truth_f1", 0.0, "as long"),
        ("a", "won", "truth_f1", pytest.approx(0.2), "as long"),
        ("e", "not judged", "", None, "shorter"),
    ]
    assert [one.disagree for one in found] == [True, False, False, False, False]
    assert found[3].references == ("A dog.",)
    assert found[0].slices == {"era": ("new",)}
