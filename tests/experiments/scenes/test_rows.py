"""Scenes as a recipe's data: the right columns, and nothing of the truth in them."""

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from experiments.caprl.reward import CaprlReward
from experiments.scenes.parts import scenes_of, scenes_part
from experiments.scenes.referee import judge_description
from experiments.scenes.referee_judge import RefereeJudge
from experiments.scenes.rows import misread, scenes as scenes_rows
from experiments.scenes.truth import scene_named
from experiments.scenes.world import Thing, draw
from spanreward.rewards import Sample
from spanreward.training.data.load import load_data

SCENES = scenes_part(level=2, count=12, references=3, seed=5)
COLUMNS = ("id", "image", "prompt", "reference", "context", "criteria", "scene", "level", "objects")


def test_scenes_rows() -> None:
    dataset = load_data(SCENES)
    scenes = scenes_of(SCENES)
    assert sorted(dataset.column_names) == sorted(COLUMNS)
    assert len(dataset) == len(scenes) == 12
    for row, scene in zip(dataset, scenes, strict=True):
        assert row["prompt"] == [{"role": "user", "content": "Describe the picture."}]
        assert row["image"].convert("RGB").tobytes() == draw(scene).tobytes()
        assert len(row["reference"]) == 3
        assert len(row["criteria"]) == len(scene.objects)
        assert judge_description(" ".join(row["criteria"]), scene).f1 == 1.0
        for text in (*row["reference"], row["context"]):
            assert judge_description(text, scene).f1 == 1.0
    assert len(set(dataset["id"])) == 12


def test_questions_about_a_picture_that_is_described() -> None:
    data = scenes_part(**SCENES.options | {"questions": 4})
    rows, plain = load_data(data), load_data(SCENES)
    assert set(rows.column_names) == {*plain.column_names, "quiz"}
    assert rows["reference"] == plain["reference"]
    for row, scene in zip(rows, scenes_of(data), strict=True):
        asked = {one["question"] for one in row["quiz"]}
        assert 2 <= len(asked) == len(row["quiz"]) <= 4
        assert all(any(thing.shape in text for thing in scene.objects) for text in asked)
        sample = Sample("", row["context"], columns={"quiz": row["quiz"]})
        (verdict,) = CaprlReward(RefereeJudge({})).assess([sample])
        assert verdict.score == 1.0


def test_the_referee_finds_the_scene_that_a_row_names() -> None:
    data = scenes_part(**SCENES.options | {"split": "test", "count": 300})
    rows, scenes = load_data(data), scenes_of(data)
    assert [scene_named(name) for name in rows["scene"]] == scenes
    assert rows["objects"][:] == [str(len(scene.objects)) for scene in scenes]
    assert set(rows["level"]) == {"2"}


def test_scenes_rows_are_the_same_each_time() -> None:
    first = load_data(SCENES)["reference"]
    assert first == load_data(SCENES)["reference"]
    assert first != load_data(scenes_part(**SCENES.options | {"seed": 6}))["reference"]


def test_terse_scenes_say_less() -> None:
    data = scenes_part(**SCENES.options | {"keep_object": 0.6, "keep_attribute": 0.55})
    rows = list(zip(load_data(data), scenes_of(data), strict=True))
    truths = [judge_description(text, scene) for row, scene in rows for text in row["reference"]]
    assert all(truth.precision == 1.0 for truth in truths)
    assert sum(truth.recall for truth in truths) / len(truths) < 0.6
    assert all(judge_description(row["context"], scene).f1 == 1.0 for row, scene in rows)


def test_a_person_gets_a_fifth_of_sizes_and_colours_wrong_and_nothing_else() -> None:
    generator = random.Random(0)
    pairs: list[tuple[Thing, Thing]] = []
    for scene in scenes_of(scenes_part(**SCENES.options | {"count": 300})):
        pairs += zip(scene.objects, misread(scene, generator, 0.2).objects, strict=True)
    wrong = sum((right.size != seen.size) + (right.color != seen.color) for right, seen in pairs)
    assert wrong / (2 * len(pairs)) == pytest.approx(0.2, abs=0.02)
    assert all(replace(right, size=seen.size, color=seen.color) == seen for right, seen in pairs)


def test_references_of_people_who_misread_differ_in_what_is_wrong() -> None:
    data = scenes_part(**SCENES.options | {"wrong_attribute": 0.2})
    pairs = list(zip(load_data(data), scenes_of(data), strict=True))
    most = 0
    for row, scene in pairs:
        texts = {text for text in row["reference"] if judge_description(text, scene).f1 < 1}
        most = max(most, len(texts))
        assert judge_description(row["context"], scene).f1 == 1.0
    assert most > 1


def test_one_sft_row_per_reference() -> None:
    plain, rows = load_data(SCENES), load_data(SCENES, completions=True)
    assert sorted(rows.column_names) == sorted({*COLUMNS, "completion"})
    assert len(rows) == 36
    completions = [row["completion"] for row in rows]
    assert all(len(turn) == 1 and turn[0]["role"] == "assistant" for turn in completions)
    told = [text for row in plain for text in row["reference"]]
    assert [turn[0]["content"] for turn in completions] == told
    assert all(row["completion"][0]["content"] in row["reference"] for row in rows)


def test_no_row_holds_the_contents() -> None:
    """A reward sees every column: only what a judge reads may say what is in the picture."""
    told = ("image", "reference", "context", "criteria", "completion")
    scenes = [scene for scene in scenes_of(SCENES) for _ in range(3)]
    for row, scene in zip(load_data(SCENES, completions=True), scenes, strict=True):
        others = json.dumps({key: value for key, value in row.items() if key not in told})
        for thing in scene.objects:
            assert not any(word in others for word in (thing.shape, thing.color, thing.size))
        assert not row["image"].info


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 7}, "not 7"),
        ({"split": "dev"}, "not 'dev'"),
        ({"ask": "riddles"}, "descriptions, questions or both, not 'riddles'"),
        ({"keep_object": 1.5}, r"keep_object.*1\.5"),
        ({"keep_attribute": -0.1}, r"keep_attribute.*-0\.1"),
        ({"wrong_attribute": 2}, r"wrong_attribute.*2"),
        ({"unsure": 1.5}, r"unsure.*1\.5"),
        ({"questions": 4, "ask": "both"}, "questions=4 go with ask='descriptions'"),
    ],
)
def test_options_that_are_wrong(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        next(scenes_rows(**options))
