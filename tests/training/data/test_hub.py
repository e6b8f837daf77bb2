"""Hub datasets: rows by a column map, pictures as they are, and what is refused.

A folder stands in for the hub.
"""

import io
import shutil
from pathlib import Path
from typing import Any

import datasets
import pyarrow.parquet as parquet
import pytest
from datasets import Dataset, Features, Image, List, Value
from PIL import Image as Pictures

from experiments.scenes.parts import scenes_part
from spanreward.training.data.hub import split_names
from spanreward.training.data.load import load_data
from spanreward.training.recipe import HubPart, JsonlPart, MixedPart
from tests.support.refused_data import refused

CAPTIONS = {"picture": Image(), "texts": List(Value("string")), "extra": Value("int64")}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def square(colour: str, side: int = 8) -> Pictures.Image:
    return Pictures.new("RGB", (side, side), colour)


def stored(
    folder: Path, rows: list[dict[str, Any]], features: dict[str, Any], split: str = "train"
) -> str:
    """The rows as a parquet file in a folder, which `datasets` takes in place of an id."""
    (folder / "data").mkdir(parents=True, exist_ok=True)
    dataset = Dataset.from_dict(
        {name: [row[name] for row in rows] for name in features}, Features(features)
    )
    parquet.write_table(
        dataset.data.table, folder / "data" / f"{split}-00000-of-00001.parquet"
    )  # addresses as they are
    return str(folder)


@pytest.fixture
def captions(tmp_path: Path) -> str:
    rows = [
        {"picture": square("red"), "texts": ["A red wall.", "A wall is red."], "extra": 1},
        {"picture": square("lime"), "texts": [], "extra": 2},
        {"picture": square("blue"), "texts": ["The blue sky."], "extra": 3},
    ]
    return stored(tmp_path / "captions", rows, CAPTIONS)


def part(name: str, **fields: Any) -> HubPart:
    return HubPart(
        source="hub", id=name, **{"columns": {"image": "picture", "reference": "texts"}, **fields}
    )


def colours(dataset: Dataset) -> list[tuple[int, ...]]:
    return [row["image"].getpixel((0, 0)) for row in dataset]


@pytest.mark.parametrize("streamed", [{}, {"streaming": True, "count": 5}])
def test_rows_by_a_column_map(
    captions: str, streamed: Any, caplog: pytest.LogCaptureFixture
) -> None:
    dataset = load_data(part(captions, **streamed))
    assert sorted(dataset.column_names) == ["id", "image", "prompt", "reference"]
    assert dataset["id"][:] == ["1", "3"]
    assert dataset["reference"][:] == [["A red wall.", "A wall is red."], ["The blue sky."]]
    assert colours(dataset) == [(255, 0, 0), (0, 0, 255)]
    assert "left out 1 rows" in caplog.text


def test_sft_learns_every_reference_of_the_right_picture(captions: str) -> None:
    dataset = load_data(part(captions), completions=True)
    said = [turn["content"] for (turn,) in dataset["completion"]]
    assert said == ["A red wall.", "A wall is red.", "The blue sky."]
    assert colours(dataset) == [(255, 0, 0), (255, 0, 0), (0, 0, 255)]


def test_pictures_stay_in_the_file_they_came_in(captions: str) -> None:
    """Nothing is written but what `datasets` itself has made of the parquet file, so a picture is
    on disk once.
    """
    load_data(part(captions))
    before = sorted(
        (path, path.stat().st_size) for path in datasets.config.HF_DATASETS_CACHE.rglob("*.arrow")
    )
    load_data(part(captions, prompt="Say it."))
    assert [name for name, _ in before] == sorted(
        datasets.config.HF_DATASETS_CACHE.rglob("*.arrow")
    )


def test_count_and_prompt(captions: str) -> None:
    dataset = load_data(part(captions, count=1, prompt="Say it."))
    assert dataset["id"][:] == ["1"]
    assert dataset["prompt"][0] == [{"role": "user", "content": "Say it."}]


@pytest.mark.parametrize(
    "answers", [["red", "red", "pink"], [{"answer": "red"}, {"answer": "red"}, {"answer": "pink"}]]
)
def test_questions_as_vqa_datasets_have_them(tmp_path: Path, answers: Any) -> None:
    kind = (
        List(Value("string")) if isinstance(answers[0], str) else List({"answer": Value("string")})
    )
    rows = [{"image": square("red"), "question": "What color?", "answers": answers}]
    name = stored(
        tmp_path / "vqa", rows, {"image": Image(), "question": Value("string"), "answers": kind}
    )
    data = part(name, columns={}, prompt="{question} Answer briefly.")
    dataset = load_data(data)
    assert dataset["answers"][:] == [["red", "red", "pink"]]
    assert dataset["prompt"][0][0]["content"] == "What color? Answer briefly."
    assert load_data(data, completions=True)["completion"][0][0]["content"] == "red"


def test_another_split(tmp_path: Path) -> None:
    rows = [{"picture": square("red"), "texts": ["A."], "extra": 1}]
    name = stored(tmp_path / "two", rows, CAPTIONS)
    stored(tmp_path / "two", rows * 2, CAPTIONS, split="validation")
    assert len(load_data(part(name))) == 1
    assert len(load_data(part(name, split="validation"))) == 2


def test_a_folder_of_pictures(tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    square("red").save(folder / "a.png")
    (folder / "metadata.jsonl").write_text('{"file_name": "a.png", "text": "A red wall."}\n')
    dataset = load_data(part(str(folder), columns={"reference": "text"}))
    assert dataset["reference"][:] == [["A red wall."]]
    assert colours(dataset) == [(255, 0, 0)]


def test_large_pictures_are_scaled_for_everyone_who_reads_them(tmp_path: Path) -> None:
    rows = [{"picture": square("red", side=100), "texts": ["A."], "extra": 1}]
    name = stored(tmp_path / "large", rows, CAPTIONS)
    data = part(name, max_pixels=400)
    dataset = load_data(data)
    assert dataset[0]["image"].size == (20, 20)
    assert dataset["prompt"][0] == [{"role": "user", "content": "Describe the picture."}]
    assert load_data(data, completions=True)[0]["image"].size == (20, 20)
    assert load_data(MixedPart(source="mixed", parts=[data, part(name)]))[1]["image"].size == (
        20,
        20,
    )


def test_boxes_would_not_fit_scaled_pictures(tmp_path: Path) -> None:
    rows = [{"image": square("red"), "bbox": [1.0, 1.0, 5.0, 5.0]}]
    name = stored(tmp_path / "boxes", rows, {"image": Image(), "bbox": List(Value("float64"))})
    assert "leave max_pixels out" in refused(part(name, columns={}, max_pixels=9))
    assert load_data(part(name, columns={}))["bbox"][:] == [[1.0, 1.0, 5.0, 5.0]]


def test_several_sources_in_one_dataset(captions: str, tmp_path: Path) -> None:
    square("yellow").save(tmp_path / "yellow.png")
    lines = tmp_path / "rows.jsonl"
    lines.write_text('{"image": "yellow.png", "question": "Is it red?", "answers": ["no"]}\n')
    parts = [part(captions), JsonlPart(source="jsonl", path=str(lines)), scenes_part(count=2)]
    dataset = load_data(MixedPart(source="mixed", parts=parts))
    assert len(dataset) == len(set(dataset["id"])) == 5
    assert dataset["id"][:3] == ["0/1", "0/3", "1/1"]
    assert dataset["question"][:3] == [None, None, "Is it red?"]
    assert dataset["answers"][2] == ["no"]
    assert dataset["reference"][:3] == [["A red wall.", "A wall is red."], ["The blue sky."], None]
    assert colours(dataset)[:3] == [(255, 0, 0), (0, 0, 255), (255, 255, 0)]
    learned = load_data(MixedPart(source="mixed", parts=parts[:2]), completions=True)
    assert [turn["content"] for (turn,) in learned["completion"]][-1] == "no"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"columns": {"image": "picture", "reference": "captions"}},
            ["'HERE'", "'captions', only ['extra', 'picture', 'texts']"],
        ),
        ({"columns": {}}, ["'image', only ['extra', 'picture', 'texts']", "set data.columns"]),
        ({"split": "val"}, ["the split 'val'", "Should be one of ['train']"]),
        ({"split": "val", "streaming": True, "count": 1}, ["Available splits: ['train']"]),
        ({"subset": "large"}, ["'large' not found. Available: ['default']"]),
    ],
    ids=["column", "no map", "split", "streamed split", "subset"],
)
def test_what_is_not_there_names_what_is(captions: str, fields: Any, words: list[str]) -> None:
    message = refused(part(captions, **fields))
    assert not [word for word in words if word.replace("HERE", captions) not in message], message


def test_a_dataset_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert "there-is-no/such-dataset' cannot be loaded" in refused(part("there-is-no/such-dataset"))
    (tmp_path / "empty").mkdir()
    assert "cannot be loaded" in refused(part(str(tmp_path / "empty")))


def test_a_dataset_with_code_of_its_own_is_not_run(captions: str, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    script = Path(captions) / f"{Path(captions).name}.py"
    script.write_text(f"open({str(ran)!r}, 'w').write('ran')\n")
    shutil.rmtree(Path(captions) / "data")
    refused(part(captions))
    assert not ran.exists()


def test_addresses_in_place_of_pictures(tmp_path: Path) -> None:
    rows = [{"picture": "https://example.org/a.png", "texts": ["A."], "extra": 1}]
    name = stored(tmp_path / "urls", rows, {**CAPTIONS, "picture": Value("string")})
    message = refused(part(name))
    assert "'picture'" in message
    assert f"'{name}' holds no pictures" in message
    assert "addresses are not followed" in message


def test_addresses_in_the_picture_column_are_not_fetched(tmp_path: Path) -> None:
    rows = [
        {
            "picture": {"bytes": None, "path": "https://example.org/a.png"},
            "texts": ["A."],
            "extra": 1,
        }
    ]
    name = stored(tmp_path / "urls", rows, CAPTIONS)
    assert "the address 'https://example.org/a.png'" in refused(part(name))


@pytest.mark.parametrize(
    ("picture", "reason"),
    [
        (None, "has no picture"),
        ({"bytes": b"no picture", "path": None}, "cannot be read as a picture"),
        ({"bytes": b"", "path": None}, "cannot be read as a picture"),
        ({"bytes": None, "path": "not/there.png"}, "cannot be read as a picture"),
        (
            {"bytes": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n", "path": None},
            "none of PNG, JPEG",
        ),
    ],
)
def test_a_picture_that_is_none_is_named_by_its_row(
    tmp_path: Path, picture: Any, reason: str
) -> None:
    rows = [
        {"picture": {"bytes": png(), "path": None}, "texts": ["A."], "extra": 1},
        {"picture": picture, "texts": ["B."], "extra": 2},
    ]
    name = stored(tmp_path / "bad", rows, CAPTIONS)
    message = refused(part(name))
    assert "train row 2" in message
    assert reason in message


@pytest.mark.parametrize("path", ["{folder}/secret.png", "{folder}/hub/../secret.png"])
def test_a_downloaded_row_reads_no_picture_elsewhere(tmp_path: Path, path: str) -> None:
    square("red").save(tmp_path / "secret.png")
    picture = {"bytes": None, "path": path.format(folder=tmp_path)}
    name = stored(tmp_path / "hub", [{"picture": picture, "texts": ["A."], "extra": 1}], CAPTIONS)
    assert "secret.png' outside" in refused(part(name))
    (tmp_path / "secret.png").rename(tmp_path / "hub" / "own.png")
    picture = {"bytes": None, "path": str(tmp_path / "hub" / "own.png")}
    stored(tmp_path / "hub", [{"picture": picture, "texts": ["A."], "extra": 1}], CAPTIONS)
    assert colours(load_data(part(name))) == [(255, 0, 0)]


def png() -> bytes:
    file = io.BytesIO()
    square("red").save(file, "PNG")
    return file.getvalue()


def test_a_value_of_another_kind_is_named_by_its_row(tmp_path: Path) -> None:
    rows = [{"picture": square("red"), "texts": [1], "extra": 1}]
    name = stored(tmp_path / "numbers", rows, {**CAPTIONS, "texts": List(Value("int64"))})
    assert "row 1: the column 'texts'" in refused(part(name))


def test_no_rows(tmp_path: Path, captions: str) -> None:
    assert "cannot be loaded" in refused(part(stored(tmp_path / "none", [], CAPTIONS)))
    name = stored(
        tmp_path / "silent", [{"picture": square("red"), "texts": [], "extra": 1}], CAPTIONS
    )
    assert "something to judge by" in refused(part(name))
    only_pictures = part(captions, columns={"image": "picture"})
    assert len(load_data(only_pictures)) == 3
    assert "a reference or answers" in refused(only_pictures, completions=True)


def test_the_task_of_all_rows_that_name_none(tmp_path: Path) -> None:
    rows = [{"image": square("red"), "task": "reg"}, {"image": square("blue"), "task": None}]
    name = stored(tmp_path / "tasks", rows, {"image": Image(), "task": Value("string")})
    assert load_data(part(name, columns={}, task="vqa"))["task"][:] == ["reg", "vqa"]
    assert load_data(part(name, columns={}))["task"][:] == ["reg", None]


def test_the_splits_of_a_dataset(tmp_path: Path, captions: str) -> None:
    stored(
        Path(captions),
        [{"picture": square("red"), "texts": ["A wall."], "extra": 1}],
        CAPTIONS,
        split="test",
    )
    assert sorted(split_names(part(captions))) == ["test", "train"]
    # what is not reached is not known
    assert split_names(part(str(tmp_path / "nowhere"), split="val")) == ["val"]


@pytest.mark.parametrize("streamed", [{}, {"streaming": True, "count": 5}])
def test_pictures_as_structs_and_folders_that_datasets_saved(
    tmp_path: Path, streamed: dict[str, Any]
) -> None:
    file = io.BytesIO()
    square("red").save(file, "PNG")
    struct = {
        "picture": {"bytes": Value("binary"), "path": Value("string")},
        "texts": List(Value("string")),
    }
    name = stored(
        tmp_path / "struct",
        [{"picture": {"bytes": file.getvalue(), "path": None}, "texts": ["Red."]}],
        struct,
    )
    assert colours(load_data(part(name, **streamed))) == [(255, 0, 0)]
    if not streamed:
        Dataset.from_list([{"picture": square("blue"), "texts": ["Blue."]}]).save_to_disk(
            tmp_path / "saved"
        )
        assert colours(load_data(part(str(tmp_path / "saved")))) == [(0, 0, 255)]


def test_lists_of_pictures_are_refused_before_the_first_step(tmp_path: Path) -> None:
    columns = {"images": List(Image()), "prompt": Value("string"), "reference": Value("string")}
    name = stored(
        tmp_path / "lists",
        [{"images": [square("red")], "prompt": "<image>What?", "reference": "A."}],
        columns,
    )
    assert "the column 'images'" in refused(HubPart(source="hub", id=name))
