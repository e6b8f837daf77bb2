"""`agreement votes`: tables, the JSON that checks read, one sentence for a folder that cannot be
used.
"""

import json
from pathlib import Path

from tests.support.command import experiments
from tests.support.votes import mllm, wildvision, write_lines


def test_it_writes_what_is_prescribed(tmp_path: Path) -> None:
    rows = [wildvision(f"q{n}", label) for n, label in enumerate(["B>>A", "A>B", "A=B", None])]
    folder = write_lines(tmp_path / "votes.jsonl", rows)
    (folder / "published.json").write_text(
        json.dumps({"models": {"m": {"score": 70.0, "ci95": [-1.5, 2.0]}}})
    )
    done = experiments("agreement", "votes", folder, "--json", tmp_path / "out" / "numbers.json")
    assert (done.code, done.err) == (0, "")
    numbers = json.loads((tmp_path / "out" / "numbers.json").read_text())
    assert list(numbers) == ["models"]
    assert list(numbers["models"]["m"]) == [
        "score",
        "win_rate",
        "reward",
        "counts",
        "unreadable",
        "interval",
    ]
    assert list(numbers["models"]["m"]["interval"]) == ["low", "high"]
    assert numbers["models"]["m"]["score"] == 70.0
    for words in (
        "[68.5,",
        "72.0]",
        "as losses",
        "1 votes could not be read",
        "Win rate at equal length",
    ):
        assert words in done.out


def test_both_orders_and_levels_are_shown(tmp_path: Path) -> None:
    folder = write_lines(
        tmp_path / "votes.jsonl", [mllm(0, "Answer2", "Answer1"), mllm(1, "Answer1", "Answer1")]
    )
    parts = ("Object Counting ", "Food Recognition")
    questions = [
        {"id": n, "level": "Applying", "capability": part, "anchor_answer": "A text."}
        for n, part in enumerate(parts)
    ]
    write_lines(tmp_path / "questions.jsonl", questions)
    done = experiments("agreement", "votes", folder, "--json", tmp_path / "numbers.json")
    assert done.code == 0
    numbers = json.loads((tmp_path / "numbers.json").read_text())["models"]["m"]
    assert list(numbers) == [
        "score",
        "win_rate",
        "counts",
        "unreadable",
        "interval",
        "levels",
        "capabilities",
    ]
    assert numbers["capabilities"] == {"Object Counting": [1, 0, 0], "Food Recognition": [0, 1, 0]}
    assert list(numbers["counts"]) == [
        "m",
        "a",
        "unable to decide: situation one",
        "unable to decide: situation two",
        "unable to decide",
        "tie",
    ]
    for words in ("they agree on 0.500", "1/1/0", "too one-sided", "by capability"):
        assert words in " ".join(done.out.split())


def test_a_folder_without_votes_is_one_sentence(tmp_path: Path) -> None:
    done = experiments("agreement", "votes", tmp_path)
    assert done.code == 1
    assert "votes.jsonl is missing" in done.err
    assert "Traceback" not in done.err
