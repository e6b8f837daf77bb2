"""PoSh with evidence "picture" and "both" by the commands: rows, a page, labels, a recipe."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from PIL import Image

from experiments.scenes.parts import TINY
from tests.support.command import Done, spanreward
from tests.support.comparing import read_lines, write_lines
from tests.support.paths import ROOT
from tests.support.tiny_trainer import COMMON

SEER = f"{ROOT}/tests/support/seers.py:Seer"
KITE = {
    "id": "kite",
    "image": "red.png",
    "prompt": "Describe.",
    "reference": "A red kite is above a house.",
    "completion": "A red kite. A brown dog sits. A cat.",
    "mistakes": ["cat"],
}
BOAT = {
    "id": "boat",
    "image": "blue.png",
    "prompt": "Describe.",
    "reference": "A wooden boat is on a grey river.",
    "completion": "A wooden boat. There is no plate.",
    "mistakes": [],
}
UNSEEN = {name: value for name, value in KITE.items() if name != "image"}
ASKED = {
    "picture": ['Does the picture show "kite"?', 'Does the picture show "dog"?'],
    "both": ['Does the TEXT speak of "kite"?', 'Does the picture show "dog"?'],
}


def write(folder: Path, *rows: dict[str, Any]) -> Path:
    for colour in ("red", "blue"):
        Image.new("RGB", (8, 8), colour).save(folder / f"{colour}.png")
    return write_lines(folder / "rows.jsonl", rows)


def score(rows: Path, *more: Any) -> Done:
    output = rows.with_name("verdicts.jsonl")
    return spanreward("score", "posh", "--judge", SEER, "--input", rows, "--output", output, *more)


@pytest.mark.parametrize("evidence", ["picture", "both"])
def test_score(evidence: str, tmp_path: Path) -> None:
    rows = write(tmp_path, KITE, BOAT)
    page = tmp_path / "page.html"
    done = score(rows, "--set", f"evidence={evidence}", "--html", page, "--show", 1)
    assert done.code == 0, done.err
    assert "first question" in done.out
    kite, boat = read_lines(tmp_path / "verdicts.jsonl")
    assert (kite["status"], boat["status"]) == ("ok", "ok")
    assert kite["parts"]["yes_rate"] == boat["parts"]["yes_rate"] > 0  # boats are told of kites
    entities = [span for span in kite["spans"] if span["kind"] == "entity"]
    assert [span["score"] > 0.5 for span in entities] == [True, True, False]
    for span, question in zip(entities, ASKED[evidence], strict=False):
        assert span["note"].endswith(question)
    assert 'Does the picture show \\"dog\\"?' in page.read_text()  # as JSON


def test_rows_without_pictures_are_refused(tmp_path: Path) -> None:
    rows = write(tmp_path, UNSEEN)
    done = score(rows, "--set", "evidence=both")
    assert done.code == 1
    assert "posh needs the key 'image'" in done.err
    assert not (tmp_path / "verdicts.jsonl").exists()
    assert score(rows).code == 0  # references alone are enough for the default


def test_labels_tell_which_evidence_errs_less(tmp_path: Path) -> None:
    """The brown dog is in the picture and in no reference."""
    labels = write(tmp_path, KITE, BOAT)
    judged_wrong = {}
    for evidence in ("reference", "both"):
        found = tmp_path / f"{evidence}.json"
        words = ("labels", "spans", labels, "--judge", SEER, "--set", f"evidence={evidence}")
        done = spanreward(*words, "--json", found)
        assert done.code == 0, done.err
        errors = json.loads(found.read_text())["errors"]
        assert errors["wrong"] == {"phrases": 1, "judged_right": 0.0, "low": None, "high": None}
        judged_wrong[evidence] = errors["right"]["judged_wrong"] * errors["right"]["phrases"]
    assert judged_wrong == {"reference": 1, "both": 0}


SMALL = {name: COMMON[name] for name in ("use_cpu", "bf16", "report_to", "gradient_checkpointing")}
SMALL |= {"max_steps": 1, "logging_steps": 1, "per_device_train_batch_size": 4}


def recipe(folder: Path, rows: Path) -> Path:
    asked = {
        "algorithm": "dapo",
        "output": str(folder / "out"),
        "policy": {"model": TINY},
        "data": {"source": "jsonl", "path": str(rows)},
        "rewards": [{"metric": "posh", "judge": SEER, "options": {"evidence": "both"}}],
        "trainer": {**SMALL, "num_generations": 2, "max_completion_length": 8},
    }
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(asked))
    return path


def test_train(tmp_path: Path) -> None:
    path = recipe(tmp_path, write(tmp_path, KITE, BOAT))
    plan = spanreward("train", path, "--dry-run")
    assert plan.code == 0, plan.err
    assert "no reference plainly has" in " ".join(plan.out.replace("│", " ").split())
    done = spanreward("train", path)
    assert done.code == 0, done.err
    lines = read_lines(tmp_path / "out/metrics.jsonl")
    assert [line["step"] for line in lines if "loss" in line] == [1]
