"""What scoring keeps of a row: a small measurement, and its arithmetic."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from experiments.benchmark import command, rows
from spanreward.rewards.rows.tables import table_rows


def run(monkeypatch: pytest.MonkeyPatch, *arguments: Any) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmark.py", *map(str, arguments)])
    command.main()


def test_both_runs_are_measured_for_each_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.json"
    run(monkeypatch, "rows", "--rows", 70, 3, "--json", path)
    lines = json.loads(path.read_text())["lines"]
    expected = [(3, "first"), (3, "resumed"), (70, "first"), (70, "resumed")]
    assert [(line["rows"], line["run"]) for line in lines] == expected
    assert all(line["peak"] > 20e6 and line["seconds"] > 0 for line in lines)
    assert [line["bytes_a_row"] is None for line in lines] == [True, True, False, False]
    assert "bytes a row more" in capsys.readouterr().err


def test_growth_is_told_from_the_fewest_rows_of_that_run() -> None:
    lines = [
        {"ending": ending, "rows": count, "run": kind, "peak": size + 100 * count}
        for ending, kind, size in (("csv", "first", 7), ("csv", "resumed", 5000))
        for count in (10, 30)
    ]
    assert [rows.growth(line, lines) for line in lines] == [None, 100.0, None, 100.0]


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_every_kind_of_file_holds_the_made_rows(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"rows.{ending}"
    rows.write_rows(path, rows.made_rows(5, 8, 6))
    assert [row for *_, row in table_rows(path)] == list(rows.made_rows(5, 8, 6))
