"""Lines of files as Samples: where their pictures are, what their ids are, and why a line is none."""

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.rows.lines import read_row, read_rows
from spanreward.rewards.rows.pictures import opened_picture
from tests.support.paths import ROOT


def test_pictures_are_found_from_the_file_and_from_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pics").mkdir()
    Image.new("RGB", (8, 8)).save(tmp_path / "pics" / "a.png")
    held = ("pics/a.png", {"path": "pics/a.png", "bytes": None}, str(tmp_path / "pics" / "a.png"))
    rows = [{"completion": "A dog.", "image": one} for one in held]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for folder in (tmp_path, ROOT):
        monkeypatch.chdir(folder)
        found = [row.sample.images[0] for row in read_rows(file) if isinstance(row.sample, Sample)]
        assert [opened_picture(picture).size for picture in found] == [(8, 8)] * 3


def test_a_line_without_an_id_has_its_number() -> None:
    rows: list[dict[str, Any]] = [{}, {"id": None}, {"id": float("nan")}, {"id": 0}, {"id": ""}]
    assert [read_row(7, "line 7", row).id for row in rows] == ["7", "7", "7", "0", ""]
