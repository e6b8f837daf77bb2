"""What a page shows of each prompt."""

from typing import Any

import pytest

from spanreward.rewards.base.verdict import Status, Verdict
from spanreward.training.evaluation.answer_scores.answer import JudgedAnswer
from spanreward.training.evaluation.answers.prompts import Prompts
from spanreward.training.evaluation.page.shown import shown_prompts

LOST_BY = ["truth_f1", "posh_f1"]


def answer(text: str, **scores: Any) -> JudgedAnswer:
    return JudgedAnswer(text, Verdict(0.5), {**scores, "words": float(len(text.split()))})


def shown() -> Any:
    rows: list[Any] = [
        {"id": name, "image": None, "prompt": [{"role": "user", "content": "Describe."}]}
        for name in "abcde"
    ]
    rows[0]["reference"] = ["A dog."]
    sft = [
        answer("one two", truth_f1=0.5, posh_f1=0.5),
        answer("one", truth_f1=0.9, posh_f1=0.2),
        answer("one", truth_f1=0.5, posh_f1=0.5),
        answer("one", posh_f1=0.9),
        answer("one", truth_f1=0.4, posh_f1=0.4),
    ]
    dapo = [
        answer("one two", truth_f1=0.7, posh_f1=0.7),
        answer("one two", truth_f1=0.1, posh_f1=0.8),  # the truth is worse, its reward better
        answer("one", truth_f1=0.5, posh_f1=0.5),
        answer("one", posh_f1=0.5),  # no truth: the reward says who lost
        JudgedAnswer(
            "", Verdict(None, Status.TIMEOUT), {"truth_f1": None, "posh_f1": None, "words": 0.0}
        ),
    ]
    prompts = Prompts(rows, {"era": [("old",), ("new",), (), (), ()]}, {})
    return shown_prompts(prompts, {"base": [sft], "sft": [sft], "dapo": [dapo]}, LOST_BY)


def test_what_the_last_model_lost_comes_first() -> None:
    found = shown()
    assert [(one.id, one.outcome, one.by) for one in found] == [
        ("b", "lost", "truth_f1"),
        ("d", "lost", "posh_f1"),
        ("c", "tied", "truth_f1"),
        ("a", "won", "truth_f1"),
        ("e", "not judged", ""),
    ]
    assert [one.margin for one in found] == [
        pytest.approx(-0.8),
        pytest.approx(-0.4),
        0.0,
        pytest.approx(0.2),
        None,
    ]
    assert [one.disagree for one in found] == [True, False, False, False, False]
    assert [one.length for one in found] == ["longer", "as long", "as long", "as long", "shorter"]
    assert found[3].references == ("A dog.",)
    assert found[0].slices == {"era": ("new",)}
