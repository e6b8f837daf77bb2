"""Metrics sorted by what a policy has to do with them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from experiments.scenes.parts import TRUTH
from experiments.scenes.truth import Truth
from spanreward.rewards import MatchJudge, PoshReward
from spanreward.rewards.harmonic import HarmonicReward
from spanreward.training.evaluation.answer_scores.metrics import (
    identities,
    judge_identity,
    kind_of,
    metrics_of,
    trained_on,
)
from spanreward.training.evaluation.answers.prompts import Prompts
from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.evaluation.answers.sides import recipe_of
from spanreward.training.recipe import RewardPart

METRICS = [
    "truth_f1",
    "posh_f1",
    "posh_recall",
    "harmonic_overall",
    "harmonic_clarity",
    "overlap",
    "words",
    "length",
]


def run_folder(path: Path, rewards: Any, model: str = "tiny") -> str:
    path.mkdir(parents=True)
    (path / "recipe.yaml").write_text(
        yaml.safe_dump({"policy": {"model": model}, "rewards": rewards})
    )
    return str(path)


def test_a_cascade_is_both_of_its_judges() -> None:
    cascade = RewardPart(
        metric="posh", judge={"cascade": {"student": "match", "teacher": "vllm:smollm2"}}
    )
    other = RewardPart(metric="harmonic", judge="vllm:smollm2")
    assert identities([cascade]) == {("posh", "match"), ("posh", "smollm2")}
    rewards = [
        PoshReward(MatchJudge()),
        HarmonicReward(MatchJudge(), criteria=["clarity"], spans="none"),
    ]
    kinds = [
        [
            kind_of(reward, part, trained)
            for reward, part in zip(rewards, [cascade, other], strict=True)
        ]
        for trained in ({("posh", "smollm2")}, {("harmonic", "match")})
    ]
    assert kinds == [["trained", "judge"], ["judge", "untrained"]]


def test_each_metric_has_its_kind(tmp_path: Path) -> None:
    parts = [
        RewardPart(metric="posh"),
        RewardPart(metric="harmonic", judge="vllm:smollm2"),
        RewardPart(metric=TRUTH),
    ]
    rewards = [
        PoshReward(MatchJudge()),
        HarmonicReward(MatchJudge(), criteria=["clarity"], spans="none"),
        Truth(),
    ]
    sft = run_folder(tmp_path / "sft", [])
    dapo = run_folder(tmp_path / "dapo", [{"metric": "posh", "judge": "match"}])
    sides = {"sft": [sft, sft], "dapo": [dapo, dapo]}
    trained = trained_on({**sides, "api": ["answers.jsonl"]})
    assert trained == {("posh", "match")}
    setup = Setup(sides, [0, 1], Prompts([], {}, {}), parts, rewards, max_tokens=8)
    found = metrics_of(setup, METRICS)
    assert list(found) == METRICS
    assert {metric for metric, one in found.items() if one.main} == {
        "truth_f1",
        "posh_f1",
        "harmonic_overall",
        "overlap",
    }
    assert (found["posh_f1"].by, found["truth_f1"].by) == ("posh by match", "truth")
    mains = ("posh_f1", "harmonic_overall", "truth_f1", "overlap")
    assert [found[metric].kind for metric in mains] == [
        "trained",
        "untrained",
        "judgeless",
        "judgeless",
    ]
    # where a side does not tell what it was trained on, any judge may have been
    unknown = metrics_of(replace(setup, sides=sides | {"api": ["answers.jsonl"] * 2}), METRICS)
    assert [unknown[metric].kind for metric in mains] == [
        "trained",
        "unknown",
        "judgeless",
        "judgeless",
    ]
    assert recipe_of("answers.jsonl") == {}

    def kinds(*trained: tuple[str, str]) -> list[str]:
        return [kind_of(reward, part, trained) for reward, part in zip(rewards, parts, strict=True)]

    # the same metric by another judge is one that it was not trained on; that judge is one that
    # PoSh was trained by
    assert kinds(("posh", "smollm2")) == ["untrained", "judge", "judgeless"]
    assert kinds(("harmonic", "smollm2"))[1] == "trained"
    # what asks no judge may have been trained on too
    assert kinds((TRUTH, "match"))[2] == "trained"


def test_a_judge_is_its_model_whatever_serves_it(tmp_path: Path) -> None:
    names = (
        "vllm:Qwen/Qwen3-14B",
        "transformers:Qwen/Qwen3-14B",
        "server:http://a:1#Qwen/Qwen3-14B",
    )
    assert {judge_identity(name) for name in names} == {"qwen/qwen3-14b"}
    for name in ("one", "copy"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
    assert judge_identity(f"vllm:{tmp_path / 'one'}") == judge_identity(
        f"transformers:{tmp_path / 'copy'}"
    )
    assert [judge_identity(name) for name in ("match", "judge.py:MINE")] == [
        "match",
        "judge.py:MINE",
    ]
