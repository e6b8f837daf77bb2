"""Evaluation with untrained tiny policies, which write the same noise every time."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from experiments.scenes.parts import TINY, scenes_of, scenes_part
from experiments.scenes.referee import judge_description
from experiments.scenes.truth import Truth
from experiments.scenes.world import draw, make_scenes
from spanreward.rewards.base.verdict import Sample, Status, Verdict
from spanreward.rewards.judges.match.match_judge import MatchJudge
from spanreward.rewards.lave import LaveReward
from spanreward.rewards.posh import PoshReward
from spanreward.rewards.reward.reward import Reward
from spanreward.training.evaluation.answer_scores.answer import judged_answer
from spanreward.training.evaluation.answer_scores.evaluate import check_rewards, evaluate_sides
from spanreward.training.evaluation.answers import greedy as module
from spanreward.training.evaluation.answers.greedy import (
    BATCH_ROWS,
    greedy_completions,
    with_picture,
)
from spanreward.training.evaluation.answers.held_out import held_out, held_out_data
from spanreward.training.evaluation.answers.prompts import prompts_of
from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.policy import load_policy
from spanreward.training.recipe import JsonlPart, MixedPart, load_recipe
from tests.support.paths import ROOT

DATA = held_out(scenes_part(split="test", count=99), 6)
PROMPTS = prompts_of(DATA)
PARTS = ("f1", "precision", "recall")
METRICS = [f"{name}_{part}" for name in ("truth", "posh") for part in PARTS]
LAST = ["overlap", "words", "length", "truncated", "degenerate"]
SCENES_DAPO = sorted((ROOT / "recipes/quickstart").glob("scenes-*dapo.yaml"))


class FailsOnSome(Reward):
    """Has no score for the first sample of every batch, and counts the characters of the others."""

    main_parts = ("characters",)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.judges = (MatchJudge(),)

    def assess(self, samples: Any) -> Any:
        counted = [Verdict(0.5, parts={"characters": len(sample.completion)}) for sample in samples]
        return [Verdict(None, Status.TIMEOUT), *counted[1:]]


class Named(Reward):
    """A reward that asks a judge."""

    def __init__(self, name: str, *parts: str) -> None:
        super().__init__(name)
        self.main_parts, self.judges = parts, (MatchJudge(),)


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


def asked(prompt: str, picture: Any = None) -> dict[str, Any]:
    image = picture or Image.new("RGB", (48, 48))
    return {"prompt": [{"role": "user", "content": prompt}], "image": image}


@pytest.fixture(scope="module")
def rewards() -> Any:
    return [PoshReward(MatchJudge()), FailsOnSome("fails"), Truth()]


@pytest.fixture(scope="module")
def evaluation(checkpoints: Any, rewards: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return evaluate_sides(setup(checkpoints, rewards), {}, tmp_path_factory.mktemp("answers"))


def texts_of(evaluation: Any) -> list[list[str]]:
    """What each policy wrote."""
    runs = [run for runs in evaluation.answers.values() for run in runs]
    return [[answer.text for answer in run] for run in runs]


def test_shapes_and_names(evaluation: Any) -> None:
    assert list(evaluation.scores) == list(evaluation.answers) == ["base", "dapo"]
    assert [row["scene"] for row in PROMPTS.rows] == [scene.seed for scene in scenes_of(DATA)]
    for table in evaluation.scores.values():
        assert list(table) == [*METRICS, "fails_characters", *LAST]
        assert {array.shape for array in table.values()} == {(2, 6)}
    assert {len(seed) for seeds in evaluation.answers.values() for seed in seeds} == {6}
    # a policy each
    assert len(set().union(*texts_of(evaluation))) >= 4


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


def test_a_batch_writes_what_each_prompt_alone_would(checkpoints: Any) -> None:
    """Prompts of different lengths, so that the batch is padded."""
    long = "Describe the picture in as many words as you can, please."
    pictures = [draw(scene) for scene in make_scenes("test", 1, 3)]
    rows = list(map(asked, ("Describe.", long, "There is a red star 🦊?"), pictures))
    texts, lengths = greedy_completions(checkpoints["base"][0], rows, 12)
    alone = [greedy_completions(checkpoints["base"][0], [row], 12) for row in rows]
    assert (texts, lengths) == ([one for (one,), _ in alone], [one for _, (one,) in alone])
    assert len(set(texts)) > 1


def test_more_prompts_than_a_batch_keep_their_order(
    checkpoints: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [asked("x" * i) for i in range(1, 6)]
    whole = greedy_completions(checkpoints["dapo"][1], rows, 6)
    assert len(rows) < BATCH_ROWS
    monkeypatch.setattr(module, "BATCH_ROWS", 2)
    assert greedy_completions(checkpoints["dapo"][1], rows, 6) == whole


def test_the_end_token_is_not_counted_and_not_written(
    checkpoints: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, processor = load_policy(checkpoints["base"][0])
    words = processor.tokenizer
    star, circle = words([" star", " circle"], add_special_tokens=False)["input_ids"]
    end, pad = [words.eos_token_id], [words.pad_token_id]
    written = [star + circle + end, circle + end + pad * len(star), end + pad * len(star + circle)]

    class Model(torch.nn.Module):
        device, dtype = "cpu", torch.float32

        def generate(self, input_ids: Any, max_new_tokens: int, do_sample: bool, **_: Any) -> Any:
            assert (max_new_tokens, do_sample) == (5, False)
            return torch.cat([input_ids, torch.tensor(written)], dim=1)

    monkeypatch.setattr(module, "load_policy", lambda path, dtype: (Model(), processor))
    lengths = [len(star + circle), len(circle), 0]
    found = greedy_completions("any", [asked("x")] * 3, 5)
    assert found == ([" star circle", " circle", ""], lengths)


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


@pytest.mark.parametrize("path", SCENES_DAPO, ids=lambda path: path.stem)
def test_held_out_prompts_are_the_test_split_in_full(path: Path) -> None:
    recipe = load_recipe(path)
    chosen, told = held_out_data(recipe, recipe)
    data = held_out(chosen, 6)
    assert (data.options, data.count, told) == ({**recipe.data.options, "split": "test"}, 6, [])
    assert not {"keep_object", "keep_attribute", "unsure"} & set(data.options)
    trained = {scene.objects for scene in make_scenes("train", 1, 500)}
    assert trained.isdisjoint(scene.objects for scene in scenes_of(data))


def test_held_out_rows_are_the_first_ones() -> None:
    file = held_out(JsonlPart(source="jsonl", path="rows.jsonl"), 6)
    assert (file.path, file.count) == ("rows.jsonl", 6)
    mixed = held_out(MixedPart(source="mixed", parts=[scenes_part(count=9), file, file]), 7)
    assert [part.count for part in mixed.parts] == [3, 3, 3]


def test_the_picture_stands_in_front_of_the_first_message() -> None:
    picture = Image.new("RGB", (2, 2))
    prompt = [{"role": "user", "content": "A?"}, {"role": "assistant", "content": "B."}]
    shown = [{"type": "image", "image": picture}, {"type": "text", "text": "A?"}]
    assert with_picture(prompt, picture) == [{"role": "user", "content": shown}, prompt[1]]
    assert prompt[0]["content"] == "A?"


def test_a_policy_that_stands_there_twice_answers_once(
    checkpoints: Any, rewards: Any, evaluation: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = []

    def counted(path: Any, *arguments: Any) -> Any:
        asked.append(path)
        return greedy_completions(path, *arguments)

    monkeypatch.setattr(module, "greedy_completions", counted)
    first, second = checkpoints["base"]
    again = evaluate_sides(setup({"base": [first, first, second]}, rewards), {}, tmp_path)
    assert asked == [first, second]
    for metric, of_seeds in again.scores["base"].items():
        assert np.array_equal(of_seeds[[0, 2]], evaluation.scores["base"][metric], equal_nan=True)
        assert np.array_equal(of_seeds[0], of_seeds[1], equal_nan=True)


def test_a_gpu_is_used_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for the device: the policy goes there in bfloat16, and leaves no memory."""
    told = []

    class Policy(torch.nn.Module):
        def __init__(self, dtype: str) -> None:
            super().__init__()
            told.append(dtype)

        def to(self, device: Any) -> Any:  # type: ignore[override]
            told.append(device)
            return self

    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.empty_cache", lambda: told.append("emptied"))
    monkeypatch.setattr(module, "load_policy", lambda path, dtype: (Policy(dtype), None))
    monkeypatch.setattr(module, "continue_prompts", lambda model, *_, **__: (["A star."], [3]))
    monkeypatch.setattr(module, "answers_by_vllm", lambda *_: (["A moon."], [4]))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert module.greedy_completions("folder", [{}], 8) == (["A star."], [3])
    assert told == ["bfloat16", "cuda", "emptied"]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    assert module.greedy_completions("folder", [{}], 8) == (["A moon."], [4])
