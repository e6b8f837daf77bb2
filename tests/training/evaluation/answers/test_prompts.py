"""What is asked: rows of a recipe or of a file, and how they are sliced."""

from pathlib import Path

import pytest
from datasets import Dataset, Image as Picture
from PIL import Image

from experiments.scenes.parts import scenes_of, scenes_part
from spanreward.training.evaluation.answers.prompts import prompts_of, prompts_of_file
from spanreward.training.evaluation.statistics.slices import usable_values
from spanreward.training.recipe import FilePart, HubPart, JsonlPart, MixedPart
from tests.support.files import write_lines


def test_scenes_are_sliced_by_level_objects_and_kind() -> None:
    parts = [scenes_part(level=1, count=4), scenes_part(level=2, count=4, ask="both")]
    scenes = [scene for part in parts for scene in scenes_of(part)]
    prompts = prompts_of(MixedPart(source="mixed", parts=parts), ["level", "objects"])
    assert " ".join(row["id"] for row in prompts.rows) == "0/1 0/2 0/3 0/4 1/1 1/2 1/3 1/4"
    assert [row["scene"] for row in prompts.rows] == [scene.seed for scene in scenes]
    assert prompts.slices["level"] == [("1",)] * 4 + [("2",)] * 4
    assert prompts.slices["objects"] == [(str(len(scene.objects)),) for scene in scenes]
    half = [("description",), ("question",)] * 2
    assert prompts.slices["asked for"] == [("description",)] * 4 + half
    assert prompts.slices["words of the reference"][-1] == ()
    assert set(usable_values(prompts.slices)) >= {"level", "objects", "asked for"}


def test_a_file_of_rows_needs_no_picture(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4), "red").save(tmp_path / "a.png")
    rows = [
        {"id": "a", "reference": "A dog.", "capability": ["ocr", "counting"]},
        {"question": "What is it?", "answers": ["dog"], "image": "a.png", "capability": "ocr"},
        {"id": 7, "reference": ["One.", "A longer one."], "prompt": "Say it."},
    ]
    path = str(write_lines(tmp_path / "rows.jsonl", rows))
    prompts = prompts_of_file(path, 10, ["capability"])
    assert [row["id"] for row in prompts.rows] == ["a", "2", "7"]
    texts = [row["prompt"][0]["content"] for row in prompts.rows]
    assert texts == ["Describe the picture.", "What is it?", "Say it."]
    assert [row["image"] is None for row in prompts.rows] == [True, False, True]
    assert prompts.slices["capability"] == [("ocr", "counting"), ("ocr",), ()]
    assert len(prompts_of_file(path, 2).rows) == 2


ENDLESS = """
from itertools import count

def rows():
    for n in count():
        yield {'image': 'a.png', 'reference': 'One.', 'era': n}
"""


def test_columns_of_the_datas_own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the record's number, also where a record was left out; of a mix from each part its own; and
    of a function without end only as many as are asked.
    """
    monkeypatch.chdir(tmp_path)
    Path("hub").mkdir()
    for path in ("a.png", "hub/a.png"):
        Image.new("RGB", (4, 4), "red").save(path)
    texts = {"One.": 1, "": 2, "Two.": 3}
    records = [{"image": "a.png", "reference": text, "era": era} for text, era in texts.items()]
    rows = JsonlPart(source="jsonl", path=str(write_lines("rows.jsonl", records)))
    Path("endless.py").write_text(ENDLESS)
    pictures = {
        "image": [str(tmp_path / "hub/a.png")] * 2,
        "reference": ["One.", "Two."],
        "era": ["old", "new"],
    }
    Dataset.from_dict(pictures).cast_column("image", Picture()).to_parquet("hub/train.parquet")
    for data, eras in (
        (rows, [("1",), ("3",)]),
        (MixedPart(source="mixed", parts=[scenes_part(count=2), rows]), [(), (), ("1",), ("3",)]),
        (HubPart(source="hub", id="hub", split="train"), [("old",), ("new",)]),
        (FilePart(source="endless.py:rows", count=3), [("0",), ("1",), ("2",)]),
    ):
        assert prompts_of(data, ["era"]).slices["era"] == eras
