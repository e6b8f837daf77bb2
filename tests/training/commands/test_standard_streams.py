"""Commands in a pipe: `-` for standard input and output, a reader that leaves, Ctrl-C, --quiet."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spanreward.training.commands.standard_streams import writes_to_output
from tests.support.paths import ROOT

ROWS = [
    {"id": "a", "completion": "A red circle.", "reference": "A blue circle."},
    {"id": "b", "completion": "A blue circle.", "reference": "A blue circle."},
]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)
SCORE = ("score", "posh", "--judge", "match", "--input", "-")


def spanreward(*words: Any, given: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "spanreward", *map(str, words)]
    return run(command, input=given, timeout=300)


def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, **options)


def test_rows_come_in_and_verdicts_go_out() -> None:
    done = spanreward(*SCORE, "-o", "-", given=LINES)
    assert done.returncode == 0, done.stderr
    verdicts = [json.loads(line) for line in done.stdout.splitlines()]
    found = [(verdict["id"], verdict["score"]) for verdict in verdicts]
    assert found == [("a", pytest.approx(0.6)), ("b", 1.0)]
    assert "mean_score" in done.stderr  # the table
    assert not (ROOT / "-").exists()


def test_numbers_go_out_alone_and_warnings_beside_them(tmp_path: Path) -> None:
    german = "Auf der alten Brücke stehen drei Männer mit ihren Hunden und sprechen miteinander."
    rows = LINES + json.dumps({"completion": german, "reference": german}) + "\n"
    done = spanreward(*SCORE, "-o", tmp_path / "v.jsonl", "--json", "-", given=rows)
    assert json.loads(done.stdout)["rows"] == 3
    assert "reads English" in done.stderr
    quiet = spanreward(*SCORE, "-o", tmp_path / "w.jsonl", "--quiet", given=LINES)
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")


def test_nothing_goes_out_where_nothing_was_scored() -> None:
    done = spanreward(*SCORE, "-o", "-", given="")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("score posh --output -", True),
        ("score -o -", True),
        ("compare --json=-", True),
        ("score --input - --output v.jsonl", False),
        ("score --json", False),
    ],
)
def test_which_words_send_a_file_to_standard_output(words: str, expected: bool) -> None:
    assert writes_to_output(words.split()) == expected


def test_a_reader_that_leaves_ends_the_command_quietly() -> None:
    command = f"{sys.executable} -m spanreward recipes | head -c 1"
    unbuffered = {**os.environ, "PYTHONUNBUFFERED": "1"}
    done = run(["bash", "-o", "pipefail", "-c", command], timeout=60, env=unbuffered)
    assert done.returncode in (0, 141)  # 0 where all was written before the reader left
    assert done.stderr == ""


def test_ctrl_c_is_130_without_a_traceback(tmp_path: Path) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "spanreward", *SCORE, "-o", str(tmp_path / "v.jsonl")],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert running.stdin is not None
    running.stdin.write(LINES * 1000)  # more than a pipe holds: it is read before this returns
    running.stdin.flush()
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130, said
    assert "Traceback" not in said
    assert "interrupted" in said
