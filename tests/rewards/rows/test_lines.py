"""Lines of files as Samples: where their pictures are, what their ids are, and why a line is none."""

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.rows.lines import read_row, read_rows
from spanreward.rewards.rows.pictures import opened_picture
from tests.support.files import write_lines
from tests.support.paths import ROOT


@pytest.mark.parametrize("folder", [".", ROOT])
def test_pictures_are_found_from_the_file_and_from_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    held = ("a.png", {"path": "a.png", "bytes": None}, str(tmp_path / "a.png"))
    file = write_lines(
        tmp_path / "rows.jsonl", [{"completion": "A.", "image": one} for one in held]
    )
    monkeypatch.chdir(tmp_path / folder)
    for row in read_rows(file):
        assert isinstance(row.sample, Sample)
        assert opened_picture(row.sample.images[0]).size == (8, 8)


def test_a_line_without_an_id_has_its_number() -> None:
    rows: list[dict[str, Any]] = [{}, {"id": None}, {"id": float("nan")}, {"id": 0}, {"id": ""}]
    assert [read_row(7, "line 7", row).id for row in rows] == ["7", "7", "7", "0", ""]
