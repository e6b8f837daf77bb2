"""`score`, `labels` and `compare` read the same rows out of files of any kind, under the names that
the file has.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import spanreward
from tests.support.tables import table

KINDS = ("pretty.json", "excel.csv", "csv.gz", "tsv", "parquet", "hub")
TEXTS = ("A green circle. A blue star.", "A red circle. A blue star.")
ROWS = [
    {
        "id": f"r{number}",
        "said": TEXTS[number % 2],
        "wanted": [TEXTS[1]],
        "wrong": [["green"], []][number % 2],
    }
    for number in range(24)
]
SAID, WANTED = ("--columns", "completion=said"), ("--columns", "reference=wanted")


def answered(*words: Any) -> Any:
    """What the command writes with --json, to a new file."""
    Path(words[-1]).unlink(missing_ok=True)
    done = spanreward(*words)
    assert done.code == 0, done.err
    return json.loads(Path(words[-1]).read_text())


@pytest.mark.parametrize("kind", KINDS)
def test_three_commands_read_every_kind(tmp_path: Path, kind: str) -> None:
    source, found = table(tmp_path, kind, ROWS), tmp_path / "found.json"
    words = f"--judge match --input {source} --output {tmp_path}/v.jsonl --limit 4 --json {found}".split()
    summary = answered("score", "posh", *SAID, *WANTED, *words)
    assert (summary["rows"], summary["statuses"]) == (4, {"ok": 4})
    assert [json.loads(line)["id"] for line in (tmp_path / "v.jsonl").open()] == [
        "r0",
        "r1",
        "r2",
        "r3",
    ]
    labels = answered(
        "labels", "spans", source, *SAID, *WANTED, "--columns", "mistakes=wrong", "--json", found
    )
    assert labels["completions"] == 24
    assert labels["reliability"]["attribute"]["r"] > 0.99
    sides = [
        (name, [{"id": row["id"], "completion": TEXTS[side]} for row in ROWS])
        for side, name in enumerate("ab")
    ]
    if source.startswith("hub:"):
        return
    for name, rows in sides:
        (tmp_path / name).mkdir()
        table(tmp_path / name, kind, rows)
    files = [f"{name}={tmp_path / name / Path(source).name}" for name, _ in sides]
    output = ("--output", tmp_path / "out", "--limit", 6, "--json", found)
    compared = answered("compare", *files, "--data", source, "--metric", "posh", *WANTED, *output)
    means = {name: row["posh_f1"]["mean"] for name, row in compared["models"].items()}
    assert means["b"] == 1 > means["a"]


def test_columns_that_are_not_there_are_named(tmp_path: Path) -> None:
    source = table(tmp_path, "csv", ROWS)
    output = ("--judge", "match", "--output", tmp_path / "v.jsonl")
    done = spanreward(
        "score", "posh", *SAID, "--columns", "reference=wants", "--input", source, *output
    )
    assert done.code == 1
    assert "row 1 has no 'wants', only ['id', 'said', 'wanted', 'wrong']" in done.err
    done = spanreward("score", "posh", "--columns", "reference", "--input", source, *output)
    assert "--columns is written OURS=THEIRS" in done.err
    done = spanreward("labels", "spans", source, "--columns", "refrence=wanted")
    assert "did you mean 'reference'?" in done.err
