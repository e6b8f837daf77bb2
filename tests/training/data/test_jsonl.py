"""JSONL files with questions, context and boxes: what becomes a row, what the policy is asked, what
is refused.
"""

import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasets import Dataset
from PIL import Image

from experiments.scenes.parts import TINY, WORDS
from spanreward.rewards.rows.pictures import shown_picture
from spanreward.training.data.load import load_data, most_frequent
from spanreward.training.data.rows import prompt_for
from spanreward.training.plan.dry_run import row_count
from spanreward.training.recipe import JsonlPart, Recipe, RecipeError, check_recipe
from spanreward.training.recipe_rewards import build_rewards
from spanreward.training.run import build_trainer
from tests.support.data_parts import asked, jsonl, learned
from tests.support.refused_data import refused
from tests.support.tables import table

CAPTION = {"image": "red.png", "reference": ["A red wall.", "A wall is red."]}
ASKED: dict[str, Any] = {"image": "red.png", "question": "What color is it?"}
ASKED["answers"] = ["red", "Red.", "pink", "red", "blue"]
GOOD = {"image": "a.png", "reference": "A dog."}
NO = [{"answer": "no", "answer_id": i} for i in range(10)]
VQA: dict[str, Any] = {"image": "blue.png", "question": "Is it red?", "answers": NO}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With red.png and blue.png, and noise as a.png and b.png."""
    for name in ("red", "blue"):
        Image.new("RGB", (40, 30), name).save(tmp_path / f"{name}.png")
    noise = Image.frombytes("RGB", (32, 32), random.Random(0).randbytes(32 * 32 * 3))
    noise.save(tmp_path / "a.png")
    noise.transpose(Image.Transpose.ROTATE_90).save(tmp_path / "b.png")
    return tmp_path


def test_captions_and_questions_have_none_in_what_they_lack(folder: Path) -> None:
    boxed = {"image": "blue.png", "task": "reg", "bbox": [1, 2.5, 30, 20], "context": "A wall."}
    dataset = load_data(jsonl(folder, CAPTION, ASKED, VQA, boxed))
    columns = "answers bbox context id image prompt question reference task"
    assert " ".join(sorted(dataset.column_names)) == columns
    lacking = [{column for column, value in row.items() if value is None} for row in dataset]
    asked = {"reference", "context", "bbox", "task"}
    described = {"question", "answers", "context", "bbox", "task"}
    assert lacking == [described, asked, asked, {"reference", "question", "answers"}]
    assert dataset[3]["bbox"] == [1.0, 2.5, 30.0, 20.0]
    assert dataset["question"][1:3] == ["What color is it?", "Is it red?"]
    assert dataset["answers"][1:3] == [ASKED["answers"], ["no"] * 10]


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


@pytest.mark.parametrize("empty", [None, [], [" "], ""])
def test_rows_without_answers_or_a_reference_are_left_out_and_counted(
    folder: Path, empty: Any, caplog: pytest.LogCaptureFixture
) -> None:
    unanswered = {**ASKED, "answers": empty}
    described = {**unanswered, "context": "A red wall."}
    rows = unanswered, VQA, described, {"image": "gone.png", "reference": empty}, GOOD
    assert load_data(jsonl(folder, *rows))["id"][:] == ["2", "3", "5"]
    assert re.search("left out 2 rows .* kept 3", caplog.text)


ONE = {"prompt": "What is it?", "answers": ["dog", "a dog", "cat"]}
TWO = {**ONE, "reference": ["A red dog.", "A dog."]}


@pytest.mark.parametrize(
    ("rows", "target", "texts"),
    [
        ([CAPTION], None, ["A red wall.", "A wall is red."]),
        ([CAPTION, ASKED, VQA], None, ["A red wall.", "A wall is red.", "red", "no"]),
        ([GOOD, ONE | GOOD], "reference", ["A dog.", "A dog."]),
        ([GOOD, {**ONE, "image": "a.png"}], "reference", ["A dog.", "dog"]),
        ([ONE, TWO], "answers", ["dog", "dog"]),
        ([ONE, TWO], "reference", ["dog", "A red dog.", "A dog."]),
    ],
)
def test_sft_learns_every_reference_or_the_most_frequent_answer(
    folder: Path, rows: Any, target: Any, texts: list[str]
) -> None:
    data = jsonl(folder, *rows, target=target)
    assert learned(data) == texts
    assert len(load_data(data)) == len(rows)


def test_sft_asks_a_row_s_own_question(folder: Path) -> None:
    long_form = {"image": "red.png", "question": "What is it?", "reference": "It is a red wall."}
    (row,) = load_data(jsonl(folder, long_form), completions=True)
    said = [row[name][0]["content"] for name in ("prompt", "completion")]
    assert said == ["What is it?", "It is a red wall."]


def test_answers_are_counted_after_normalisation() -> None:
    assert most_frequent(["2", "Dogs.", "a dog", "The dog", "two", "Dog"]) == "a dog"
    assert most_frequent(["b", "a"]) == "b"
    assert most_frequent(["?", "?", "!"]) == "?"


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


def test_rows_are_numbered_and_have_their_pictures(folder: Path) -> None:
    cats = {"image": "b.png", "reference": ["A cat.", "A red cat."]}
    dataset = load_data(jsonl(folder, {**GOOD, "more": 1}, "", " ", cats))
    assert sorted(dataset.column_names) == ["id", "image", "prompt", "reference"]
    assert dataset["id"][:] == ["1", "2"]
    assert dataset["reference"][:] == [["A dog."], ["A cat.", "A red cat."]]
    pictures = [Image.open(folder / name).tobytes() for name in ("a.png", "b.png")]
    assert [row["image"].tobytes() for row in dataset] == pictures


def test_count_counts_the_rows_that_are_kept_and_reads_no_further(folder: Path) -> None:
    rows = [{**GOOD, "reference": text} for text in (None, "A dog.", "A cat.", "x")]
    fields: Any = {"count": 2, "columns": {"image": "image"}}
    dataset = load_data(jsonl(folder, *rows, "not read any more", **fields))
    assert dataset["reference"][:] == [["A dog."], ["A cat."]]


def test_pictures_lie_beside_the_file_or_elsewhere(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "rows").mkdir()
    Image.new("RGB", (8, 8)).save(folder / "rows" / "c.png")
    names = ("c.png", "../a.png", str(folder / "b.png"))
    data = jsonl(folder / "rows", *({"image": name, "reference": "A dog."} for name in names))
    monkeypatch.chdir("/")
    assert [image.size[0] for image in load_data(data)["image"]] == [8, 32, 32]


@pytest.mark.parametrize("seed", range(40))
def test_a_mutated_picture_is_one_sentence_or_a_picture(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    content = bytearray((folder / "a.png").read_bytes())
    for _ in range(3):
        content[chance.randrange(len(content))] = chance.randrange(256)
    (folder / "odd.png").write_bytes(content)
    said = ""
    try:
        load_data(jsonl(folder, {"image": "odd.png", "reference": "A dog."}))
    except RecipeError as error:
        said = str(error)
    assert "odd.png' cannot be read" in said or not said
    assert "\n" not in said


def test_no_address_is_fetched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("socket.socket.connect", "socket.getaddrinfo"):
        monkeypatch.setattr(name, lambda *_, **__: pytest.fail("a connection was opened"))
    record = {**GOOD, "image": "https://example.org/a.png"}
    assert "'https://example.org/a.png' is a URL" in refused(jsonl(folder, record))


def test_line_separators_inside_a_text(folder: Path) -> None:
    reference = "A\u2028dog\x85."
    data = jsonl(folder, json.dumps({"image": "a.png", "reference": reference}, ensure_ascii=False))
    assert load_data(data)["reference"][:] == [[reference]]


def test_a_policy_sees_a_picture_as_judges_do(tmp_path: Path) -> None:
    """Transparent pixels on white, and the upper 8 of 16 bits, where a processor would draw black
    and clip.
    """
    clear = Image.new("RGBA", (8, 8), (0, 0, 0, 0))
    deep = Image.fromarray(np.full((8, 8), 40_000, np.uint16))
    clear.save(tmp_path / "clear.png")
    deep.save(tmp_path / "deep.png")
    rows = [{**GOOD, "image": f"{name}.png"} for name in ("clear", "deep")]
    seen = [row["image"] for row in load_data(jsonl(tmp_path, *rows))]
    pixels = [(image.mode, image.getpixel((0, 0))) for image in seen]
    assert pixels == [("RGB", (255,) * 3), ("RGB", (156,) * 3)]
    shown = [shown_picture(picture).tobytes() for picture in (clear, deep)]
    assert [image.tobytes() for image in seen] == shown


def test_rows_that_sft_leaves_out(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = jsonl(folder, GOOD, {"image": "a.png", "context": "A dog on grass."}, GOOD)
    assert learned(data) == ["A dog.", "A dog."]
    assert re.search("left out 1 rows .* SFT .* kept 2", caplog.text)


def recipe(folder: Path, metric: str, data: JsonlPart) -> Recipe:
    trainer = {"use_cpu": True, "bf16": False, "report_to": "none", "num_generations": 4}
    fields: dict[str, Any] = {"algorithm": "dapo", "output": str(folder / "out")}
    fields |= {"policy": {"model": TINY}, "rewards": [{"metric": metric, "judge": WORDS}]}
    return check_recipe({**fields, "data": data.model_dump(), "trainer": trainer})


def test_the_policy_sees_the_question(folder: Path) -> None:
    """The two rows have one picture; only the questions differ, and so do the tokens."""
    rows = [ASKED, {**ASKED, "question": "Is it red?"}]
    run_with = recipe(folder, "lave", jsonl(folder, *rows))
    trainer = build_trainer(run_with, build_rewards(run_with.rewards))
    processor, dataset = trainer.processing_class, trainer.train_dataset
    texts = [processor.apply_chat_template(row["prompt"], tokenize=False) for row in dataset]
    assert all(row["question"] in text for row, text in zip(dataset, texts, strict=True))
    first, second = (processor.tokenizer(text).input_ids for text in texts)
    assert first != second


def test_a_reward_s_missing_column_is_named(folder: Path) -> None:
    asks = recipe(folder, "lave", jsonl(folder, CAPTION, CAPTION))
    with pytest.raises(RecipeError, match=r"^lave needs .* 'question', .*data\.columns"):
        build_trainer(asks, build_rewards(asks.rewards))
