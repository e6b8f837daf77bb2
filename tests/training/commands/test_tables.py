"""`score`, `labels` and `compare` read the same rows out of files of any kind, under the names that
the file has.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import spanreward
from tests.support.files import read_lines
from tests.support.tables import table

KINDS = ("excel.csv", "hub")  # of all kinds: tests/rewards/rows/test_tables.py
TEXTS = ("A green circle. A blue star.", "A red circle. A blue star.")
WRONG: tuple[list[str], ...] = (["green"], [])
ROWS = [
    {"id": f"r{n}", "said": TEXTS[n % 2], "wanted": [TEXTS[1]], "wrong": WRONG[n % 2]}
    for n in range(24)
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
    assert [line["id"] for line in read_lines(tmp_path / "v.jsonl")] == ["r0", "r1", "r2", "r3"]
    marked = ("labels", "spans", source, *SAID, *WANTED, "--columns", "mistakes=wrong")
    labels = answered(*marked, "--json", found)
    assert labels["completions"] == 24
    assert labels["reliability"]["attribute"]["r"] > 0.99
    if source.startswith("hub:"):
        return
    files = []
    for name, text in zip("ab", TEXTS, strict=True):
        (tmp_path / name).mkdir()
        lines = [{"id": row["id"], "completion": text} for row in ROWS]
        files.append(f"{name}={table(tmp_path / name, kind, lines)}")
    output = ("--output", tmp_path / "out", "--limit", 6, "--json", found)
    compared = answered("compare", *files, "--data", source, "--metric", "posh", *WANTED, *output)
    means = {name: row["posh_f1"]["mean"] for name, row in compared["models"].items()}
    assert means["b"] == 1 > means["a"]


SCORE = "score posh --judge match --input {} --output {}.v.jsonl --columns completion=said"
THERE = r"row 1 has no 'wants', .*\['id', 'said', 'wanted', 'wrong'\]"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (f"{SCORE} reference=wants", THERE),
        (f"{SCORE} --columns reference", "--columns is written OURS=THEIRS"),
        ("labels spans {} --columns refrence=wanted", "did you mean 'reference'"),
    ],
)
def test_columns_that_are_not_there_are_named(words: str, told: str, tmp_path: Path) -> None:
    source = table(tmp_path, "csv", ROWS)
    done = spanreward(*words.format(source, source).split())
    assert done.code == 1
    assert re.search(told, done.err)
