"""Rows of a function of one's own: what it may give, and one sentence for what cannot be used."""

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from spanreward.training.data.load import load_data
from spanreward.training.recipe import FilePart
from tests.support.data_parts import asked, learned

ROWS = """
from PIL import Image

def rows(size=8, more=()):
    yield {"image": Image.new("RGB", (size, size), "red"), "reference": ["A wall.", "A red wall."], "place": "north"}
    yield {"image": "blue.png", "reference": "", "place": "left out"}
    yield {"image": "blue.png", "question": "Which color?", "answers": ["blue", "blue", "sky"], "completion": "sky"}
    yield from more

def endless():
    while True:
        yield {"image": Image.new("RGB", (4, 4)), "reference": "Black."}

def listed():
    return [{"photo": "blue.png", "said": ["Blue."], "completion": ["One.", "Two."], "place": 3}]

names = "no function"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_data.py").write_text(ROWS)
    Image.new("RGB", (6, 4), "blue").save(tmp_path / "blue.png")
    return tmp_path


def own(name: str = "rows", **more: Any) -> FilePart:
    return FilePart(source=f"my_data.py:{name}", **more)


def test_rows_to_judge_and_to_learn() -> None:
    """A row that is left out takes its columns along; what a row lacks is None; no judge sees what
    SFT learns.
    """
    dataset = load_data(own(options={"size": 5}))
    columns = ["answers", "id", "image", "place", "prompt", "question", "reference"]
    assert sorted(dataset.column_names) == columns
    assert dataset["id"][:] == ["1", "3"]
    assert dataset["place"][:] == ["north", None]
    assert dataset["reference"][:] == [["A wall.", "A red wall."], None]
    assert asked(own(options={"size": 5})) == ["Describe the picture.", "Which color?"]
    assert [image.size for image in dataset["image"]] == [(5, 5), (6, 4)]
    assert dataset[1]["image"].getpixel((0, 0)) == (0, 0, 255)
    # a row's `completion` goes before its references and the most frequent answer
    assert learned(own()) == ["A wall.", "A red wall.", "sky"]
    assert len(load_data(own("endless", count=3))) == 3


def test_keys_of_other_names() -> None:
    data = own("listed", columns={"image": "photo", "reference": "said"}, prompt="Say it.")
    (row,) = load_data(data)
    assert (row["reference"], row["place"]) == (["Blue."], 3)
    assert "photo" not in row
    assert asked(data) == ["Say it."]
    assert learned(data) == ["One.", "Two."]


def test_missing_values_of_pandas(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    missing = {"photo": "blue.png", "caption": "nan", "place": "nan"}
    rows = [missing, {**missing, "caption": "Blue."}]
    (folder / "frame.py").write_text(f"def rows():\n    return {rows!r}\n")
    columns = {"image": "photo", "reference": "caption"}
    data = load_data(FilePart(source="frame.py:rows", columns=columns))
    assert data["reference"] == [["Blue."]]
    assert data["place"] == ["nan"]
    assert any("read as missing: 1 of 'caption'" in message for message in caplog.messages)
