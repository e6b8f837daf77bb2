"""`labels table` as a person meets it: tables, and the same numbers as JSON."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import experiments

ROWS = [
    {
        "uuid": number,
        "model1": "llava",
        "model2": "molmo",
        "model1_generation": "A red circle.",
        "model2_generation": text,
        "reference": ["A blue circle.", "A red circle above a star."],
        "mistakes": label,
        "omissions": label,
        "overall_quality": label,
    }
    for number, (text, label) in enumerate(
        [("A dog.", "1_much_better"), ("A red circle.", "equal")] * 2
    )
]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "coarse.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def table(*words: Any, json_to: Path | None = None) -> Any:
    done = experiments("labels", "table", *words, *(("--json", json_to) if json_to else ()))
    assert done.code == 0, done.err
    return done.out, json.loads(json_to.read_text()) if json_to else None


def test_published_mode_over_several_references(rows: Path, tmp_path: Path) -> None:
    """Options come after the other words, wherever those stand."""
    out, numbers = table(
        "docent-coarse", rows, "mode=published", json_to=tmp_path / "out" / "numbers.json"
    )
    assert numbers["metric"]["options"] == {"mode": "published"}
    assert "data not seen here" in numbers["format"]["status"]
    first = next(row for row in numbers["rows"] if row["measure"] == "overall: accuracy")
    assert first["metrics"]["posh"]["value"] == 1.0
    assert list(first["metrics"]) == ["posh"]
    for words in ("PoSh, tables 3 and 6", "mode=published", "data not seen here"):
        assert words in " ".join(out.split())
    assert f"{first['metrics']['posh']['value']:.3f}" in out


def test_only_the_first_groups_and_a_map_of_one_s_own(rows: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(
        "name: Mine\nsource: here\nseen: true\nfirst_is_better: true\ncolumns: {group: uuid, "
        "completions: [model1_generation, model2_generation], references: reference}\n"
    )
    words = ("pascal50s", rows, "--columns", mine, "--count", 1)
    _, numbers = table(*words, json_to=tmp_path / "numbers.json")
    assert (numbers["records"], numbers["format"]["name"]) == (1, "Mine")
    assert numbers["rows"][0]["metrics"]["posh"]["value"] == 1.0


def test_a_table_of_what_nobody_judged(rows: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(
        "name: Mine\nsource: here\nseen: true\ncolumns: {group: uuid, completion: "
        "model1_generation}\n"
    )
    done = experiments("labels", "table", "lave", rows, "--columns", mine, "--metric", "posh")
    assert done.code == 1
    assert re.search("posh has no score for 4 of 4 .*not_applicable", done.err)
