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
from spanreward.training.run import build_trainer, run
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
def test_rows_without_answers_or_a_reference_are_left_out_and_counted(
    folder: Path, empty: Any, caplog: pytest.LogCaptureFixture
) -> None:
    unanswered = {**ASKED, "answers": empty}
    described = {**unanswered, "context": "A red wall."}
    rows = unanswered, VQA, described, {"image": "gone.png", "reference": empty}, GOOD
    assert load_data(jsonl(folder, *rows))["id"][:] == ["2", "3", "5"]
    assert re.search("left out 2 rows .* kept 3", caplog.text)


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


def test_jsonl_rows(folder: Path) -> None:
    cats = {"image": "b.png", "reference": ["A cat.", "A red cat."]}
    data = jsonl(folder, {**GOOD, "more": 1}, cats)
    dataset = load_data(data)
    assert sorted(dataset.column_names) == ["id", "image", "prompt", "reference"]
    assert dataset["id"][:] == ["1", "2"]
    assert dataset["reference"][:] == [["A dog."], ["A cat.", "A red cat."]]
    pictures = [Image.open(folder / name).tobytes() for name in ("a.png", "b.png")]
    assert [row["image"].tobytes() for row in dataset] == pictures
    assert learned(data) == ["A dog.", "A cat.", "A red cat."]


def test_jsonl_columns_prompt_and_count(folder: Path) -> None:
    record = {"file": "a.png", "captions": ["A dog."]}
    columns: Any = {"image": "file", "reference": "captions"}
    fields = {"columns": columns, "prompt": "What is it?", "count": 2}
    dataset = load_data(jsonl(folder, record, record, "not read any more", **fields))
    assert dataset["reference"][:] == [["A dog."], ["A dog."]]
    assert dataset[0]["prompt"] == [{"role": "user", "content": "What is it?"}]


def test_pictures_lie_beside_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = jsonl(folder, {"image": "a.png", "reference": "A dog."})
    monkeypatch.chdir("/")
    assert load_data(data)[0]["image"].size == (32, 32)


def test_count_counts_the_rows_that_are_kept(folder: Path) -> None:
    rows = [{**GOOD, "reference": text} for text in (None, "A dog.", "A cat.", "x")]
    assert load_data(jsonl(folder, *rows, count=2))["reference"][:] == [["A dog."], ["A cat."]]


def test_blank_lines_are_no_rows(folder: Path) -> None:
    assert load_data(jsonl(folder, GOOD, "", " ", GOOD))["id"][:] == ["1", "2"]


def test_pictures_elsewhere_are_taken(folder: Path) -> None:
    (folder / "rows").mkdir()
    rows = [{"image": name, "reference": "A dog."} for name in ("../a.png", str(folder / "b.png"))]
    assert len(load_data(jsonl(folder / "rows", *rows))) == 2


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
    def no_network(*arguments: Any, **options: Any) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr("socket.socket.connect", no_network)
    monkeypatch.setattr("socket.getaddrinfo", no_network)
    record = {**GOOD, "image": "https://example.org/a.png"}
    assert "'https://example.org/a.png' is a URL" in refused(jsonl(folder, record))


def test_a_column_that_is_not_renamed_has_its_own_name(folder: Path) -> None:
    data = jsonl(folder, GOOD, columns={"image": "image"})
    assert load_data(data)["reference"][:] == [["A dog."]]


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


BOTH = {"image": "a.png", "question": "What is it?", "answers": ["dog", "a dog", "cat"]}


def test_a_row_with_answers_and_a_reference_needs_a_target(folder: Path) -> None:
    rows = GOOD, {**BOTH, "reference": ["A red dog.", "A dog."]}
    assert "set data.target" in refused(jsonl(folder, *rows), completions=True)
    assert learned(jsonl(folder, *rows, target="answers")) == ["A dog.", "dog"]
    of_references = learned(jsonl(folder, *rows, target="reference"))
    assert of_references == ["A dog.", "A red dog.", "A dog."]
    assert len(load_data(jsonl(folder, *rows))) == 2


@pytest.mark.parametrize("target", [None, "answers", "reference"])
def test_a_row_with_one_of_them_has_it_as_its_target(folder: Path, target: Any) -> None:
    assert learned(jsonl(folder, GOOD, BOTH, target=target)) == ["A dog.", "dog"]


def test_answers_are_learned_without_a_question_too(folder: Path) -> None:
    assert learned(jsonl(folder, {"prompt": "What is it?", "answers": ["dog"]})) == ["dog"]


def test_rows_that_sft_leaves_out(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = jsonl(folder, GOOD, {"image": "a.png", "context": "A dog on grass."}, GOOD)
    assert learned(data) == ["A dog.", "A dog."]
    assert re.search("left out 1 rows .* SFT .* kept 2", caplog.text)


def recipe(folder: Path, metric: str, data: JsonlPart, **options: Any) -> Recipe:
    trainer = {"use_cpu": True, "bf16": False, "max_steps": 2, "logging_steps": 1}
    trainer |= {"per_device_train_batch_size": 8, "num_generations": 4}
    trainer |= {"max_completion_length": 8, "report_to": "none"}
    fields: dict[str, Any] = {
        "algorithm": "dapo",
        "output": str(folder / "out"),
        "policy": {"model": TINY},
    }
    fields |= {"rewards": [{"metric": metric, "judge": WORDS, "options": options}]}
    return check_recipe({**fields, "data": data.model_dump(), "trainer": trainer})


CONTEXT: dict[str, Any] = {"image": "red.png", "context": "A red wall."}


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
    processor, dataset = trainer.processing_class, trainer.train_dataset
    texts = [processor.apply_chat_template(row["prompt"], tokenize=False) for row in dataset]
    assert all(row["question"] in text for row, text in zip(dataset, texts, strict=True))
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
def test_a_rewards_missing_column(folder: Path, metric: str, record: Any, missing: Any) -> None:
    told = recipe(folder, metric, jsonl(folder, record, record))
    said = rf"^{metric} needs .* {missing}, .*data\.columns" if missing else "no row with something"
    with pytest.raises(RecipeError, match=said):
        build_trainer(told, build_rewards(told.rewards))
