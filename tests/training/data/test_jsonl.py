"""JSONL files with questions, context and boxes: what becomes a row, what the policy is asked, what
is refused.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset
from PIL import Image

from experiments.scenes.parts import TINY, WORDS
from experiments.scenes.word_judge import WordJudge
from spanreward.rewards import HarmonicReward, LaveReward, MatchJudge, Status
from spanreward.rewards.rows.sample import read_sample
from spanreward.training.data.load import load_data, most_frequent
from spanreward.training.data.rows import prompt_for
from spanreward.training.plan.dry_run import row_count
from spanreward.training.recipe import JsonlPart, Recipe, RecipeError, check_recipe
from spanreward.training.recipe_rewards import build_rewards
from spanreward.training.run import build_trainer, run
from tests.support.data_parts import asked, jsonl, learned
from tests.support.refused_data import refused
from tests.support.tables import table

CAPTION = {"image": "red.png", "reference": ["A red wall.", "A wall is red."]}
ASKED = {"image": "red.png", "question": "What color is it?"}
ASKED["answers"] = ["red", "Red.", "pink", "red", "blue"]
NO = [{"answer": "no", "answer_id": i} for i in range(10)]
VQA = {"image": "blue.png", "question": "Is it red?", "answers": NO}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("red", "blue"):
        Image.new("RGB", (40, 30), name).save(tmp_path / f"{name}.png")
    return tmp_path


def test_questions_and_answers(folder: Path) -> None:
    dataset = load_data(jsonl(folder, ASKED, VQA))
    assert sorted(dataset.column_names) == ["answers", "id", "image", "prompt", "question"]
    assert dataset["question"][:] == ["What color is it?", "Is it red?"]
    assert dataset["answers"][:] == [ASKED["answers"], ["no"] * 10]


def test_captions_and_questions_have_none_in_what_they_lack(folder: Path) -> None:
    boxed = {"image": "blue.png", "task": "reg", "bbox": [1, 2.5, 30, 20], "context": "A wall."}
    dataset = load_data(jsonl(folder, CAPTION, ASKED, boxed))
    columns = ["answers", "bbox", "context", "id", "image", "prompt", "question"]
    assert sorted(dataset.column_names) == [*columns, "reference", "task"]
    lacking = [{column for column, value in row.items() if value is None} for row in dataset]
    assert lacking == [
        {"question", "answers", "context", "bbox", "task"},
        {"reference", "context", "bbox", "task"},
        {"reference", "question", "answers"},
    ]
    assert dataset[2]["bbox"] == [1.0, 2.5, 30.0, 20.0]


def test_rewards_go_by_the_columns_of_a_row(folder: Path) -> None:
    described = {"image": "red.png", "context": "A red wall."}
    dataset = load_data(jsonl(folder, CAPTION, ASKED, described))
    samples = [read_sample(row, "red", row["prompt"]) for row in dataset]
    harmonic = HarmonicReward(WordJudge(), evidence="context")
    for reward, judged in ((LaveReward(MatchJudge()), 1), (harmonic, 2)):
        statuses = [Status.NOT_APPLICABLE] * 3
        statuses[judged] = Status.OK
        assert [verdict.status for verdict in reward.assess(samples)] == statuses


def test_every_column_can_have_another_name(folder: Path) -> None:
    names = ("image", "reference", "question", "answers", "context", "bbox", "task")
    columns = {name: f"my {name}" for name in names}
    values = {**ASKED, **CAPTION, "context": "A wall.", "bbox": [0, 0, 4, 4], "task": "vqa"}
    record = {columns[name]: value for name, value in values.items()}
    renamed = load_data(jsonl(folder, record, columns=columns))[0]
    plain = load_data(jsonl(folder, values))[0]
    del renamed["image"], plain["image"]
    assert renamed == plain
    assert plain["task"] == "vqa"


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        (None, ["Describe the picture.", "What color is it?"]),
        ("Look.", ["Look.", "Look.\nWhat color is it?"]),
        ("Q: {question} A:", ["Describe the picture.", "Q: What color is it? A:"]),
    ],
)
def test_the_question_is_in_the_prompt(folder: Path, prompt: Any, expected: Any) -> None:
    assert asked(jsonl(folder, CAPTION, ASKED, prompt=prompt)) == expected


def test_a_question_is_put_in_once_and_as_it_is() -> None:
    hostile = "{question} {answer} {{question}} \\1"
    assert prompt_for(hostile, "{question} / {other}") == f"{hostile} / {{other}}"


def test_a_picture_alone_is_enough(folder: Path) -> None:
    question = {"image": "blue.png", "question": "What is it?"}
    dataset = load_data(jsonl(folder, {"image": "red.png"}, question))
    assert sorted(dataset.column_names) == ["id", "image", "prompt", "question"]


@pytest.mark.parametrize("empty", [None, [], [" "], ""])
def test_a_question_that_nobody_answered_is_left_out(
    folder: Path, empty: Any, caplog: pytest.LogCaptureFixture
) -> None:
    unanswered = {**ASKED, "answers": empty}
    data = jsonl(folder, unanswered, VQA, {**unanswered, "context": "A red wall."})
    assert load_data(data)["id"][:] == ["2", "3"]
    assert re.search("left out 1 rows .* kept 2", caplog.text)


def test_sft_learns_every_reference_and_the_most_frequent_answer(folder: Path) -> None:
    data = jsonl(folder, CAPTION, ASKED, {**VQA, "reference": "A blue wall."}, target="answers")
    assert learned(data) == ["A red wall.", "A wall is red.", "red", "no"]
    long_form = {"image": "red.png", "question": "What is it?", "reference": "It is a red wall."}
    (row,) = load_data(jsonl(folder, long_form), completions=True)
    said = [row[name][0]["content"] for name in ("prompt", "completion")]
    assert said == ["What is it?", "It is a red wall."]


def test_answers_are_counted_after_normalisation() -> None:
    assert most_frequent(["2", "Dogs.", "a dog", "The dog", "two", "Dog"]) == "a dog"
    assert most_frequent(["b", "a"]) == "b"
    assert most_frequent(["?", "?", "!"]) == "?"


def test_a_file_may_begin_with_a_byte_order_mark(folder: Path) -> None:
    path = folder / "rows.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + 2 * (json.dumps(CAPTION).encode() + b"\n"))
    assert len(load_data(JsonlPart(source="jsonl", path=str(path)))) == 2


def test_a_placeholder_of_the_picture_is_not_asked_twice(folder: Path) -> None:
    """The policy's processor puts it in itself: a second one has no picture, and transformers would
    raise in a step.
    """
    message = [{"from": "human", "value": "<image>\nWhat is it?"}]
    records = [{**ASKED, "question": "<image>\nWhat is it?"}, {**CAPTION, "prompt": "<image>"}]
    records.append({"images": ["red.png"], "prompt": message, "reference": "A wall."})
    data = jsonl(folder, *records)
    assert asked(data) == ["What is it?", "Describe the picture.", "What is it?"]
    assert load_data(data)["question"][0] == "What is it?"
    assert [image.size for image in load_data(data)["image"]] == [(40, 30)] * 3
    assert asked(jsonl(folder, CAPTION, prompt="<image>Say it.")) == ["Say it."]
    within = {**ASKED, "question": "What does <image> show?"}
    for data in (jsonl(folder, within), jsonl(folder, within, prompt="<image>{question} Say it.")):
        assert asked(data)[0].startswith("What does the picture show?")
        assert load_data(data)["question"][0] == "What does the picture show?"


@pytest.mark.parametrize("kind", ["csv", "tsv.gz", "pretty.json", "parquet"])
def test_a_recipe_reads_tables_too(folder: Path, kind: str) -> None:
    other = {**ASKED, "question": "Is it red?", "answers": ["yes"], "bbox": [0, 0, 4, 4]}
    rows = [{**ASKED, "bbox": [1, 2, 30, 20]}, other]
    data = JsonlPart(source="jsonl", path=table(folder, kind, rows))
    lines = jsonl(folder, *rows)
    assert load_data(data).remove_columns("image")[:] == load_data(lines).remove_columns("image")[:]
    assert row_count(data) == 2


def test_a_recipe_reads_pictures_in_parquet(folder: Path) -> None:
    for content, name in (((folder / "red.png").read_bytes(), "rows"), (b"no", "no")):
        row = {"image": {"bytes": content, "path": None}, "reference": "A red wall."}
        Dataset.from_list([row]).to_parquet(folder / f"{name}.parquet")
    data = JsonlPart(source="jsonl", path=str(folder / "rows.parquet"))
    assert load_data(data)["image"][0].size == (40, 30)
    said = refused(JsonlPart(source="jsonl", path=str(folder / "no.parquet")))
    assert "no.parquet row 1: the picture" in said
    assert "cannot be read" in said


def recipe(folder: Path, metric: str, data: JsonlPart, **options: Any) -> Recipe:
    trainer = {"use_cpu": True, "bf16": False, "max_steps": 2, "logging_steps": 1}
    trainer |= {"per_device_train_batch_size": 8, "num_generations": 4}
    trainer |= {"max_completion_length": 8, "report_to": "none"}
    fields = {"algorithm": "dapo", "output": str(folder / "out"), "policy": {"model": TINY}}
    fields |= {"rewards": [{"metric": metric, "judge": WORDS, "options": options}]}
    return check_recipe({**fields, "data": data.model_dump(), "trainer": trainer})


CONTEXT = {"image": "red.png", "context": "A red wall."}


@pytest.mark.parametrize(
    ("metric", "rows", "options", "part"),
    [
        ("lave", [ASKED, VQA] * 4, {}, "lave/score"),
        ("harmonic", [CONTEXT] * 8, {"evidence": "context", "spans": "none"}, "harmonic/overall"),
    ],
)
def test_two_steps(folder: Path, metric: str, rows: Any, options: Any, part: str) -> None:
    """Of questions, and of captions with context and no reference."""
    data = jsonl(folder, *rows, prompt="In a word: {question}")
    output = run(recipe(folder, metric, data, **options))
    lines = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()][:2]
    assert [line["step"] for line in lines] == [1, 2]
    for line in lines:
        assert part in line
        assert line["judge/failed_fraction"] == 0
        assert line["judge/questions"] > 0


def test_the_policy_sees_the_question(folder: Path) -> None:
    """The two rows have one picture; only the questions differ, and so do the tokens."""
    rows = [ASKED, {**ASKED, "question": "Is it red?"}]
    run_with = recipe(folder, "lave", jsonl(folder, *rows))
    trainer = build_trainer(run_with, build_rewards(run_with.rewards))
    processor, rows = trainer.processing_class, trainer.train_dataset
    texts = [processor.apply_chat_template(row["prompt"], tokenize=False) for row in rows]
    assert all(row["question"] in text for row, text in zip(rows, texts, strict=True))
    first, second = (processor.tokenizer(text).input_ids for text in texts)
    assert first != second


@pytest.mark.parametrize(
    ("metric", "record", "missing"),
    [
        ("lave", CAPTION, "'question'"),
        ("posh", ASKED, "'reference'"),
        ("posh", {**CAPTION, "reference": None}, None),
    ],
)
def test_a_reward_whose_column_is_missing_is_named_before_any_step(
    folder: Path, metric: str, record: Any, missing: Any
) -> None:
    told = recipe(folder, metric, jsonl(folder, record, record))
    said = rf"^{metric} needs .* {missing}, .*data\.columns" if missing else "no row with something"
    with pytest.raises(RecipeError, match=said):
        build_trainer(told, build_rewards(told.rewards))
