"""Rows for TRL: the right columns, and bad files named with their line."""

import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasets import Dataset
from PIL import Image

from spanreward.rewards.rows.pictures import shown_picture
from spanreward.training.data.load import load_data
from spanreward.training.recipe import JsonlPart, RecipeError
from tests.support.refused_data import refused


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    noise = random.Random(0)
    picture = Image.frombytes("RGB", (32, 32), noise.randbytes(32 * 32 * 3))
    picture.save(tmp_path / "a.png")
    picture.transpose(Image.Transpose.ROTATE_90).save(tmp_path / "b.png")
    return tmp_path


def jsonl(folder: Path, *records: Any) -> JsonlPart:
    """The data part of a file with these records; a string is a line as it stands."""
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    (folder / "rows.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return JsonlPart(source="jsonl", path=str(folder / "rows.jsonl"))


def test_jsonl_rows(folder: Path) -> None:
    data = jsonl(
        folder,
        {"image": "a.png", "reference": "A dog.", "more": 1},
        {"image": "b.png", "reference": ["A cat.", "A red cat."]},
    )
    dataset = load_data(data)
    assert sorted(dataset.column_names) == ["id", "image", "prompt", "reference"]
    assert dataset["id"][:] == ["1", "2"]
    assert dataset["reference"][:] == [["A dog."], ["A cat.", "A red cat."]]
    assert [row["image"].tobytes() for row in dataset] == [
        Image.open(folder / name).tobytes() for name in ("a.png", "b.png")
    ]
    completions = [row["completion"][0]["content"] for row in load_data(data, completions=True)]
    assert completions == ["A dog.", "A cat.", "A red cat."]


def test_jsonl_columns_prompt_and_count(folder: Path) -> None:
    record = {"file": "a.png", "captions": ["A dog."]}
    data = jsonl(folder, record, record, "not read any more").model_copy(
        update={
            "columns": {"image": "file", "reference": "captions"},
            "prompt": "What is it?",
            "count": 2,
        }
    )
    dataset: Dataset = load_data(data)
    assert dataset["reference"][:] == [["A dog."], ["A dog."]]
    assert dataset[0]["prompt"] == [{"role": "user", "content": "What is it?"}]


def test_pictures_lie_beside_the_file_wherever_one_stands(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = jsonl(folder, {"image": "a.png", "reference": "A dog."})
    monkeypatch.chdir("/")
    assert load_data(data)[0]["image"].size == (32, 32)


@pytest.mark.parametrize("empty", [None, [], ""])
def test_rows_without_a_reference_are_left_out_and_counted(
    folder: Path, empty: Any, caplog: pytest.LogCaptureFixture
) -> None:
    data = jsonl(
        folder, {"image": "gone.png", "reference": empty}, {"image": "a.png", "reference": "A dog."}
    )
    dataset = load_data(data)
    assert dataset["id"][:] == ["2"]
    assert "left out 1 rows without reference, answers and context, kept 1" in caplog.text


def test_count_counts_the_rows_that_are_kept(folder: Path) -> None:
    data = jsonl(
        folder,
        *[
            {"image": "a.png", "reference": reference}
            for reference in (None, "A dog.", "A cat.", "x")
        ],
    )
    assert load_data(data.model_copy(update={"count": 2}))["reference"][:] == [
        ["A dog."],
        ["A cat."],
    ]


GOOD = {"image": "a.png", "reference": "A dog."}


@pytest.mark.parametrize("line", ["{", "image: a.png", "{'image': 'a.png'}"])
def test_bad_json_is_named_by_its_line(folder: Path, line: str) -> None:
    message = refused(jsonl(folder, GOOD, GOOD, line))
    assert f"{folder}/rows.jsonl line 3 is not JSON" in message


def test_blank_lines_are_no_rows(folder: Path) -> None:
    (folder / "rows.jsonl").write_text(f"{json.dumps(GOOD)}\n\n \n{json.dumps(GOOD)}\n")
    assert load_data(JsonlPart(source="jsonl", path=str(folder / "rows.jsonl")))["id"][:] == [
        "1",
        "2",
    ]


def test_missing_key_names_the_keys_there_are(folder: Path) -> None:
    message = refused(jsonl(folder, GOOD, {"picture": "a.png", "reference": "A dog."}))
    assert "line 2 has no 'image', only ['picture', 'reference']" in message
    assert "data.columns" in message


def test_a_row_without_the_keys_that_columns_names(folder: Path) -> None:
    columns = {"reference": "captions", "answers": "said"}
    data = jsonl(
        folder, {"image": "a.png", "captions": "A dog."}, {"image": "a.png", "caption": "A dog."}
    )
    message = refused(data.model_copy(update={"columns": columns}))
    assert (
        "line 2 has no 'captions' or 'said', only ['caption', 'image']: set data.columns" in message
    )


def test_text_named_as_a_picture(folder: Path) -> None:
    (folder / "x.jpg").write_text("I am not a picture")
    message = refused(jsonl(folder, GOOD, {"image": "x.jpg", "reference": "A dog."}))
    assert "line 2" in message
    assert (
        f"'{folder}/x.jpg' cannot be read as a picture (it is no picture, or damaged, or none of "
        "PNG" in message
    )


def test_truncated_png(folder: Path) -> None:
    content = (folder / "a.png").read_bytes()
    (folder / "half.png").write_bytes(content[: len(content) // 2])
    message = refused(jsonl(folder, {"image": "half.png", "reference": "A dog."}))
    assert f"line 1: '{folder}/half.png' cannot be read as a picture" in message


def test_empty_picture_and_folder(folder: Path) -> None:
    (folder / "empty.png").touch()
    assert "empty.png' cannot be read" in refused(
        jsonl(folder, {"image": "empty.png", "reference": "A dog."})
    )
    assert "cannot be read" in refused(jsonl(folder, {"image": "", "reference": "A dog."}))


def test_pictures_elsewhere_are_taken(folder: Path) -> None:
    (folder / "rows").mkdir()
    rows = [{"image": name, "reference": "A dog."} for name in ("../a.png", str(folder / "b.png"))]
    assert len(load_data(jsonl(folder / "rows", *rows))) == 2


def test_what_nobody_draws(folder: Path) -> None:
    os.mkfifo(folder / "pipe.png")
    for name in ("pipe.png", "a\0.png", "/dev/zero"):
        assert "cannot be read as a picture (" in refused(
            jsonl(folder, {"image": name, "reference": "A dog."})
        )


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
    assert "odd.png' cannot be read as a picture (" in said or not said
    assert "\n" not in said


def test_missing_picture(folder: Path) -> None:
    message = refused(jsonl(folder, {"image": "gone.png", "reference": "A dog."}))
    assert (
        f"line 1: there is no picture {folder}/gone.png: paths go from the working folder, in a "
        "file" in message
    )


def test_an_address_is_a_missing_picture_and_nothing_is_fetched(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_network(*arguments: Any, **options: Any) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr("socket.socket.connect", no_network)
    monkeypatch.setattr("socket.getaddrinfo", no_network)
    message = refused(jsonl(folder, {"image": "https://example.org/a.png", "reference": "A dog."}))
    assert (
        "line 1: the picture 'https://example.org/a.png' is a URL, and nothing is downloaded"
        in message
    )
    assert "example.org/a.png" in message


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(
        RecipeError,
        match=r"there is no data file .*none\.jsonl: give its path with data\.path=PATH",
    ):
        load_data(JsonlPart(source="jsonl", path=str(tmp_path / "none.jsonl")))


@pytest.mark.parametrize("records", [[], [{"image": "a.png", "reference": None}]])
def test_no_rows(folder: Path, records: Any) -> None:
    assert "the data of jsonl holds no row with something to judge by" in refused(
        jsonl(folder, *records)
    )


@pytest.mark.parametrize(
    "record",
    [{"image": None, "reference": "A dog."}, {"image": "a.png", "reference": 3}, "3"],
    ids=["no image", "reference is a number", "line is a number"],
)
def test_values_of_another_type(folder: Path, record: Any) -> None:
    with pytest.raises(RecipeError):
        load_data(jsonl(folder, record))


def test_a_column_that_is_not_renamed_has_its_own_name(folder: Path) -> None:
    data = jsonl(folder, GOOD).model_copy(update={"columns": {"image": "image"}})
    assert load_data(data)["reference"][:] == [["A dog."]]


def test_truncated_jpeg(folder: Path) -> None:
    Image.open(folder / "a.png").resize((256, 256)).save(folder / "a.jpg")
    content = (folder / "a.jpg").read_bytes()
    (folder / "half.jpg").write_bytes(content[: len(content) // 2])
    assert Image.open(folder / "half.jpg").size == (256, 256)  # the header is whole
    with pytest.raises(RecipeError, match=r"half\.jpg"):
        load_data(jsonl(folder, {"image": "half.jpg", "reference": "A dog."}))


def test_line_separators_inside_a_text(folder: Path) -> None:
    reference = "A\u2028dog\x85."
    data = jsonl(folder, json.dumps({"image": "a.png", "reference": reference}, ensure_ascii=False))
    assert load_data(data)["reference"][:] == [[reference]]


def test_a_policy_sees_a_picture_as_judges_do(tmp_path: Path) -> None:
    """Transparent pixels on white, and the upper 8 of 16 bits, where a processor would draw black
    and clip.
    """
    clear, deep = (
        Image.new("RGBA", (8, 8), (0, 0, 0, 0)),
        Image.fromarray(np.full((8, 8), 40_000, np.uint16)),
    )
    for name, picture in (("clear", clear), ("deep", deep)):
        picture.save(tmp_path / f"{name}.png")
    lines = [{"image": f"{name}.png", "reference": "A square."} for name in ("clear", "deep")]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    data = load_data(JsonlPart(source="jsonl", path=str(tmp_path / "rows.jsonl")))
    seen = [row["image"] for row in data]
    assert [(image.mode, image.getpixel((0, 0))) for image in seen] == [
        ("RGB", (255,) * 3),
        ("RGB", (156,) * 3),
    ]
    assert [image.tobytes() for image in seen] == [
        shown_picture(one).tobytes() for one in (clear, deep)
    ]


BOTH = {"image": "a.png", "question": "What is it?", "answers": ["dog", "a dog", "cat"]}


def learned(data: Any) -> list[str]:
    return [row["completion"][0]["content"] for row in load_data(data, completions=True)]


def test_a_row_with_answers_and_a_reference_needs_a_target(folder: Path) -> None:
    data = jsonl(folder, GOOD, {**BOTH, "reference": ["A red dog.", "A dog."]})
    with pytest.raises(RecipeError) as refusal:
        load_data(data, completions=True)
    assert str(refusal.value) == (
        "row 2 of the data has answers (most often 'dog') and a reference ('A red dog.'), and SFT "
        "learns one of them: set data.target to answers or to reference."
    )
    assert learned(data.model_copy(update={"target": "answers"})) == ["A dog.", "dog"]
    assert learned(data.model_copy(update={"target": "reference"})) == [
        "A dog.",
        "A red dog.",
        "A dog.",
    ]
    assert len(load_data(data)) == 2


@pytest.mark.parametrize("target", [None, "answers", "reference"])
def test_a_row_with_one_of_them_has_it_as_its_target(folder: Path, target: Any) -> None:
    data = jsonl(folder, GOOD, BOTH).model_copy(update={"target": target})
    assert learned(data) == ["A dog.", "dog"]


def test_answers_are_learned_without_a_question_too(folder: Path) -> None:
    assert learned(jsonl(folder, {"prompt": "What is it?", "answers": ["dog"]})) == ["dog"]


def test_rows_that_sft_cannot_learn_are_counted(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = jsonl(folder, GOOD, {"image": "a.png", "context": "A dog on grass."}, GOOD)
    assert learned(data) == ["A dog.", "A dog."]
    assert (
        "left out 1 rows with neither a reference nor answers, which SFT cannot learn, kept 2"
        in caplog.text
    )
