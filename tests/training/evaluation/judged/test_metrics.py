"""Metrics sorted by what a policy has to do with them."""

from pathlib import Path
from typing import Any

import yaml

from experiments.scenes.parts import TRUTH
from experiments.scenes.truth import Truth
from spanreward.rewards import MatchJudge, PoshReward
from spanreward.rewards.harmonic import HarmonicReward
from spanreward.training.evaluation.answers.runs import recipe_of
from spanreward.training.evaluation.judged.metrics import by_kind, identities, identity, sort_metrics, trained_on
from spanreward.training.recipe import RewardPart

METRICS = ["truth_f1", "posh_f1", "posh_recall", "harmonic_overall", "harmonic_clarity", "overlap", "words", "length"]


def run_folder(path: Path, rewards: Any, model: str = "tiny") -> str:
    path.mkdir(parents=True)
    (path / "recipe.yaml").write_text(yaml.safe_dump({"policy": {"model": model}, "rewards": rewards}))
    return str(path)


def test_a_cascade_is_both_of_its_judges() -> None:
    cascade = RewardPart(metric="posh", judge={"cascade": {"student": "match", "teacher": "vllm:smollm2"}})
    other = RewardPart(metric="harmonic", judge="vllm:smollm2")
    assert identities([cascade]) == {("posh", "match"), ("posh", "smollm2")}
    rewards = [PoshReward(MatchJudge()), HarmonicReward(MatchJudge(), criteria=["clarity"], spans="none")]
    metrics = ["posh_f1", "harmonic_overall"]
    kinds = [
        [sort_metrics(rewards, [cascade, other], trained, metrics)[metric].kind for metric in metrics]
        for trained in ({("posh", "smollm2")}, {("harmonic", "match")})
    ]
    assert kinds == [["trained", "judge"], ["judge", "untrained"]]


def test_each_metric_has_its_kind(tmp_path: Path) -> None:
    parts = [RewardPart(metric="posh"), RewardPart(metric="harmonic", judge="vllm:smollm2"), RewardPart(metric=TRUTH)]
    rewards = [PoshReward(MatchJudge()), HarmonicReward(MatchJudge(), criteria=["clarity"], spans="none"), Truth()]
    sft = run_folder(tmp_path / "sft", [])
    dapo = run_folder(tmp_path / "dapo", [{"metric": "posh", "judge": "match"}])
    trained = trained_on({"sft": [sft], "dapo": [dapo, dapo], "api": ["answers.jsonl"]})
    assert trained == {("posh", "match")}
    found = sort_metrics(rewards, parts, trained, METRICS)
    assert list(found) == METRICS
    assert {metric for metric, one in found.items() if one.main} == {
        "truth_f1",
        "posh_f1",
        "harmonic_overall",
        "overlap",
    }
    assert (found["posh_f1"].by, found["truth_f1"].by) == ("posh by match", "truth")
    assert by_kind(found) == {
        "trained": ["posh_f1"],
        "judge": [],
        "untrained": ["harmonic_overall"],
        "unknown": [],
        "judgeless": ["truth_f1", "overlap"],
    }
    # the same metric by another judge is one that it was not trained on
    other = sort_metrics(rewards, parts, {("posh", "smollm2")}, METRICS)
    assert other["posh_f1"].kind == "untrained"
    assert other["harmonic_overall"].kind == "judge"  # whose judge PoSh was trained by
    assert sort_metrics(rewards, parts, {("harmonic", "smollm2")}, METRICS)["harmonic_overall"].kind == "trained"
    # where a side does not tell what it was trained on, any judge may have been
    unknown = sort_metrics(rewards, parts, trained, METRICS, known=False)
    assert {metric: unknown[metric].kind for metric in ("posh_f1", "harmonic_overall", "truth_f1")} == {
        "posh_f1": "trained",
        "harmonic_overall": "unknown",
        "truth_f1": "judgeless",
    }
    assert recipe_of("answers.jsonl") == {}
    # what asks no judge may have been trained on too
    assert sort_metrics(rewards, parts, {(TRUTH, "match")}, METRICS)["truth_f1"].kind == "trained"


def test_a_judge_is_its_model_whatever_serves_it(tmp_path: Path) -> None:
    names = ("vllm:Qwen/Qwen3-14B", "transformers:Qwen/Qwen3-14B", "server:http://a:1#Qwen/Qwen3-14B")
    assert {identity(name) for name in names} == {"qwen/qwen3-14b"}
    for name in ("one", "copy"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
    assert identity(f"vllm:{tmp_path / 'one'}") == identity(f"transformers:{tmp_path / 'copy'}")
    assert [identity(name) for name in ("match", "judge.py:MINE")] == ["match", "judge.py:MINE"]
