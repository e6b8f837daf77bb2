"""`experiments agreement table`: what `labels table` says, and the baselines beside it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.experiment_numbers import measured, numbers_of


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def answers(folder: Path) -> Path:
    said = [("red", 1.0), ("blue", 0.0), ("red", 1.0), ("a red one", 0.5), ("green", 0.0)]
    line = {"model": "blip2", "dataset": "vqav2", "question": "What colour is it?"}
    line |= {"references": ["red"] * 5}
    rows = []
    for number, (text, quality) in enumerate(said):
        rows.append({**line, "qid": number, "prediction": text, "human_score": quality})
    return written(folder / "lave.jsonl", rows)


def test_the_baselines_stand_beside_the_metric(tmp_path: Path) -> None:
    line = {"edit_type": "swap", "image_id": 1, "filename": "a.jpg"}
    line |= {"references": ["A red circle above a star."]}
    line |= {"caption": "A red circle.", "negative_caption": "A blue dog."}
    words = ("table", "sugarcrepe", written(tmp_path / "pairs.jsonl", [line]), "mode=published")
    without = numbers_of(tmp_path, "labels", *words)
    out, numbers = measured(tmp_path, "agreement", *words)
    for ours, theirs in zip(numbers.pop("rows"), without.pop("rows"), strict=True):
        assert {"words", "bag_of_words"} <= set(ours["metrics"])
        assert theirs["metrics"]["posh"] == ours["metrics"]["posh"]
    assert any(sentence.startswith("CLIPScore: left out") for sentence in numbers.pop("left_out"))
    assert numbers.pop("tests") == []
    assert numbers == without
    assert "CLIPScore: left out" in " ".join(out.split())


def test_lave_is_tested_against_each_baseline(tmp_path: Path) -> None:
    out, numbers = measured(tmp_path, "agreement", "table", "lave", answers(tmp_path))
    others = {test["other"] for test in numbers["tests"]}
    assert {"words", "bag_of_words", "exact_match", "contains"} <= others
    assert {test["metric"] for test in numbers["tests"]} == {"lave"}
    found = {row["measure"]: row["metrics"] for row in numbers["rows"] if row["slice"] == "all"}
    spearman = {name: one["value"] for name, one in found["quality: Spearman"].items()}
    for test in numbers["tests"]:
        apart = spearman["lave"] - spearman[test["other"]]
        assert test["spearman"]["difference"] == pytest.approx(apart)
    assert "Spearman, lave less another" in out
