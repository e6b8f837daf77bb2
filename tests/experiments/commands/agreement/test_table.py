"""`experiments agreement table`: what `labels table` says, and the baselines beside it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import experiments


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def answers(folder: Path) -> Path:
    said = [("red", 1.0), ("blue", 0.0), ("red", 1.0), ("a red one", 0.5), ("green", 0.0)]
    line = {"model": "blip2", "dataset": "vqav2", "question": "What colour is it?"}
    line |= {"references": ["red"] * 5}
    rows = [
        {**line, "qid": n, "prediction": text, "human_score": quality}
        for n, (text, quality) in enumerate(said)
    ]
    return written(folder / "lave.jsonl", rows)


def test_the_baselines_stand_beside_the_metric(tmp_path: Path) -> None:
    line = {"edit_type": "swap", "image_id": 1, "filename": "a.jpg"}
    line |= {"references": ["A red circle above a star."]}
    file = written(
        tmp_path / "pairs.jsonl",
        [{**line, "caption": "A red circle.", "negative_caption": "A blue dog."}],
    )
    alone, beside = tmp_path / "alone.json", tmp_path / "beside.json"
    assert (
        experiments("labels", "table", "sugarcrepe", file, "mode=published", "--json", alone).code
        == 0
    )
    done = experiments("agreement", "table", "sugarcrepe", file, "mode=published", "--json", beside)
    assert done.code == 0, done.err
    without, numbers = json.loads(alone.read_text()), json.loads(beside.read_text())
    for ours, theirs in zip(numbers.pop("rows"), without.pop("rows"), strict=True):
        assert {"words", "bag_of_words"} <= set(ours["metrics"])
        assert theirs["metrics"]["posh"] == ours["metrics"]["posh"]
    assert any(sentence.startswith("CLIPScore: left out") for sentence in numbers.pop("left_out"))
    assert numbers.pop("tests") == []
    assert numbers == without
    assert "CLIPScore: left out" in " ".join(done.out.split())


def test_lave_is_tested_against_each_baseline(tmp_path: Path) -> None:
    done = experiments(
        "agreement", "table", "lave", answers(tmp_path), "--json", tmp_path / "numbers.json"
    )
    assert done.code == 0, done.err
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert {"words", "bag_of_words", "exact_match", "contains"} <= {
        test["other"] for test in numbers["tests"]
    }
    assert {test["metric"] for test in numbers["tests"]} == {"lave"}
    measured = {row["measure"]: row["metrics"] for row in numbers["rows"] if row["slice"] == "all"}
    spearman = {name: found["value"] for name, found in measured["quality: Spearman"].items()}
    for test in numbers["tests"]:
        assert test["spearman"]["difference"] == pytest.approx(
            spearman["lave"] - spearman[test["other"]]
        )
    assert "Spearman, lave less another" in done.out
