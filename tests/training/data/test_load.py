"""Rows for TRL: the right columns, and bad files named with their line."""

import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from spanreward.rewards.rows.pictures import shown_picture
from spanreward.training.data.load import load_data
from spanreward.training.recipe import RecipeError
from tests.support.data_parts import jsonl, learned
from tests.support.refused_data import refused


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    noise = random.Random(0)
    picture = Image.frombytes("RGB", (32, 32), noise.randbytes(32 * 32 * 3))
    picture.save(tmp_path / "a.png")
    picture.transpose(Image.Transpose.ROTATE_90).save(tmp_path / "b.png")
    return tmp_path


GOOD = {"image": "a.png", "reference": "A dog."}


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
    data = jsonl(folder, {"image": "gone.png", "reference": empty}, GOOD)
    assert load_data(data)["id"][:] == ["2"]
    assert re.search("left out 1 rows .* kept 1", caplog.text)


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


def test_an_address_is_a_missing_picture_and_nothing_is_fetched(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_rows_that_sft_cannot_learn_are_counted(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = jsonl(folder, GOOD, {"image": "a.png", "context": "A dog on grass."}, GOOD)
    assert learned(data) == ["A dog.", "A dog."]
    assert re.search("left out 1 rows .* SFT .* kept 2", caplog.text)
