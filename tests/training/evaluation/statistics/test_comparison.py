"""A whole comparison's results, from invented scores of three models and three seeds."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from experiments.scenes.parts import SCENES, TINY, TRUTH
from experiments.scenes.truth import Truth
from spanreward.rewards import MatchJudge, PoshReward
from spanreward.rewards.base.verdict import Verdict
from spanreward.training.evaluation.answer_scores.answer import JudgedAnswer
from spanreward.training.evaluation.answer_scores.evaluate import Evaluation
from spanreward.training.evaluation.answers.prompts import Prompts
from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.evaluation.statistics.comparison import summarise
from spanreward.training.evaluation.statistics.summary import Summary, parts_by_kind
from spanreward.training.recipe import RewardPart

POSH = RewardPart(metric="posh")
SETUP = Setup(
    sides={"sft": ["s0", "s1", "s2"], "dapo": ["d0", "d1", "d2"]},
    seeds=[0, 1, 2],
    prompts=Prompts([{}] * 40, {}, {"source": SCENES}),
    parts=[POSH, RewardPart(metric=TRUTH)],
    rewards=[PoshReward(MatchJudge()), Truth()],
    max_tokens=96,
    learned=[POSH],
)


def evaluation(**gains: float) -> Evaluation:
    """dapo is higher than sft by so much, a little differently on each prompt and seed."""
    rng = np.random.default_rng(0)
    shared = rng.uniform(0.4, 0.6, (1, 40))
    scores: dict[str, Any] = {"sft": {}, "dapo": {}}
    failed: dict[str, Any] = {"sft": {}, "dapo": {}}
    for metric, gain in {**gains, "words": 2.0}.items():
        for model, added in (("sft", 0.0), ("dapo", gain)):
            noise = rng.normal(0, 0.02, (3, 40)) + rng.normal(0, 0.005, (3, 1))
            scores[model][metric] = shared + added + noise
            failed[model][metric] = np.zeros((3, 40), bool)
    return Evaluation(scores, failed, {"sft": [[], [], []], "dapo": [[], [], []]})


def test_three_seeds_may_be_better_and_worse() -> None:
    results = summarise(SETUP, evaluation(truth_f1=-0.1, posh_f1=0.1, overlap=0.0))
    entries = results.pairs[0].metrics.items()
    found = {metric: entry.outcome.verdict for metric, entry in entries}
    scored = {"truth_f1": "worse", "posh_f1": "better", "overlap": "undecided"}
    assert found == scored | {"words": "longer"}
    assert "better by PoSh F1 +0." in results.pairs[0].sentence
    (warning,) = results.warnings
    assert "that was trained on) +0.1" in warning
    assert "truth F1 (no judge)" in warning
    assert results.notes[0].startswith("every judge here")
    assert results.lost_by == ["truth_f1", "overlap", "posh_f1"]


def test_metrics_that_agree_warn_of_nothing() -> None:
    results = summarise(SETUP, evaluation(truth_f1=0.1, posh_f1=0.1))
    assert results.warnings == []
    other = replace(SETUP, learned=[])
    # neither metric was trained on
    (warning,) = summarise(other, evaluation(truth_f1=-0.1, posh_f1=0.1)).warnings
    assert "PoSh F1" in warning


def test_a_reward_that_applies_to_nothing_is_told() -> None:
    told = summarise(SETUP, evaluation(overlap=0.1)).warnings
    applied = [text.partition(" applies to none")[0] for text in told]
    assert applied == ["the reward posh", "the reward truth"]
    with pytest.raises(ValueError, match=r"\['posh', 'truth'\] apply to none"):
        summarise(SETUP, evaluation())


@pytest.mark.parametrize(
    ("padded", "told"), [(0, ""), (2, ""), (4, "notes"), (8, "warnings"), (40, "warnings")]
)
def test_answers_that_are_padded_beyond_chance_are_a_warning(padded: int, told: str) -> None:
    """Wilson's lower bound, by hand: 4 of 40 are .040 at least, 8 of 40 are .105."""
    found = evaluation(truth_f1=0.1, posh_f1=0.1)
    for model, count in (("sft", 0), ("dapo", padded)):
        found.scores[model]["degenerate"] = np.tile(np.arange(40) < count, (3, 1)).astype(float)
        found.failed[model]["degenerate"] = np.zeros((3, 40), bool)
    results = summarise(SETUP, found)
    for kind, texts in (("warnings", results.warnings), ("notes", results.notes)):
        said = [text for text in texts if "padded with words" in text]
        assert len(said) == (3 if kind == told else 0)


def test_what_a_run_folder_says_counts_more_than_the_recipe(tmp_path: Path) -> None:
    for name, rewards in (("d0", [{"metric": "lave"}]), ("s0", [])):
        recipe = {"policy": {"model": TINY}, "rewards": rewards}
        (tmp_path / name).mkdir()
        (tmp_path / name / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    sides = {"sft": [str(tmp_path / "s0")] * 3, "dapo": [str(tmp_path / "d0"), "d1", "d2"]}
    results = summarise(replace(SETUP, sides=sides), evaluation(truth_f1=0.1, posh_f1=0.1))
    assert results.metrics["posh_f1"].kind == "judge"  # of the LAVE that dapo was trained on
    assert results.pairs[0].metrics["posh_f1"].outcome.why.endswith("is one training run")
    assert results.notes == []
    assert results.compute["sft"].runs == 1


def test_parts_by_kind_are_those_of_the_reward_that_is_shown() -> None:
    def answer(value: float) -> JudgedAnswer:
        parts = {"recall": 0.5, "recall_entity": value, "filler": 0.1}
        return JudgedAnswer("", Verdict(0.5, parts=parts), {}, judge="posh")

    answers = {"sft": [[answer(0.2), answer(0.4)]], "dapo": [[answer(0.6), answer(0.6)]]}
    one = replace(SETUP, sides={"sft": ["s0"], "dapo": ["d0"]}, seeds=[0])
    parts = parts_by_kind(one, answers)
    assert list(parts.models["sft"]) == ["posh_recall_entity"]
    assert parts.differences["dapo", "sft"]["posh_recall_entity"].mean == pytest.approx(0.3)
    bare = replace(answer(0.2), verdict=Verdict(0.5))
    assert parts_by_kind(one, {"sft": [[bare]], "dapo": [[bare]]}) == Summary({}, {})
