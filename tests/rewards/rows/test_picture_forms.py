"""The forms in which tables hold a picture: read by their content, or refused in a sentence."""

import base64
import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.rows.fingerprint import sample_fingerprint
from spanreward.rewards.rows.lines import read_rows
from spanreward.rewards.rows.pictures import PictureError, opened_picture
from spanreward.training.data.load import load_data
from spanreward.training.recipe import JsonlPart

RED = Image.new("RGB", (5, 3), "red")
FILE = io.BytesIO()
RED.save(FILE, "PNG")
CONTENT = FILE.getvalue()
TEXT = base64.b64encode(CONTENT).decode()
READ: dict[str, Any] = {
    "base64": TEXT,
    "base64 in lines": base64.encodebytes(CONTENT).decode(),
    "base64 without its end": TEXT.rstrip("="),
    "base64 for URLs": base64.urlsafe_b64encode(CONTENT).decode(),
    "data URL": f"data:image/png;base64,{TEXT}",
    "of another type": f"data:application/octet-stream;base64,{TEXT}",
    "of no type": f"DATA:;base64,{TEXT}",
    "with a parameter": f"data:image/png;charset=utf-8;base64,{TEXT}",
    "numbers": {"bytes": list(CONTENT)},
    "numbers and a name": {"bytes": list(CONTENT), "path": "a.png"},
    "base64 in an object": {"bytes": TEXT, "path": None},
    "a data URL in an object": {"url": f"data:image/png;base64,{TEXT}"},
    "base64 by another key": {"image": TEXT},
}


@pytest.mark.parametrize("name", READ)
def test_a_form_is_read_by_its_content(name: str, tmp_path: Path) -> None:
    form = READ[name]
    assert opened_picture(form).tobytes() == RED.tobytes()
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"image": form, "completion": "A.", "reference": "A."}) + "\n")
    (row,) = read_rows(path)
    assert isinstance(row.sample, Sample)
    (picture,) = row.sample.images
    assert opened_picture(picture).size == RED.size
    (tmp_path / "a b.png").write_bytes(CONTENT)
    as_file = Sample("", "A.", images=(str(tmp_path / "a b.png"),), references=("A.",))
    assert sample_fingerprint(row.sample) == sample_fingerprint(as_file)
    (trained,) = load_data(JsonlPart(source="jsonl", path=str(path)))
    assert trained["image"].size == RED.size


def test_bytes_and_names_of_files(tmp_path: Path) -> None:
    path = tmp_path / "a b.png"
    path.write_bytes(CONTENT)

    class Name(os.PathLike[str]):
        def __fspath__(self) -> str:
            return str(path)

    url = f"file://{tmp_path}/a%20b.png"
    local = url.replace("file://", "file://localhost")
    forms = [CONTENT, bytearray(CONTENT), Name(), url, local, path, str(path), RED]
    forms += [{"path": str(path), "bytes": None}, {"bytes": CONTENT, "path": None}]
    for form in forms:
        assert opened_picture(form).tobytes() == RED.tobytes()
    named = "A" * 64  # as a text of base64 is
    (tmp_path / named).write_bytes(CONTENT)
    assert opened_picture(named, tmp_path).size == RED.size


REFUSED: list[tuple[Any, str]] = [
    ("A" * 100, "base64 'A+' cannot be read"),
    ("QUJD" * 30, "base64 '(QUJD)+' cannot be read"),
    ("A" * 65, "'A+' is no base64"),
    (f"data:image/png;base64,{TEXT[:40]}", "cannot be read"),
    ("data:image/png;base64,%%%", "is no base64"),
    ("data:image/svg+xml,<svg/>", "without base64"),
    ({"bytes": [1, 2, 300]}, "holds no bytes"),
    (str({"bytes": CONTENT, "path": None}), "written as text, .*: give its file"),
    (str(CONTENT), "written as text"),
    (str(RED), "written as text, '<PIL"),
    ("array([[[255, 0, 0]]], dtype=uint8)", "written as text"),
    (np.zeros((2, 2, 3), dtype=np.uint8), "got ndarray"),
    (torch.zeros(3, 2, 2), "got Tensor"),
    ([[[255, 0, 0]]], "got list"),
    (7, "got int"),
    ({"bytes": None, "path": None}, "got NoneType"),
]


@pytest.mark.parametrize(("form", "reason"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_no_picture_is_one_sentence(form: Any, reason: str) -> None:
    with pytest.raises(PictureError, match=reason) as error:
        opened_picture(form)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400
