"""Metrics sorted by what a policy has to do with them, and several samples of a prompt."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.scenes.parts import TRUTH
from experiments.scenes.truth import Truth
from spanreward import Verdict
from spanreward.rewards import MatchJudge, PoshReward
from spanreward.rewards.harmonic import HarmonicReward
from spanreward.training.evaluation.answer_scores.answer import JudgedAnswer
from spanreward.training.evaluation.answer_scores.metrics import (
    judge_identity,
    kind_of,
    metric_judge_pairs,
    metrics_of,
    trained_on,
)
from spanreward.training.evaluation.answer_scores.several import (
    answer_of_samples,
    every_sample,
    samples_a_prompt,
)
from spanreward.training.evaluation.answers.prompts import Prompts
from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.evaluation.answers.sides import recipe_of
from spanreward.training.recipe import RewardPart
from tests.training.evaluation.statistics.test_comparison import run_folder

MAIN = ["posh_f1", "harmonic_overall", "truth_f1", "overlap"]
METRICS = [*MAIN, "posh_recall", "harmonic_clarity", "words", "length"]
HARMONIC = HarmonicReward(MatchJudge(), criteria=["clarity"], spans="none")


def test_a_cascade_is_both_of_its_judges() -> None:
    both = {"cascade": {"student": "match", "teacher": "vllm:smollm2"}}
    cascade = RewardPart(metric="posh", judge=both)
    other = RewardPart(metric="harmonic", judge="vllm:smollm2")
    assert metric_judge_pairs([cascade]) == {("posh", "match"), ("posh", "smollm2")}
    parts = [(PoshReward(MatchJudge()), cascade), (HARMONIC, other)]
    by_teacher = [kind_of(*part, {("posh", "smollm2")}) for part in parts]
    by_student = [kind_of(*part, {("harmonic", "match")}) for part in parts]
    assert (by_teacher, by_student) == (["trained", "judge"], ["judge", "untrained"])


def test_each_metric_has_its_kind(tmp_path: Path) -> None:
    parts = [
        RewardPart(metric="posh"),
        RewardPart(metric="harmonic", judge="vllm:smollm2"),
        RewardPart(metric=TRUTH),
    ]
    rewards = [PoshReward(MatchJudge()), HARMONIC, Truth()]
    sft = run_folder(tmp_path / "sft", {"rewards": []})
    dapo = run_folder(tmp_path / "dapo", {"rewards": [{"metric": "posh", "judge": "match"}]})
    sides = {"sft": [sft, sft], "dapo": [dapo, dapo]}
    trained = trained_on({**sides, "api": ["answers.jsonl"]})
    assert trained == {("posh", "match")}
    setup = Setup(sides, [0, 1], Prompts([], {}, {}), parts, rewards, max_tokens=8)
    found = metrics_of(setup, METRICS)
    assert list(found) == METRICS
    assert [metric for metric, one in found.items() if one.main] == MAIN
    assert (found["posh_f1"].by, found["truth_f1"].by) == ("posh by match", "truth")
    judgeless = ["judgeless"] * 2
    assert [found[metric].kind for metric in MAIN] == ["trained", "untrained", *judgeless]
    # where a side does not tell what it was trained on, any judge may have been
    unknown = metrics_of(replace(setup, sides=sides | {"api": ["answers.jsonl"] * 2}), METRICS)
    assert [unknown[metric].kind for metric in MAIN] == ["trained", "unknown", *judgeless]
    assert recipe_of("answers.jsonl") == {}

    def kinds(*trained: tuple[str, str]) -> list[str]:
        return [kind_of(reward, part, trained) for reward, part in zip(rewards, parts, strict=True)]

    # the same metric by another judge is one that it was not trained on; that judge is one that
    # PoSh was trained by
    assert kinds(("posh", "smollm2")) == ["untrained", "judge", "judgeless"]
    assert kinds(("harmonic", "smollm2"))[1] == "trained"
    # what asks no judge may have been trained on too
    assert kinds((TRUTH, "match"))[2] == "trained"


@pytest.mark.parametrize(
    ("name", "identity"),
    [
        ("vllm:Qwen/Qwen3-14B", "qwen/qwen3-14b"),
        ("transformers:Qwen/Qwen3-14B", "qwen/qwen3-14b"),
        ("server:http://a:1#Qwen/Qwen3-14B", "qwen/qwen3-14b"),
        ("match", "match"),
        ("judge.py:MINE", "judge.py:MINE"),
    ],
)
def test_a_judge_is_its_model_whatever_serves_it(name: str, identity: str) -> None:
    assert judge_identity(name) == identity


def test_a_copied_model_is_the_same_judge(tmp_path: Path) -> None:
    for name in ("one", "copy"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
    one = judge_identity(f"vllm:{tmp_path / 'one'}")
    assert one == judge_identity(f"transformers:{tmp_path / 'copy'}")


def sample(text: str, **scores: Any) -> JudgedAnswer:
    return JudgedAnswer(text, Verdict(0.5), scores)


def test_mean_and_best_by_hand() -> None:
    samples = [sample("a", f1=0.2, words=1.0), sample("b", f1=0.8, words=3.0)]
    answer = answer_of_samples(samples, ["f1"])
    assert answer.text == "a"
    assert answer.scores == {"f1": 0.5, "f1_best": 0.8, "words": 2.0}
    assert [one.text for one in every_sample([answer])] == ["a", "b"]
    assert samples_a_prompt([answer]) == 2


@pytest.mark.parametrize("other", [0.8, None])
def test_a_failed_sample_is_no_zero_and_may_have_been_the_best(other: float | None) -> None:
    answer = answer_of_samples([sample("a", f1=None), sample("b", f1=other)], ["f1"])
    assert answer.scores == {"f1": other, "f1_best": None}


@pytest.mark.parametrize("best_of", [[], ["f1"]])
def test_one_sample_is_the_answer_itself(best_of: list[str]) -> None:
    alone = sample("a", f1=0.2)
    assert answer_of_samples([alone], best_of) is alone
    assert list(every_sample([alone])) == [alone]
    assert samples_a_prompt([alone]) == 1
