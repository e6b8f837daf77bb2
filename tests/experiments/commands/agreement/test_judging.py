"""`experiments agreement judge`: its tables, its numbers and the votes on file."""

import json
from pathlib import Path

from tests.support.command import experiments

WORDS = "experiments/scenes/word_judge.py:WordJudge"  # the default
PAIR = {"id": 1, "instruction": "Which fruit is it?", "human_answer": "A"}
PAIR |= {"original_dataset": "coco"}
PAIR |= {
    "answer1": {"name": "[b]x[/b]", "answer": "A fruit."},
    "answer2": {"name": "<y>", "answer": "A dog runs."},
}
SCORE = {"id": 1, "instruction": "Which fruit is it?", "name": "x", "answer": "A fruit."}
SCORE |= {"human": 4}
BATCH = {"id": 1, "instruction": "Which fruit is it?", "human": "AB"}
BATCH |= {"answers": [{"name": "x", "answer": "A fruit."}, {"name": "y", "answer": "A dog runs."}]}


def write(folder: Path, **files: object) -> Path:
    for name, row in files.items():
        (folder / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    return folder


def test_numbers_tables_and_votes(tmp_path: Path) -> None:
    folder = write(tmp_path, pair=PAIR, score=SCORE, batch=BATCH)
    numbers, votes = tmp_path / "numbers.json", tmp_path / "votes.jsonl"
    files = ("--json", numbers, "--votes", votes)
    done = experiments("agreement", "judge", folder, "--request-as-context", *files)
    assert done.code == 0, done.err
    assert "Rankings, from both ends" in done.out
    assert "[b]x[/b]" in done.out  # a name is no markup
    judges = json.loads(numbers.read_text())["judges"]
    assert list(judges) == [WORDS, "always the first", "always the longer"]
    (pairs,) = judges[WORDS]["pairs"]
    assert (pairs["n"], pairs["right"], pairs["orders_agree"]) == (1, 1, 1.0)
    assert judges["always the first"]["pairs"][0]["decided"] == 0
    lines = [json.loads(line) for line in votes.read_text().splitlines()]
    assert len(lines) == 3 * (2 + 1 + 2)
    own = [line for line in lines if line["judge"] == WORDS]
    assert [line["order"] for line in own if line["kind"] == "pair"] == [[0, 1], [1, 0]]
    assert [line["choice"] for line in own if line["kind"] == "pair"] == [1, 1]
    assert own[0]["draws"] == ["A"] * 6
    assert own[0]["seed"] == 0
    assert "draws" not in own[1]  # consistency is of the file's order
    assert [line["ranking"] for line in own if line["kind"] == "ranking"] == [[0, 1], [0, 1]]
