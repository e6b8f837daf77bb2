"""Right inputs that look like the mistakes of experiments/mistakes/of_readers.py are read as ever."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from spanreward import PoshReward, load_judge
from spanreward.rewards.base.texts import is_joined
from spanreward.rewards.language.pipeline import load_pipeline
from spanreward.rewards.rows.lines import read_rows
from tests.support.command import spanreward

ROW = {"id": "1", "completion": "A red circle.", "reference": "A red circle."}
CSV = "id,completion,reference\n1,A red circle.,A red circle.\n"
MESSAGES = [{"role": "assistant", "content": "A red circle."}]
RIGHT = {
    "bom.csv": b"\xef\xbb\xbf" + CSV.encode(),
    "tabs.csv": CSV.replace(",", "\t").encode(),
    "semicolons.csv": CSV.replace(",", ";").encode(),
    "windows.csv": CSV.replace("\n", "\r\n").encode(),
    "mac.csv": CSV.replace("\n", "\r").encode(),
    "accents.csv": CSV.replace("red", "café").encode(),
    "bom.jsonl": b"\xef\xbb\xbf" + json.dumps(ROW).encode() + b"\r\n",
    "packed.jsonl": gzip.compress(json.dumps(ROW).encode()),
    "list.json": json.dumps([ROW]).encode(),
    "one.json": json.dumps(ROW, indent=2).encode(),
    "messages.jsonl": json.dumps({"completion": MESSAGES, "reference": ["A red circle."]}).encode(),
    "scored.jsonl": json.dumps({**ROW, "score": 1.0, "status": "ok", "spans": []}).encode(),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_file_is_read(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(RIGHT[name])
    (row,) = read_rows(tmp_path / name)
    assert not isinstance(row.sample, str), row.sample
    assert len(row.sample.references) == 1


@pytest.mark.parametrize("answers", ["red, red, blue", "red|blue", "red; blue"])
def test_answers_in_one_text_are_told(answers: str) -> None:
    assert is_joined(answers)


ALONE = ["red", "Paris, France", "1,000", "['red', 'red']", '["red; blue"]', ["red, red"], "no | "]


@pytest.mark.parametrize("answers", [*ALONE, None])
def test_answers_that_may_be_one_are_not_told_as_several(answers: Any) -> None:
    assert not is_joined(answers)


@pytest.mark.parametrize(
    "words",
    [
        "--columns completion=answer reference=completion",
        "--columns reference=caption",
        "--set score=recall judge.coref=none --columns reference=caption",
    ],
)
@pytest.mark.parametrize("output", ["v.jsonl", "v.json", "v", "v.txt"])
def test_a_right_command_runs(
    words: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    row = {"id": "1", "completion": "A dog.", "answer": "A dog.", "caption": "A dog."}
    Path("rows.jsonl").write_text(json.dumps(row) + "\n")
    call = f"score posh --judge match --input rows.jsonl --output {output} {words}"
    done = spanreward(*call.split())
    assert done.code == 0, done.err
    assert json.loads(Path(output).read_text())["score"] == 1.0


def test_a_parser_of_ones_own_and_numbers_are_taken() -> None:
    pipeline = load_pipeline()
    assert PoshReward("match", pipeline=pipeline).pipeline is pipeline
    for memory in (2e9, 2_000_000_000, 0.5, None):
        assert load_judge("vllm:smollm2", memory=memory) is not None
