"""`agreement scenes`: a judge's answers about Scenes against the truth, as a table and as JSON."""

from pathlib import Path

from tests.support.experiment_numbers import measured


def test_words_are_mostly_right(tmp_path: Path) -> None:
    judge = "experiments/scenes/word_judge.py:WordJudge"
    words = ("agreement", "scenes", "--judge", judge, "--count", "8")
    out, numbers = measured(tmp_path, *words)
    assert numbers["split"] == "test"
    assert numbers["kinds"].keys() == {"entity", "attribute", "relation", "lave", "pair"}
    for kind, row in numbers["kinds"].items():
        assert kind in out
        assert row["failed"] == 0
        assert sum(one["count"] for one in row["bins"]) == row["questions"]
    assert numbers["kinds"]["attribute"]["accuracy"] > 0.9
    assert sum(row["questions"] for row in numbers["kinds"].values()) == numbers["questions"]
