"""PoSh with evidence "picture" and "both" by the commands: rows, a page, labels. (A recipe: test_train.py.)"""

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.support.command import Done, spanreward
from tests.support.files import read_lines, write_lines
from tests.support.paths import ROOT

SEER = f"{ROOT}/tests/support/seers.py:Seer"
KITE = {"id": "kite", "image": "red.png", "reference": "A red kite is above a house."}
KITE |= {"completion": "A red kite. A brown dog sits. A cat.", "mistakes": ["cat"]}
BOAT = {"id": "boat", "image": "blue.png", "reference": "A wooden boat is on a grey river."}
BOAT |= {"completion": "A wooden boat. There is no plate.", "mistakes": []}
ASKED = {
    "picture": ['Does the picture show "kite"?', 'Does the picture show "dog"?'],
    "both": ['Does the TEXT speak of "kite"?', 'Does the picture show "dog"?'],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for colour in ("red", "blue"):
        Image.new("RGB", (8, 8), colour).save(f"{colour}.png")
    write_lines("rows.jsonl", [{"prompt": "Describe.", **row} for row in (KITE, BOAT)])


def judged(*words: Any) -> Done:
    return spanreward(*words, "--judge", SEER)


SCORE = ("score", "posh", "--input", "rows.jsonl", "--output", "v.jsonl")


@pytest.mark.parametrize("evidence", ["picture", "both"])
def test_score(evidence: str) -> None:
    done = judged(*SCORE, "--set", f"evidence={evidence}", "--html", "page.html", "--show", 1)
    assert done.code == 0, done.err
    assert "first question" in done.out
    kite, boat = read_lines("v.jsonl")
    assert (kite["status"], boat["status"]) == ("ok", "ok")
    assert kite["parts"]["yes_rate"] == boat["parts"]["yes_rate"] > 0  # boats are told of kites
    entities = [span for span in kite["spans"] if span["kind"] == "entity"]
    assert [span["score"] > 0.5 for span in entities] == [True, True, False]
    for span, question in zip(entities, ASKED[evidence], strict=False):
        assert span["note"].endswith(question)
    assert 'Does the picture show \\"dog\\"?' in Path("page.html").read_text()  # as JSON


@pytest.mark.parametrize(("evidence", "judged_wrong"), [("reference", 1), ("both", 0)])
def test_labels_tell_which_evidence_errs_less(evidence: str, judged_wrong: int) -> None:
    """The brown dog is in the picture and in no reference."""
    words = ("labels", "spans", "rows.jsonl", "--set", f"evidence={evidence}")
    done = judged(*words, "--json", "found.json")
    assert done.code == 0, done.err
    errors = json.loads(Path("found.json").read_text())["errors"]
    assert errors["wrong"] == {"phrases": 1, "judged_right": 0.0, "low": None, "high": None}
    assert errors["right"]["judged_wrong"] * errors["right"]["phrases"] == judged_wrong
