"""`experiments agreement judge`: its tables, its numbers and the votes on file."""

import json
from pathlib import Path

from tests.support.experiment_numbers import measured

WORDS = "experiments/scenes/word_judge.py:WordJudge"  # the default
ASKED = {"id": 1, "instruction": "Which fruit is it?"}
ANSWERS = ({"name": "[b]x[/b]", "answer": "A fruit."}, {"name": "<y>", "answer": "A dog runs."})
PAIR = {**ASKED, "human_answer": "A", "original_dataset": "coco"}
PAIR |= {"answer1": ANSWERS[0], "answer2": ANSWERS[1]}
SCORE = {**ASKED, "name": "x", "answer": "A fruit.", "human": 4}
BATCH = {**ASKED, "human": "AB", "answers": ANSWERS}


def test_numbers_tables_and_votes(tmp_path: Path) -> None:
    for name, row in (("pair", PAIR), ("score", SCORE), ("batch", BATCH)):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    votes = tmp_path / "votes.jsonl"
    words = ("agreement", "judge", tmp_path, "--request-as-context", "--votes", votes)
    out, numbers = measured(tmp_path, *words)
    assert "Rankings, from both ends" in out
    assert "[b]x[/b]" in out  # a name is no markup
    judges = numbers["judges"]
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
