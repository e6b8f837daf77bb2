"""`labels table` as a person meets it: tables, and the same numbers as JSON."""

import json
import re
from pathlib import Path

import pytest

from tests.support.command import experiments
from tests.support.experiment_numbers import measured, numbers_of

JUDGED = [("A dog.", "1_much_better"), ("A red circle.", "equal")] * 2
REFERENCES = ["A blue circle.", "A red circle above a star."]
MAP = "name: Mine\nsource: here\nseen: true\n"


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    lines = []
    for number, (text, label) in enumerate(JUDGED):
        row = {"uuid": number, "model1": "llava", "model2": "molmo", "reference": REFERENCES}
        row |= {"model1_generation": "A red circle.", "model2_generation": text}
        row |= dict.fromkeys(("mistakes", "omissions", "overall_quality"), label)
        lines.append(json.dumps(row) + "\n")
    path = tmp_path / "coarse.jsonl"
    path.write_text("".join(lines))
    return path


def test_published_mode_over_several_references(rows: Path, tmp_path: Path) -> None:
    words = ("labels", "table", "docent-coarse", rows, "--judge", "match", "mode=published")
    out, numbers = measured(tmp_path, *words)
    assert numbers["metric"]["options"] == {"mode": "published"}
    assert "data not seen here" in numbers["format"]["status"]
    first = next(row for row in numbers["rows"] if row["measure"] == "overall: accuracy")
    assert first["metrics"]["posh"]["value"] == 1.0
    assert list(first["metrics"]) == ["posh"]
    for said in ("PoSh, tables 3 and 6", "mode=published", "data not seen here"):
        assert said in " ".join(out.split())
    assert f"{first['metrics']['posh']['value']:.3f}" in out


def test_only_the_first_groups_and_a_map_of_one_s_own(rows: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    texts = "completions: [model1_generation, model2_generation], references: reference"
    mine.write_text(f"{MAP}first_is_better: true\ncolumns: {{group: uuid, {texts}}}\n")
    words = ("labels", "table", "pascal50s", rows, "--columns", mine, "--count", "1")
    numbers = numbers_of(tmp_path, *words)
    assert (numbers["records"], numbers["format"]["name"]) == (1, "Mine")
    assert numbers["rows"][0]["metrics"]["posh"]["value"] == 1.0


def test_a_table_of_what_nobody_judged(rows: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(f"{MAP}columns: {{group: uuid, completion: model1_generation}}\n")
    done = experiments("labels", "table", "lave", rows, "--columns", mine, "--metric", "posh")
    assert done.code == 1
    assert re.search("posh has no score for 4 of 4 .*not_applicable", done.err)
