"""The truth as a reward, its lying spans, and one shrunk run of the experiment."""

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.scenes.parts import TINY
from experiments.scenes.referee import judge_description
from experiments.scenes.truth_reward import TruthReward
from experiments.scenes.world import Scene, Thing
from experiments.span_credit.arm import Arm
from experiments.span_credit.experiment import train_arm
from spanreward.rewards.base.verdict import Sample
from spanreward.training.policy import load_policy
from tests.support.command import experiments

SCENE = Scene((Thing("star", "red", "small", "top", "left"),), "0")
TEXT = "There is a small blue star in the top left corner. There is a circle."


def sample(text: str = TEXT) -> Sample:
    return Sample(prompt="", completion=text, id="a")


def test_the_truth_and_its_spans() -> None:
    (verdict,) = TruthReward({"a": SCENE}).assess([sample()])
    truth = judge_description(TEXT, SCENE)
    assert verdict.score == truth.f1 == pytest.approx(2 * (4 / 6) * (4 / 5) / (4 / 6 + 4 / 5))
    words = {TEXT[span.start : span.end]: span for span in verdict.spans}
    assert {word: span.score for word, span in words.items()} == {
        **{"small": 1.0, "blue": 0.0, "star": 1.0, "top": 1.0, "left": 1.0, "circle": 0.0}
    }
    assert words["blue"].credit == words["circle"].credit < 0
    assert words["star"].credit == words["top"].credit > 0
    assert words["blue"].kind == "color"


def test_a_text_that_says_nothing_right_has_no_spans() -> None:
    (verdict,) = TruthReward({"a": SCENE}).assess([sample("There is a circle.")])
    assert (verdict.score, verdict.spans) == (0.0, ())


def test_flipped_spans_lie_about_three_in_ten_and_the_score_does_not() -> None:
    samples = [sample()] * 200
    plain = TruthReward({"a": SCENE}).assess(samples)
    flipped = TruthReward({"a": SCENE}, flipped=0.3).assess(samples)
    assert [verdict.score for verdict in flipped] == [verdict.score for verdict in plain]
    wrong = []
    for true, lying in zip(plain, flipped, strict=True):
        for one, other in zip(true.spans, lying.spans, strict=True):
            wrong.append(one.score != other.score)
    assert 0.25 < sum(wrong) / len(wrong) < 0.35  # 1,200 spans: four standard deviations


def test_permuted_spans_are_the_groups_own() -> None:
    other = Sample(prompt="", completion="A circle, a star.", id="b")
    samples = [sample(), sample("There is a red star."), other]
    scenes = {"a": SCENE, "b": SCENE}
    plain = [verdict.spans for verdict in TruthReward(scenes).assess(samples)]
    permuted = [verdict.spans for verdict in TruthReward(scenes, permuted=True).assess(samples)]
    for rows in (slice(0, 2), slice(2, 3)):
        before, after = (
            sorted(span.credit for row in spans[rows] for span in row)
            for spans in (plain, permuted)
        )
        assert before == after
    for one, moved in zip(plain, permuted, strict=True):
        assert [span.start for span in one] == [span.start for span in moved]


@pytest.mark.parametrize(
    ("arm", "name", "reward"),
    [
        (Arm(0.0), "scalar", "truth"),
        (Arm(0.5, flipped=0.1, permuted=True), "add_centred-0.5-flipped-0.1-permuted", "truth"),
        (Arm(1.0), "add_centred-1", "posh:match"),
    ],
)
def test_one_step_of_an_arm(tmp_path: Path, arm: Arm, name: str, reward: str) -> None:
    model, processor = load_policy(TINY, 0)
    model.save_pretrained(tmp_path)
    processor.save_pretrained(tmp_path)
    small: dict[str, Any] = {"steps": 1, "evaluate_every": 1, "prompts": 4, "perturbation": 1e-6}
    small |= {"learning_rate": 1e-4, "overlong": 0 if reward == "truth" else 8}
    run = train_arm(arm, reward, str(tmp_path), 1, 3, **small)
    assert (run["arm"]["name"], run["reward"], run["perturbation"]) == (name, reward, 1e-6)
    assert json.loads(json.dumps(run)) == run
    assert [measured["step"] for measured in run["evaluations"]] == [0, 1]
    assert all(len(measured["f1"]) == 4 for measured in run["evaluations"])
    (step,) = run["steps"]
    assert step["step"] == 1
    assert 0 <= step["truth_f1"] <= 1
    assert (step["truth_f1"] == step["reward"]) == (reward == "truth")


def test_a_run_that_is_there_is_not_taken_for_one_of_other_settings(tmp_path: Path) -> None:
    name = "level1-truth-scalar-0.0002-seed0.json"
    evaluations = [{"step": step, "f1": [0.5] * 4} for step in (0, 1, 2)]
    run = {"base": "no", "steps": [{}] * 2, "evaluations": evaluations}
    (tmp_path / name).write_text(json.dumps(run))
    made = "--level 1 --seeds 0 --base no --steps 2 --evaluate-every 1 --prompts 4 --overlong 0"
    words = ["credit", "--output", str(tmp_path), "run", *made.split()]
    done = experiments(*words)
    assert (done.code, done.out.strip()) == (0, f"{tmp_path / name} is there")
    others = ["--base", "other", "--steps", "100", "--evaluate-every", "2", "--prompts", "8"]
    others += ["--overlong", "8"]
    for option, value in zip(others[::2], others[1::2], strict=True):
        done = experiments(*words, option, value)
        assert done.code == 1
        was = words[words.index(option) + 1]
        assert f"{name} was made with {option} {was}, and {value} " in done.err
