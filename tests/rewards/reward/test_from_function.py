"""A reward from a function: its scores, its columns, its pickle, and its place in a recipe."""

import pickle
from pathlib import Path

import pytest

from spanreward import PoshReward, Sample, Span, Status, Verdict, build_reward, reward
from spanreward.rewards.judges.match.match_judge import MatchJudge
from tests.support.own_parts import overlap


def test_a_number_none_or_a_verdict() -> None:
    whole = Verdict(0.25, spans=(Span(0, 1, 0.0, -0.75, "word", "wrong", 0),))

    @reward()
    def judged(sample: Sample) -> float | Verdict | None:
        return {"a": 0.5, "b": None, "c": whole, "d": 1}[sample.completion]

    found = judged.assess([Sample("", text) for text in "abcd"])
    assert [verdict.score for verdict in found] == [0.5, None, 0.25, 1.0]
    assert found[1].status is Status.NOT_APPLICABLE
    assert found[2] is whole
    assert judged.__name__ == "judged"


def test_it_meets_trls_contract_and_names_a_missing_column() -> None:
    assert overlap(["Describe."] * 2, ["a big red dog", "cat"], reference=["red dog", "a dog"]) == [
        pytest.approx(0.8),
        0.0,
    ]
    with pytest.raises(ValueError, match="overlap needs the dataset column 'reference'"):
        overlap(["Describe."], ["a dog"])


def test_it_is_pickled_by_its_name() -> None:
    assert pickle.loads(pickle.dumps(overlap)) is overlap


def test_what_the_function_raises_is_a_failed_judgment() -> None:
    @reward(name="broken")
    def divide(sample: Sample) -> float:
        return 1 / 0

    (verdict,) = divide.judge_samples([Sample("", "a")])
    assert (verdict.score, verdict.status) == (None, Status.ERROR)
    assert divide(["Describe."], ["a"]) == [None]


def test_a_function_of_anything_but_one_sample_is_refused() -> None:
    def of_columns(completions: list[str], reference: list[str]) -> float:
        return 0.0

    with pytest.raises(
        ValueError, match=r"@reward calls of_columns with one Sample \(missing"
    ) as no:
        reward()(of_columns)
    assert "write def of_columns(sample)" in str(no.value)
    with pytest.raises(ValueError, match=r"with one Sample \(too many positional arguments\)"):

        @reward(name="nothing")
        def of_nothing() -> float:
            return 0.0


def test_a_recipe_names_it_by_its_file() -> None:
    file = Path(__file__).parents[2] / "support" / "own_parts.py"
    made = build_reward(f"{file}:overlap", MatchJudge(), {})
    assert made.assess([Sample("", "a dog", references=("a dog",))])[0].score == 1.0
    assert pickle.loads(pickle.dumps(made)) is made
    with pytest.raises(ValueError, match="is a reward already and takes no options, got"):
        build_reward(f"{file}:overlap", MatchJudge(), {"name": "other"})


def test_a_judge_that_a_file_holds() -> None:
    file = Path(__file__).parents[2] / "support" / "own_parts.py"
    from spanreward import load_judge

    judge = load_judge(f"{file}:rule")
    sample = Sample("", "A red circle.", references=("A red circle.",))
    assert PoshReward(judge).assess([sample])[0].score == 1.0
    with pytest.raises(ValueError, match="is a judge already and takes no options, got"):
        load_judge(f"{file}:rule", deadline=4)
