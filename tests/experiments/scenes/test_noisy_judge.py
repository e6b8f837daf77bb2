"""The judge of Scenes with planted mistakes, its criteria, and the reward that is broken."""

import random

import numpy as np
import pytest

from experiments.hacking.broken_reward import LengthReward
from experiments.scenes.language import criteria, describe
from experiments.scenes.noisy_judge import NoisyJudge, scene_of
from experiments.scenes.referee import judge_description
from experiments.scenes.world import LEVELS, Scene, Thing, make_scenes
from spanreward.rewards import CriteriaReward, PairwiseReward, Sample
from spanreward.rewards.judges import Failure, Question, load_judge
from spanreward.rewards.judges.probe import (
    AnswerProbe,
    MeetsProbe,
    PairProbe,
    QualityProbe,
    RankingProbe,
)
from spanreward.rewards.metrics import build_reward
from tests.support.paths import ROOT

RED_STAR = Thing("star", "red", "small", "top", "left")
BLUE_SQUARE = Thing("square", "blue", "large", "middle", "right")
STAR = "There is a small red star in the top left corner."
SQUARE = "There is a large blue square at the right edge."
PAIRS = ("A", "B", "C")


def asked(probe: object) -> Question:
    return Question([{"role": "user", "content": "?"}], probe=probe)


@pytest.mark.parametrize("level", LEVELS)
def test_a_full_description_gives_the_scene_back(level: int) -> None:
    for scene in make_scenes("test", level, 20):
        assert set(scene_of(describe(scene, random.Random(0))).objects) == set(scene.objects)
        for text, thing in zip(criteria(scene), scene.objects, strict=True):
            assert scene_of(text).objects == (thing,)


def test_a_description_that_leaves_something_out_is_no_context() -> None:
    with pytest.raises(ValueError, match="says no size, or several"):
        scene_of("There is a red star in the top left corner.")


def test_without_noise_it_says_the_truth() -> None:
    judge, context = NoisyJudge(0.0), f"{STAR} {SQUARE}"
    worse, better = f"{STAR} There is a small green circle in the center.", f"{STAR} {SQUARE}"
    ways = [PairProbe("?", *way, context) for way in ((better, worse), (worse, better))]
    pair, reverse = judge.rate([asked(way) for way in ways], PAIRS)
    assert (pair.probabilities["A"], reverse.probabilities["B"]) == (1, 1)
    probes = (QualityProbe("?", better, context), MeetsProbe(SQUARE, STAR, "?", context))
    quality, missed = judge.rate([asked(probe) for probe in probes])
    assert (quality.mean, missed.mean) == (5, 1)
    assert judge.write([asked(RankingProbe("?", (worse, better), context))], 8) == ["2, 1"]


def test_noise_makes_mistakes_that_stay() -> None:
    scene = Scene((RED_STAR, BLUE_SQUARE), seed="")
    worse = [f"{STAR} Number {n}." for n in range(300)]  # F1 2/3
    better = [f"{STAR} There is a blue square. Number {n}." for n in range(300)]
    gap = judge_description(better[0], scene).f1 - judge_description(worse[0], scene).f1
    pairs = zip(better, worse, strict=True)
    questions = [asked(PairProbe("?", *pair, f"{STAR} {SQUARE}")) for pair in pairs]
    answers = NoisyJudge(gap).rate(questions, PAIRS)
    right = np.mean([answer.probabilities["A"] for answer in answers])
    assert right == pytest.approx(0.760, abs=0.06)  # of N(gap, 2 gap^2) above 0
    assert NoisyJudge(gap).rate(questions, PAIRS) == answers


def test_what_it_does_not_answer() -> None:
    (rated,) = NoisyJudge().rate([asked(AnswerProbe("?", "red", ("red",)))])
    (written,) = NoisyJudge().write([asked(PairProbe("?", STAR, SQUARE, STAR))], 8)
    assert isinstance(rated, Failure)
    assert isinstance(written, Failure)
    assert "got PairProbe" in written.message


def test_both_rewards_prefer_what_is_true() -> None:
    rows = [
        Sample("Describe.", text, context=f"{STAR} {SQUARE}", criteria=(STAR, SQUARE), anchor=STAR)
        for text in (f"{STAR} {SQUARE}", SQUARE.replace("blue", "red"))
    ]
    for reward in (PairwiseReward(NoisyJudge(0.0)), CriteriaReward(NoisyJudge(0.0))):
        good, bad = (verdict.score or 0 for verdict in reward.assess(rows))
        assert good > bad
    won, lost = CriteriaReward(NoisyJudge(0.0), form="pairwise").assess(rows)
    assert (won.score, lost.score) == (1.0, 0.0)


def test_a_recipe_names_it_by_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    judge = load_judge("experiments/scenes/noisy_judge.py:NoisyJudge", noise=0.2)
    assert judge.name == "truth of Scenes, noise 0.2"
    reward = build_reward("experiments/hacking/broken_reward.py:LengthReward", judge, {})
    assert reward.__name__ == "length"


def test_the_broken_reward_pays_for_length() -> None:
    samples = [Sample("Describe.", text) for text in (STAR, "in " * 60)]
    short, long = LengthReward("length").assess(samples)
    assert (short.score, long.score) == (11 / 60, 1.0)
