"""Evaluation with untrained tiny policies, which write the same noise every time."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.scenes.parts import TINY, scenes_of, scenes_part
from experiments.scenes.referee import judge_description
from experiments.scenes.truth import Truth
from experiments.scenes.world import make_scenes
from spanreward.rewards.base.verdict import Sample, Status, Verdict
from spanreward.rewards.judges.match.match_judge import MatchJudge
from spanreward.rewards.lave import LaveReward
from spanreward.rewards.posh import PoshReward
from spanreward.rewards.reward.reward import Reward
from spanreward.training.evaluation.answer_scores.answer import judged_answer
from spanreward.training.evaluation.answer_scores.evaluate import check_rewards, evaluate_sides
from spanreward.training.evaluation.answers import greedy as module
from spanreward.training.evaluation.answers.greedy import greedy_completions
from spanreward.training.evaluation.answers.held_out import held_out
from spanreward.training.evaluation.answers.prompts import prompts_of
from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.policy import load_policy

DATA = held_out(scenes_part(split="test", count=99), 6)
PROMPTS = prompts_of(DATA)
PARTS = ("f1", "precision", "recall")
METRICS = [f"{name}_{part}" for name in ("truth", "posh") for part in PARTS]
LAST = ["overlap", "words", "length", "truncated", "degenerate"]


class Named(Reward):
    """A reward that asks a judge."""

    def __init__(self, name: str, *parts: str) -> None:
        super().__init__(name)
        self.main_parts, self.judges = parts, (MatchJudge(),)


class FailsOnSome(Named):
    """Has no score for the first sample of every batch, and counts the characters of the others."""

    def assess(self, samples: Any) -> Any:
        counted = [Verdict(0.5, parts={"characters": len(sample.completion)}) for sample in samples]
        return [Verdict(None, Status.TIMEOUT), *counted[1:]]


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("policies")
    for seed in range(4):
        for part in load_policy(TINY, seed=seed):
            part.save_pretrained(folder / str(seed))
    paths = [str(folder / str(seed)) for seed in range(4)]
    return {"base": paths[:2], "dapo": paths[2:]}


def setup(sides: Any, rewards: Any) -> Setup:
    return Setup(sides, list(range(len(sides["base"]))), PROMPTS, [], rewards, max_tokens=12)


@pytest.fixture(scope="module")
def rewards() -> Any:
    return [PoshReward(MatchJudge()), FailsOnSome("fails", "characters"), Truth()]


@pytest.fixture(scope="module")
def evaluation(checkpoints: Any, rewards: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return evaluate_sides(setup(checkpoints, rewards), tmp_path_factory.mktemp("answers"))


def test_shapes_and_names(evaluation: Any) -> None:
    assert list(evaluation.scores) == list(evaluation.answers) == ["base", "dapo"]
    assert [row["scene"] for row in PROMPTS.rows] == [scene.seed for scene in scenes_of(DATA)]
    for table in evaluation.scores.values():
        assert list(table) == [*METRICS, "fails_characters", *LAST]
        assert {array.shape for array in table.values()} == {(2, 6)}
    runs = [run for runs in evaluation.answers.values() for run in runs]
    texts = {tuple(answer.text for answer in run) for run in runs}
    assert [len(run) for run in runs] == [6] * 4
    assert len(texts) == 4  # a policy each


def test_scores_are_those_of_the_answers(evaluation: Any) -> None:
    scenes = scenes_of(DATA)
    for model, seeds in evaluation.answers.items():
        scores = evaluation.scores[model]
        for seed, answers in enumerate(seeds):
            for prompt, (one, scene) in enumerate(zip(answers, scenes, strict=True)):
                assert scores["truth_f1"][seed, prompt] == judge_description(one.text, scene).f1
                assert scores["posh_f1"][seed, prompt] == one.verdict.parts["f1"]
                assert scores["length"][seed, prompt] <= 12


def test_a_failed_judge_is_nan_and_not_0(evaluation: Any) -> None:
    for model, seeds in evaluation.answers.items():
        failed = evaluation.scores[model]["fails_characters"]
        assert np.isnan(failed).tolist() == [[True, False, False, False, False, False]] * 2
        assert [seed[0].scores["fails_characters"] for seed in seeds] == [None, None]
        assert failed[1, 3] == len(seeds[1][3].text)
        assert (evaluation.failed[model]["fails_characters"] == np.isnan(failed)).all()
        assert not evaluation.failed[model]["posh_f1"].any()
        assert not np.isnan(evaluation.scores[model]["posh_f1"]).any()


@pytest.mark.parametrize(
    ("rewards", "told"),
    [
        ([], "rewards of different names"),
        ([PoshReward("match"), PoshReward("match", score="recall")], "rewards of different names"),
        ([LaveReward("match")], r"lave needs .* 'question', .* has \['context'"),
    ],
)
def test_rewards_that_cannot_be_compared(rewards: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        check_rewards(rewards, PROMPTS.rows)


def test_answer_by_hand() -> None:
    (scene,) = make_scenes("test", 1, 1)
    thing = scene.objects[0]
    wrong = "green" if thing.color != "green" else "red"
    text = f"There is a {wrong} {thing.shape}."
    reference = f"There is a {thing.color} {thing.shape}."
    sample = Sample("Describe.", text, references=(reference,), columns={"scene": scene.seed})
    (truth,) = Truth().assess([sample])
    right, failed = Verdict(0.5, parts={"f1": 0.5, "recall": 0.1}), Verdict(None, Status.ERROR)
    rewards = [Named("a", "f1"), Named("b", "f1"), Named("c"), Truth()]
    one = judged_answer(sample, 7, rewards, [right, failed, right, truth])
    facts = 5 * len(scene.objects)
    recall = 1 / facts  # the shape alone is right
    f1 = 2 * 0.5 * recall / (0.5 + recall)
    looks = {"words": 5.0, "length": 7.0, "truncated": 0.0, "degenerate": 0.0}
    overlap = pytest.approx(2 / 3)  # "there" and the shape of three content words
    truths = (pytest.approx(f1), 0.5, pytest.approx(recall))
    assert list(one.scores.items()) == [
        *zip(METRICS[:3], truths, strict=True),
        *(("a_f1", 0.5), ("b_f1", None), ("c_score", 0.5), ("overlap", overlap)),
        *looks.items(),
    ]
    assert (one.verdict, one.judge) == (right, "a")
    alone = judged_answer(sample, 7, [Truth()], [truth])
    assert (alone.verdict, alone.judge) == (truth, "truth")


def test_what_a_row_cannot_have_is_no_failure() -> None:
    other = Verdict(None, Status.NOT_APPLICABLE)
    judged = Verdict(1.0, parts={"score": 1.0})
    rewards = [Named("a", "f1"), Named("b", "score")]
    answered = Sample("Which?", "On it.", answers=("on it",))
    one = judged_answer(answered, None, rewards, [other, judged])
    # from a file: no tokens
    assert one.scores == {"b_score": 1.0, "overlap": 1.0, "words": 2.0, "degenerate": 0.0}
    assert (one.verdict, one.judge) == (judged, "b")
    neither = judged_answer(Sample("Describe.", "A dog."), 7, rewards[:1], [other], max_tokens=7)
    assert neither.scores == {"words": 2.0, "length": 7.0, "truncated": 1.0, "degenerate": 0.0}


def test_a_policy_that_stands_there_twice_answers_once(
    checkpoints: Any, rewards: Any, evaluation: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = []

    def counted(path: Any, *arguments: Any) -> Any:
        asked.append(path)
        return greedy_completions(path, *arguments)

    monkeypatch.setattr(module, "greedy_completions", counted)
    first, second = checkpoints["base"]
    again = evaluate_sides(setup({"base": [first, first, second]}, rewards), tmp_path)
    assert asked == [first, second]
    for metric, of_seeds in again.scores["base"].items():
        assert np.array_equal(of_seeds[[0, 2]], evaluation.scores["base"][metric], equal_nan=True)
        assert np.array_equal(of_seeds[0], of_seeds[1], equal_nan=True)
