"""One reader of rows: the same out of every kind of file, and one sentence for what is none."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset, Features, Image, Value
from PIL import Image as Pictures

from spanreward.rewards.rows.pictures import opened_picture
from spanreward.rewards.rows.tables import is_table, read_table, table_rows
from tests.support.tables import KINDS, table

ROWS = [
    {"id": "a", "completion": 'A "red" dog; it, sleeps.\nOn grass.', "reference": "A dog."},
    {"id": "b", "completion": "Ein Hund, größer als 'x'\t|", "reference": "A cat."},
    {"id": "c", "completion": "[x]", "reference": "犬"},
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_holds_the_same_rows(tmp_path: Path, kind: str) -> None:
    source = table(tmp_path, kind, ROWS)
    assert [row for _, row in read_table(source)] == ROWS
    assert [row for _, row in read_table(source, limit=2)] == ROWS[:2]
    renamed = {"reference": "completion", "caption": "reference"}
    ((where, row),) = read_table(source, renamed, limit=1)
    assert row == {**ROWS[0], "reference": ROWS[0]["completion"], "caption": "A dog."}
    assert where.startswith(f"{source} ")
    assert is_table(source) == (not source.startswith("hub:"))
    with pytest.raises(ValueError, match=r"1 has no 'captoin', .*'id', 'reference'"):
        list(read_table(source, {"reference": "captoin"}))


def test_pretty_printed_objects_one_after_another(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text("\n\n".join(json.dumps(row, indent=1) for row in ROWS))
    assert [row for _, row in read_table(path)] == ROWS
    path.write_text(json.dumps(ROWS[0], indent=4))
    assert [row for _, row in read_table(path)] == ROWS[:1]


def test_pictures_stay_bytes_until_they_are_used(tmp_path: Path) -> None:
    Pictures.new("RGB", (4, 4), "red").save(tmp_path / "red.png")
    content = (tmp_path / "red.png").read_bytes()
    features = Features({"image": {"bytes": Value("binary"), "path": Value("string")}})
    for name, columns in (("struct", features), ("feature", Features({"image": Image()}))):
        rows = Dataset.from_list([{"image": {"bytes": content, "path": None}}], features=columns)
        rows.to_parquet(tmp_path / f"{name}.parquet")
        (tmp_path / name).mkdir()
        rows.to_parquet(tmp_path / name / "train.parquet")
        for source in (str(tmp_path / f"{name}.parquet"), f"hub:{tmp_path / name}"):
            ((_, row),) = read_table(source)
            assert row["image"]["bytes"] == content
            assert opened_picture(row["image"]).size == (4, 4)


FAULTS: dict[str, tuple[bytes, str]] = {
    "rows.jsonl": (b"id,text\n1,a\n2,b\n", "line 1 is not JSON"),
    "utf16.jsonl": (('{"id": 1}\n' * 3).encode("utf-16"), "line 1 is not UTF-8"),
    "pretty.json": (json.dumps(ROWS, indent=2).encode()[:-9], "line 1 is not JSON"),
    "numbers.json": (b"[1, 2, 3]", r"line 1 .*got \[1, 2, 3\]"),
    "latin.csv": (b"id,text\n1,caf\xe9\n", "save it as UTF-8"),
    "ragged.csv": (b"id,text\n1,a,b\n", "row 1 has 3 cells"),
    "book.xlsx": (b"PK\x03\x04{}\n{}", "or a workbook"),
    "none.parquet": (b"PAR1 no", "no parquet file"),
    "cut.jsonl.gz": (gzip.compress(b'{"id": 1}\n' * 1000)[:-12], "cannot be unpacked"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_cannot_be_read_is_one_sentence(tmp_path: Path, name: str) -> None:
    content, reason = FAULTS[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=reason) as error:
        list(read_table(tmp_path / name))
    assert str(error.value).startswith(str(tmp_path / name))
    assert "\n" not in str(error.value)


def test_one_bad_line_among_others_costs_its_own_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": 1\n\n{"id": 2}\n[3]\n')
    found: list[Any] = list(table_rows(path))
    assert [(number, where) for number, where, _ in found] == [(n, f"line {n}") for n in (1, 3, 4)]
    assert found[0][2].startswith("line 1 is not JSON")
    assert found[1][2] == {"id": 2}
    assert "got [3]" in found[2][2]


def test_a_dataset_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"split 'test' .*cannot be loaded"):
        list(read_table(f"{table(tmp_path, 'hub', ROWS)}:test"))


@pytest.mark.parametrize("content", [b"", b"\n \n", b"[]"])
def test_a_file_without_rows(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "rows.json").write_bytes(content)
    assert list(read_table(tmp_path / "rows.json")) == []
