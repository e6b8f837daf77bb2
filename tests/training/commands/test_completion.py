"""What the shell's TAB offers, asked as argcomplete asks it, and that it imports nothing slow."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

OFFERED = {
    "spanreward ": {"score", "train", "compare", "doctor", "labels", "serve", "recipes"},
    "spanreward tr": {"train "},
    "spanreward score p": {"posh", "pairwise"},
    "spanreward score posh --judge v": {"vllm:"},
    "spanreward score posh --quie": {"--quiet "},
    "spanreward compare --metric la": {"lave "},
    "spanreward labels ": {"spans"},
    "spanreward labels spans --judge-": set[str](),
    "spanreward judge t": {"train "},
    "spanreward train recipes/qwen2.5-vl-7b/docent-sft.": {
        "recipes/qwen2.5-vl-7b/docent-sft.yaml "
    },
    "spanreward train mine.y": {"mine.yaml "},
    "spanreward score posh --input ro": {"rows.jsonl "},
}


@pytest.mark.parametrize("line", OFFERED)
def test_tab_offers(line: str, tmp_path: Path) -> None:
    for name in ("mine.yaml", "rows.jsonl"):
        (tmp_path / name).write_text("")
    asked = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "offered"),
        "_ARGCOMPLETE_IFS": "\n",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    command = [sys.executable, "-X", "importtime", "-m", "spanreward"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **asked}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    offered = set((tmp_path / "offered").read_text().split("\n")) - {""}
    assert offered >= OFFERED[line] if line.endswith(" ") else offered == OFFERED[line]
    imported = {name.rpartition("|")[2].strip() for name in done.stderr.splitlines()}
    assert not imported & {"torch", "spacy", "transformers", "openai"}
