"""What a row is known by changes with what a metric reads of it, and with nothing else."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.rows.fingerprint import sample_fingerprint

TEXTS = {"references": ("A dog.", "A cat."), "question": "What?", "answers": ("a", "b")}
ROW = Sample("Describe.", "A cat.", id="1", **TEXTS)  # type: ignore[arg-type]
CHANGES: list[dict[str, Any]] = [
    *({"prompt": "Describe it."}, {"question": None}, {"context": "What?", "question": None}),
    *({"completion": "A cat. "}, {"completion": ""}, {"completion": "A cat\ud800."}),
    *({"references": ("A cat.", "A dog.")}, {"references": ("A dog.A cat.",)}),
    *({"answers": ("ab",)}, {"answers": (), "criteria": ("a", "b")}, {"anchor": "A dog."}),
    *({"bbox": (0.0, 0.0, 4.0, 4.0)}, {"task": "vqa"}, {"images": ("there/is/none.png",)}),
]


@pytest.mark.parametrize("changed", CHANGES, ids=str)
def test_every_field_counts(changed: Any) -> None:
    assert sample_fingerprint(replace(ROW, **changed)) != sample_fingerprint(ROW)


def test_its_id_and_other_columns_do_not_but_for_metrics_of_your_own() -> None:
    other = replace(ROW, id="2", columns={"note": "checked"})
    assert sample_fingerprint(other) == sample_fingerprint(ROW)
    assert sample_fingerprint(other, columns=True) != sample_fingerprint(ROW)
    assert sample_fingerprint(ROW, columns=True) == sample_fingerprint(ROW)


def test_a_picture_counts_by_its_content(tmp_path: Path) -> None:
    def marks(color: str, name: str) -> Any:
        path = tmp_path / name
        image = Image.new("RGB", (4, 3), color)
        image.save(path)
        forms = (str(path), {"bytes": path.read_bytes()}, {"bytes": None, "path": str(path)}, image)
        return [sample_fingerprint(replace(ROW, images=(form,))) for form in forms]

    red = marks("red", "a.png")
    assert marks("red", "b.png") == red
    assert red[0] == red[1] == red[2]
    assert not set(marks("blue", "a.png")) & set(red)


@pytest.mark.parametrize(
    "picture", ["x\0.png", "/", "http://a/b.png", 3, {"bytes": 3}, {"path": 3}, [], None, {}]
)
def test_what_is_no_picture_has_a_mark_too(picture: Any) -> None:
    assert len(sample_fingerprint(replace(ROW, images=(picture,)))) == 16
