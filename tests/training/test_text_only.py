"""Rows without pictures, from the file to the comparison."""

import json
import logging
from pathlib import Path
from typing import Any

import datasets
import pytest
from datasets import Dataset
from PIL import Image

from experiments.scenes.parts import TINY
from spanreward.training.data.load import load_data
from spanreward.training.recipe import (
    FilePart,
    HubPart,
    JsonlPart,
    MixedPart,
    Recipe,
    RecipeError,
)
from spanreward.training.recipe_rewards import build_rewards
from spanreward.training.run import build_trainer, run
from tests.support.command import spanreward
from tests.support.dapo_run import quickstart
from tests.support.data_parts import jsonl
from tests.support.files import read_lines
from tests.support.refused_data import refused
from tests.support.tiny_models import save_llama

RED, BLUE = "Two say: A red wall. The wall is red.", "Two say: A blue sky. The sky."
CAPTIONS = [
    {"prompt": RED, "reference": ["A wall.", "A red wall."], "context": "A wall."},
    {"prompt": BLUE, "reference": ["A sky."], "context": "A blue sky."},
]
PICTURED = {"image": "red.png", "reference": "A red wall."}


def contents(column: Any) -> list[str]:
    return [turn["content"] for (turn,) in column]


def test_the_prompt_is_asked_as_it_is(tmp_path: Path) -> None:
    records = [{**CAPTIONS[0], "question": "Is it red?"}, {**CAPTIONS[1], "question": None}]
    dataset = load_data(jsonl(tmp_path, *records, prompt="In a word: {question}"))
    assert sorted(dataset.column_names) == ["context", "id", "prompt", "question", "reference"]
    assert contents(dataset["prompt"]) == [RED, BLUE]
    Image.new("RGB", (40, 30), "red").save(tmp_path / "red.png")
    pictured = load_data(jsonl(tmp_path, {**PICTURED, "prompt": "Say it."}, PICTURED))
    assert contents(pictured["prompt"]) == ["Say it.", "Describe the picture."]


def test_a_question_can_be_the_prompt(tmp_path: Path) -> None:
    record = {"question": "What is red?", "answers": ["a wall"]}
    (row,) = load_data(jsonl(tmp_path, record, columns={"prompt": "question"}))
    assert (row["prompt"][0]["content"], row["question"]) == ("What is red?", "What is red?")


def test_sft_learns_each_reference(tmp_path: Path) -> None:
    dataset = load_data(jsonl(tmp_path, *CAPTIONS), completions=True)
    assert contents(dataset["completion"]) == ["A wall.", "A red wall.", "A sky."]
    assert "image" not in dataset.column_names


def test_any_source_gives_rows_without_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    (tmp_path / "stored").mkdir()
    Dataset.from_list(CAPTIONS).to_parquet(str(tmp_path / "stored" / "train.parquet"))
    (tmp_path / "my_data.py").write_text(f"def rows():\n    return {CAPTIONS!r}\n")
    hub = HubPart(source="hub", id=str(tmp_path / "stored"))
    one = [
        FilePart(source=f"{tmp_path}/my_data.py:rows"),
        hub,
        hub.model_copy(update={"streaming": True, "count": 2}),
    ]
    for part in (*one, MixedPart(source="mixed", parts=one)):
        dataset = load_data(part)
        assert dataset["reference"][:] == [row["reference"] for row in CAPTIONS] * len(part.parts)
        assert "image" not in dataset.column_names
    photo = hub.model_copy(update={"columns": {"image": "photo"}})
    assert "has no column 'photo'" in refused(photo)


@pytest.fixture
def text_model(tmp_path: Path) -> str:
    save_llama(tmp_path / "base")
    return str(tmp_path / "base")


def recipe(folder: Path, algorithm: str, model: str, data: JsonlPart) -> Recipe:
    rows = (f"data={data.model_dump_json()}", "validation=null", "rewards=[{metric: posh}]")
    changes = (*rows, f"policy.model={model}", "referees=[]", "trainer.max_steps=2")
    return quickstart(algorithm, folder / f"out-{algorithm}", *changes)


def check_two_steps(output: Path) -> None:
    lines = read_lines(output / "metrics.jsonl")
    assert [line["step"] for line in lines if "loss" in line] == [1, 2]


@pytest.mark.parametrize("algorithm", ["sft", "dapo"])
def test_two_steps_of_a_text_model_and_a_comparison(
    tmp_path: Path, text_model: str, algorithm: str
) -> None:
    data = jsonl(tmp_path, *CAPTIONS * 4)
    output = run(recipe(tmp_path, algorithm, text_model, data))
    check_two_steps(output)
    chosen = f"--recipe {output}/recipe.yaml --set validation.path={data.path} --max-tokens 8"
    sides = (f"base={text_model}", f"after={output}", "--output", tmp_path / "compared")
    done = spanreward("compare", *sides, *chosen.split())
    assert done.code == 0, done.err
    results = json.loads((tmp_path / "compared" / "results.json").read_text())
    assert set(results["models"]) == {"base", "after"}


@pytest.mark.parametrize("algorithm", ["sft", "dapo"])
def test_a_vision_language_model_learns_from_text_alone(
    tmp_path: Path, algorithm: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        output = run(recipe(tmp_path, algorithm, TINY, jsonl(tmp_path, *CAPTIONS * 4)))
    assert f"{TINY} learns from text" in caplog.text
    check_two_steps(output)


@pytest.mark.parametrize("algorithm", ["sft", "dapo"])
def test_a_text_model_is_given_no_pictures(tmp_path: Path, text_model: str, algorithm: str) -> None:
    Image.new("RGB", (40, 30), "red").save(tmp_path / "red.png")
    told = recipe(tmp_path, algorithm, text_model, jsonl(tmp_path, *[PICTURED] * 8))
    with pytest.raises(RecipeError, match="vision-language model"):
        build_trainer(told, build_rewards(told.rewards))
