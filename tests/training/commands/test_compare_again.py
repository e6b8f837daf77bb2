"""`compare --from` and `--export`: a finished comparison again, and its differences for a paper."""

import csv
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.support.command import spanreward

REFERENCE = "A brown dog sleeps on a green sofa."
SIDES = {"old": "A brown cat sleeps on a red sofa.", "new_{1}": "A brown dog sleeps on a <b>red</b> sofa."}


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    rows = [{"id": f"row {n}", "reference": REFERENCE, "kind": "odd" if n % 2 else "even"} for n in range(8)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, text in SIDES.items():
        answers = [{"id": row["id"], "completion": text + " It is night." * n} for n, row in enumerate(rows)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    sides = [f"{name}={tmp_path / name}.jsonl" for name in SIDES]
    asked = ["--data", tmp_path / "rows.jsonl", "--metric", "posh", "--slice", "kind", "--title", "A|B"]
    assert spanreward("compare", *sides, *asked, "--output", tmp_path / "one").code == 0
    return tmp_path / "one" / "results.json"


def test_the_page_is_the_same_and_nothing_is_judged(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spanreward.training.run.build_rewards", None)
    assert spanreward("compare", "--from", finished, "--output", tmp_path / "two").code == 0
    for name in ("report.html", "results.json", "tables.txt"):
        assert (tmp_path / "two" / name).read_text() == finished.with_name(name).read_text(), name


def test_the_exported_files_hold_the_differences(finished: Path, tmp_path: Path) -> None:
    output = tmp_path / "paper"
    kinds = ["tex", "csv", "md", "svg"]
    assert spanreward("compare", "--from", finished, "--output", output, "--export", *kinds).code == 0
    entries = json.loads(finished.read_text())["difference"]["new_{1}_minus_old"]
    with (output / "differences.csv").open() as file:
        rows = {row["metric"]: row for row in csv.DictReader(file)}
    assert set(rows) == {"posh_f1", "overlap"}
    for metric, row in rows.items():
        assert float(row["mean"]) == pytest.approx(entries[metric]["mean"])
        assert row["verdict"] == entries[metric]["verdict"]
    mean = f"{entries['posh_f1']['mean']:+.3f}"
    tex, md = (output / "differences.tex").read_text(), (output / "differences.md").read_text()
    assert mean in tex
    assert r"new\_\{1\}" in tex
    assert r"\toprule" in tex
    assert r"[95 \%]" in tex  # a bare one begins a comment
    assert "$<$ .001" in tex
    assert mean in md
    assert {line.count("|") for line in md.splitlines()} == {md.splitlines()[0].count("|")}
    assert ElementTree.parse(output / "differences.svg").getroot().tag.endswith("svg")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda results: results.pop("schema"), "has the schema None, and this version reads 1: compare again"),
        (lambda results: results.update(schema=2), "has the schema 2, and this version reads 1"),
    ],
)
def test_another_schema_is_one_sentence(finished: Path, tmp_path: Path, change: Any, said: str) -> None:
    results = json.loads(finished.read_text())
    change(results)
    finished.write_text(json.dumps(results))
    done = spanreward("compare", "--from", finished, "--output", tmp_path / "two")
    assert done.code == 1
    assert said in done.err


def test_rows_that_are_gone_are_named(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps({"id": "other", "reference": REFERENCE, "kind": "odd"}) + "\n")
    said = spanreward("compare", "--from", finished, "--output", tmp_path / "two").err
    assert "no longer have the row 'row 0' (8 of 8 are missing)" in said


def test_from_takes_no_models(finished: Path, tmp_path: Path) -> None:
    done = spanreward("compare", "a=b", "c=d", "--from", finished, "--output", tmp_path / "two")
    assert done.code == 2
    assert "leave the others out" in done.err
