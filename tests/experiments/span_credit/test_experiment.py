"""The truth as a reward, its lying spans, and one shrunk run of the experiment."""

import json
from pathlib import Path

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
    assert (
        words["blue"].credit
        == words["circle"].credit
        < 0
        < words["star"].credit
        == words["top"].credit
    )
    assert words["blue"].kind == "color"


def test_a_text_that_says_nothing_right_has_no_spans() -> None:
    (verdict,) = TruthReward({"a": SCENE}).assess([sample("There is a circle.")])
    assert (verdict.score, verdict.spans) == (0.0, ())


def test_flipped_spans_lie_about_three_in_ten_and_the_score_does_not() -> None:
    samples = [sample()] * 200
    plain, flipped = (
        TruthReward({"a": SCENE}).assess(samples),
        TruthReward({"a": SCENE}, flipped=0.3).assess(samples),
    )
    assert [verdict.score for verdict in flipped] == [verdict.score for verdict in plain]
    pairs = [
        (a.score, b.score)
        for x, y in zip(plain, flipped, strict=True)
        for a, b in zip(x.spans, y.spans, strict=True)
    ]
    # 1,200 spans: four standard deviations
    assert 0.25 < sum(a != b for a, b in pairs) / len(pairs) < 0.35


def test_permuted_spans_are_the_groups_own() -> None:
    samples = [
        sample(),
        sample("There is a red star."),
        Sample(prompt="", completion="A circle, a star.", id="b"),
    ]
    scenes = {"a": SCENE, "b": SCENE}
    plain, permuted = (
        TruthReward(scenes).assess(samples),
        TruthReward(scenes, permuted=True).assess(samples),
    )
    for rows in ((0, 1), (2,)):
        credits = [
            sorted(span.credit for row in rows for span in verdicts[row].spans)
            for verdicts in (plain, permuted)
        ]
        assert credits[0] == credits[1]
    assert [[span.start for span in verdict.spans] for verdict in permuted] == [
        [span.start for span in verdict.spans] for verdict in plain
    ]


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
    run = train_arm(
        arm,
        reward,
        str(tmp_path),
        1,
        3,
        steps=1,
        learning_rate=1e-4,
        evaluate_every=1,
        prompts=4,
        perturbation=1e-6,
        overlong=0 if reward == "truth" else 8,
    )
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
    run = {
        "base": "no",
        "steps": [{}] * 2,
        "evaluations": [{"step": step, "f1": [0.5] * 4} for step in (0, 1, 2)],
    }
    (tmp_path / name).write_text(json.dumps(run))
    alike = ["--level", "1", "--seeds", "0", "--base", "no", "--steps", "2", "--evaluate-every"]
    alike += ["1", "--prompts", "4"]
    alike += ["--overlong", "0"]
    done = experiments("credit", "--output", tmp_path, "run", *alike)
    assert (done.code, done.out.strip()) == (0, f"{tmp_path / name} is there")
    others = [
        ("--base", "other"),
        ("--steps", "100"),
        ("--evaluate-every", "2"),
        ("--prompts", "8"),
    ]
    for option, value in [*others, ("--overlong", "8")]:
        done = experiments("credit", "--output", tmp_path, "run", *alike, option, value)
        assert done.code == 1
        made = dict(zip(alike[::2], alike[1::2], strict=True))[option]
        assert f"{name} was made with {option} {made}, and {value} " in done.err
