"""A reward from a function: its scores, its columns, its pickle, and its place in a recipe."""

import pickle

import pytest

from spanreward import PoshReward, Sample, Span, Status, Verdict, build_reward, load_judge, reward
from spanreward.rewards.judges.match.match_judge import MatchJudge
from tests.support.own_parts import overlap
from tests.support.paths import SUPPORT


def test_a_number_none_or_a_verdict() -> None:
    whole = Verdict(0.25, spans=(Span(0, 1, 0.0, -0.75, "word", "wrong", 0),))

    @reward("reference")
    def judged(sample: Sample) -> float | Verdict | None:
        return {"a": 0.5, "b": None, "c": whole, "d": 1}[sample.completion]

    assert judged.columns == ("reference",)  # one column is a list of one
    found = judged.assess([Sample("", text) for text in "abcd"])
    assert [verdict.score for verdict in found] == [0.5, None, 0.25, 1.0]
    assert found[1].status is Status.NOT_APPLICABLE
    assert found[2] is whole
    assert judged.__name__ == "judged"


def test_it_meets_trls_contract() -> None:
    scores = overlap(["Describe."] * 2, ["a big red dog", "cat"], reference=["red dog", "a dog"])
    assert scores == [pytest.approx(0.8), 0.0]


def test_it_is_pickled_by_its_name() -> None:
    assert pickle.loads(pickle.dumps(overlap)) is overlap


def test_a_recipe_names_it_and_a_judge_by_their_file() -> None:
    file = SUPPORT / "own_parts.py"
    made = build_reward(f"{file}:overlap", MatchJudge(), {})
    assert made.assess([Sample("", "a dog", references=("a dog",))])[0].score == 1.0
    assert pickle.loads(pickle.dumps(made)) is made
    sample = Sample("", "A red circle.", references=("A red circle.",))
    assert PoshReward(load_judge(f"{file}:rule")).assess([sample])[0].score == 1.0
