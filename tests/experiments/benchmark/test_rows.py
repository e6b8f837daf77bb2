"""What scoring keeps of a row: a small measurement, and its arithmetic."""

from pathlib import Path

import pytest

from experiments.benchmark import rows
from spanreward.rewards.rows.tables import table_rows
from tests.support.experiment_numbers import numbers_of


def test_both_runs_are_measured_for_each_file(tmp_path: Path) -> None:
    lines = numbers_of(tmp_path, "benchmark", "rows", "--rows", "70", "3")["lines"]
    expected = [(3, "first"), (3, "resumed"), (70, "first"), (70, "resumed")]
    assert [(line["rows"], line["run"]) for line in lines] == expected
    assert all(line["peak"] > 20e6 and line["seconds"] > 0 for line in lines)
    assert [line["bytes_a_row"] is None for line in lines] == [True, True, False, False]


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
