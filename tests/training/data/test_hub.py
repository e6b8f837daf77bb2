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
from tests.support.data_parts import learned
from tests.support.refused_data import refused

CAPTIONS = {"picture": Image(), "texts": List(Value("string")), "extra": Value("int64")}
TEXT = Value("string")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def square(colour: str, side: int = 8) -> Pictures.Image:
    return Pictures.new("RGB", (side, side), colour)


def png() -> bytes:
    file = io.BytesIO()
    square("red").save(file, "PNG")
    return file.getvalue()


def caption(picture: Any, *texts: Any) -> dict[str, Any]:
    """A row of CAPTIONS. A text stands for a square of this colour."""
    picture = square(picture) if isinstance(picture, str) else picture
    return {"picture": picture, "texts": list(texts), "extra": 1}


def stored(folder: Path, *rows: dict[str, Any], split: str = "train", **features: Any) -> str:
    """The rows as a parquet file in a folder, which `datasets` takes in place of an id."""
    kinds = features or CAPTIONS
    (folder / "data").mkdir(parents=True, exist_ok=True)
    columns = {name: [row[name] for row in rows] for name in kinds}
    dataset = Dataset.from_dict(columns, Features(kinds))
    # addresses as they are
    parquet.write_table(dataset.data.table, folder / f"data/{split}-00000-of-00001.parquet")
    return str(folder)


@pytest.fixture
def captions(tmp_path: Path) -> str:
    red = caption("red", "A red wall.", "A wall is red.")
    return stored(tmp_path / "captions", red, caption("lime"), caption("blue", "The blue sky."))


def part(name: str, **fields: Any) -> HubPart:
    columns = {"image": "picture", "reference": "texts"}
    return HubPart(source="hub", id=name, **{"columns": columns, **fields})


def plain(name: str, **fields: Any) -> HubPart:
    return part(name, columns={}, **fields)


def colours(dataset: Dataset) -> list[tuple[int, ...]]:
    return [row["image"].getpixel((0, 0)) for row in dataset]


@pytest.mark.parametrize(
    ("fields", "ids"),
    [({}, ["1", "3"]), ({"streaming": True, "count": 5}, ["1", "3"]), ({"count": 1}, ["1"])],
)
def test_rows_by_a_column_map(
    captions: str, fields: Any, ids: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    dataset = load_data(part(captions, prompt="Say it.", **fields))
    assert sorted(dataset.column_names) == ["id", "image", "prompt", "reference"]
    assert dataset["id"][:] == ids
    references = [["A red wall.", "A wall is red."], ["The blue sky."]]
    assert dataset["reference"][:] == references[: len(ids)]
    assert dataset["prompt"][0] == [{"role": "user", "content": "Say it."}]
    assert colours(dataset) == [(255, 0, 0), (0, 0, 255)][: len(ids)]
    assert ("left out 1 rows" in caplog.text) == ("3" in ids)


def test_sft_learns_every_reference_of_the_right_picture(captions: str) -> None:
    assert learned(part(captions)) == ["A red wall.", "A wall is red.", "The blue sky."]
    dataset = load_data(part(captions), completions=True)
    assert colours(dataset) == [(255, 0, 0), (255, 0, 0), (0, 0, 255)]


def test_pictures_stay_in_the_file_they_came_in(captions: str) -> None:
    """Nothing is written but what `datasets` itself has made of the parquet file, so a picture is
    on disk once.
    """
    written = []
    for prompt in (None, "Say it."):
        load_data(part(captions, prompt=prompt))
        written.append(sorted(datasets.config.HF_DATASETS_CACHE.rglob("*.arrow")))
    assert written[0] == written[1]


def test_questions_as_vqa_datasets_have_them(tmp_path: Path) -> None:
    answers = [{"answer": answer} for answer in ("red", "red", "pink")]
    row = {"image": square("red"), "question": "What color?", "answers": answers}
    kinds = {"image": Image(), "question": TEXT, "answers": List({"answer": TEXT})}
    data = plain(stored(tmp_path / "vqa", row, **kinds), prompt="{question} Answer briefly.")
    dataset = load_data(data)
    assert dataset["answers"][:] == [["red", "red", "pink"]]
    assert dataset["prompt"][0][0]["content"] == "What color? Answer briefly."
    assert learned(data) == ["red"]


def test_another_split(tmp_path: Path) -> None:
    name = stored(tmp_path / "two", caption("red", "A."))
    stored(tmp_path / "two", *[caption("red", "A.")] * 2, split="validation")
    assert len(load_data(part(name))) == 1
    assert len(load_data(part(name, split="validation"))) == 2
    assert sorted(split_names(part(name))) == ["train", "validation"]
    # what is not reached is not known
    assert split_names(part(str(tmp_path / "nowhere"), split="val")) == ["val"]


def test_large_pictures_are_scaled_for_everyone_who_reads_them(tmp_path: Path) -> None:
    name = stored(tmp_path / "large", caption(square("red", side=100), "A."))
    data = part(name, max_pixels=400)
    dataset = load_data(data)
    assert dataset["prompt"][0] == [{"role": "user", "content": "Describe the picture."}]
    mixed = MixedPart(source="mixed", parts=[data, part(name)])
    for rows in (dataset, load_data(data, completions=True), load_data(mixed).select([1])):
        assert rows[0]["image"].size == (20, 20)


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
    assert learned(MixedPart(source="mixed", parts=parts[:2]))[-1] == "no"


WRONG_MAP = {"columns": {"image": "picture", "reference": "captions"}}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (WRONG_MAP, ["'HERE'", "'captions', only ['extra', 'picture', 'texts']"]),
        ({"columns": {}}, ["'image', only ['extra', 'picture', 'texts']", "set data.columns"]),
        ({"split": "val"}, ["the split 'val'", "['train']"]),
        ({"split": "val", "streaming": True, "count": 1}, ["Available splits: ['train']"]),
        ({"subset": "large"}, ["'large'", "['default']"]),
    ],
    ids=["column", "no map", "split", "streamed split", "subset"],
)
def test_what_is_not_there_names_what_is(captions: str, fields: Any, words: list[str]) -> None:
    message = refused(part(captions, **fields))
    assert not [word for word in words if word.replace("HERE", captions) not in message], message


def test_a_dataset_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "empty").mkdir()
    for name in ("there-is-no/such-dataset", str(tmp_path / "empty"), stored(tmp_path / "none")):
        assert f"{name}' cannot be loaded" in refused(part(name))


def test_a_dataset_with_code_of_its_own_is_not_run(captions: str, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    script = Path(captions) / f"{Path(captions).name}.py"
    script.write_text(f"open({str(ran)!r}, 'w').write('ran')\n")
    shutil.rmtree(Path(captions) / "data")
    refused(part(captions))
    assert not ran.exists()


ADDRESS = "https://example.org/a.png"


def at(path: str) -> dict[str, Any]:
    return {"bytes": None, "path": path}


TEXTS = CAPTIONS | {"picture": TEXT}
NUMBERS = CAPTIONS | {"texts": List(Value("int64"))}
LISTS = {"images": List(Image()), "prompt": TEXT, "reference": TEXT}
BOXES = {"image": Image(), "bbox": List(Value("float64"))}
ADDRESSED = caption(None, "A.") | {"picture": ADDRESS}
LISTED = {"images": [square("red")], "prompt": "<image>What?", "reference": "A."}
BOXED = {"image": square("red"), "bbox": [1.0, 1.0, 5.0, 5.0]}


@pytest.mark.parametrize(
    ("row", "kinds", "fields", "told"),
    [
        (ADDRESSED, TEXTS, {}, "'picture' of the dataset 'HERE' holds no pictures"),
        (caption("red", 1), NUMBERS, {}, "row 1: the column 'texts'"),
        (LISTED, LISTS, {"columns": {}}, "the column 'images'"),
        (BOXED, BOXES, {"columns": {}, "max_pixels": 9}, "leave max_pixels out"),
    ],
)
def test_columns_that_cannot_be_used_are_named(
    tmp_path: Path, row: Any, kinds: Any, fields: Any, told: str
) -> None:
    """Boxes would not fit scaled pictures."""
    name = stored(tmp_path / "odd", row, **kinds)
    assert told.replace("HERE", name) in refused(part(name, **fields))
    if row is BOXED:
        assert load_data(plain(name))["bbox"][:] == [[1.0, 1.0, 5.0, 5.0]]


@pytest.mark.parametrize(
    ("picture", "reason"),
    [
        (None, "has no picture"),
        ({"bytes": b"no picture", "path": None}, "cannot be read as a picture"),
        ({"bytes": b"", "path": None}, "cannot be read as a picture"),
        (at("not/there.png"), "cannot be read as a picture"),
        ({"bytes": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n"}, "none of PNG, JPEG"),
        (at(ADDRESS), f"the address '{ADDRESS}'"),  # nothing is fetched
    ],
)
def test_a_picture_that_is_none_is_named(tmp_path: Path, picture: Any, reason: str) -> None:
    good = caption({"bytes": png(), "path": None}, "A.")
    message = refused(part(stored(tmp_path / "bad", good, caption(picture, "B."))))
    assert "train row 2" in message
    assert reason in message


@pytest.mark.parametrize("path", ["{folder}/secret.png", "{folder}/hub/../secret.png"])
def test_a_downloaded_row_reads_no_picture_elsewhere(tmp_path: Path, path: str) -> None:
    square("red").save(tmp_path / "secret.png")
    name = stored(tmp_path / "hub", caption(at(path.format(folder=tmp_path)), "A."))
    assert "secret.png' outside" in refused(part(name))
    (tmp_path / "secret.png").rename(tmp_path / "hub" / "own.png")
    stored(tmp_path / "hub", caption(at(str(tmp_path / "hub" / "own.png")), "A."))
    assert colours(load_data(part(name))) == [(255, 0, 0)]


def test_no_rows(tmp_path: Path, captions: str) -> None:
    assert "to judge by" in refused(part(stored(tmp_path / "silent", caption("red"))))
    only_pictures = part(captions, columns={"image": "picture"})
    assert len(load_data(only_pictures)) == 3
    assert "reference or answers" in refused(only_pictures, completions=True)


def test_the_task_of_all_rows_that_name_none(tmp_path: Path) -> None:
    rows = [{"image": square("red"), "task": task} for task in ("reg", None)]
    name = stored(tmp_path / "tasks", *rows, image=Image(), task=TEXT)
    assert load_data(plain(name, task="vqa"))["task"][:] == ["reg", "vqa"]
    assert load_data(plain(name))["task"][:] == ["reg", None]


@pytest.mark.parametrize("streamed", [{}, {"streaming": True, "count": 5}])
def test_pictures_as_structs(tmp_path: Path, streamed: dict[str, Any]) -> None:
    kinds = {"picture": {"bytes": Value("binary"), "path": TEXT}, "texts": List(TEXT)}
    row = caption({"bytes": png(), "path": None}, "Red.")
    name = stored(tmp_path / "struct", row, **kinds)
    assert colours(load_data(part(name, **streamed))) == [(255, 0, 0)]


def test_folders_that_datasets_saved(tmp_path: Path) -> None:
    Dataset.from_list([caption("blue", "Blue.")]).save_to_disk(tmp_path / "saved")
    assert colours(load_data(part(str(tmp_path / "saved")))) == [(0, 0, 255)]
