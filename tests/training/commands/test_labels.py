"""`spanreward labels spans`: r of a metric's credit with people's labels, the advice, one sentence
for mistakes.
"""

import json
import re
from pathlib import Path

import pytest

from tests.support.command import spanreward


def test_a_labelled_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    sample = tmp_path / "labels.jsonl"
    said = {"reference": "A red circle. A blue star.", "completion": "A green circle. A blue star."}
    rows = [
        {"id": number, **said, "mistakes": [["green"], [[2, 7]]][number % 2]}
        for number in range(24)
    ]
    sample.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = spanreward("labels", "spans", sample, "--json", tmp_path / "found.json")
    assert done.code == 0, done.err
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["reliability"]["all"] | {"r": 1, "low": 1, "high": 1} == {
        **{
            "r": 1,
            "low": 1,
            "high": 1,
            "completions": 24,
            "phrases": 96,
            "wrong": 0.25,
            "blamed": 0.25,
        }
    }
    assert found["reliability"]["attribute"]["r"] == pytest.approx(1)
    assert found["reliability"]["entity"]["r"] is None  # none of them is wrong
    assert found["advice"].startswith("span_coef=0.5")
    assert found["advice"] in " ".join(done.out.split())
    assert found["errors"] == {
        "right": {"judged_wrong": 0, "low": 0, "high": 0, "phrases": 72},
        "wrong": {"judged_right": 0, "low": 0, "high": 0, "phrases": 24},
    }
    assert re.search(r"right, judged wrong\W+0.00\W+0.00, 0.00\W+72", done.out)
    assert re.search(r"wrong, judged right\W+0.00\W+0.00, 0.00\W+24", done.out)


def test_a_repeated_row_counts_once(tmp_path: Path) -> None:
    sample = tmp_path / "labels.jsonl"
    row = {"completion": "A green circle.", "reference": "A red circle.", "mistakes": ["green"]}
    sample.write_text("".join(json.dumps({"id": number % 3, **row}) + "\n" for number in range(30)))
    assert "No advice from 3 completions" in spanreward("labels", "spans", sample).out


def refused(sample: Path) -> str:
    done = spanreward("labels", "spans", sample)
    assert done.code == 1
    assert "Traceback" not in done.err
    return done.err


def test_a_labelled_sample_that_cannot_be_used(tmp_path: Path) -> None:
    sample = tmp_path / "labels.jsonl"
    row = {"id": 1, "completion": "A star.", "reference": "A star.", "mistakes": ["circle"]}
    sample.write_text(json.dumps(row))
    assert "got 'circle'" in refused(sample)
    sample.write_text(json.dumps({**row, "mistakes": [], "reference": "!!"}))
    assert "none of 1 completions" in refused(sample)
    del row["mistakes"]
    sample.write_text(json.dumps(row))
    assert "has no column 'mistakes'" in refused(sample)


def test_an_honest_list_of_differences_agrees_with_the_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right words have spans too: without them credit could not follow any label."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(LISTER)
    rows = [
        {
            "id": n,
            "completion": f"A {'red' if n % 2 else 'blue'} car {n}. A tree.",
            "reference": "A blue car. A tree.",
        }
        | {"mistakes": ["red"] if n % 2 else []}
        for n in range(24)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = spanreward(
        "labels", "spans", "rows.jsonl", "--metric", "differences", "--judge", "own.py:Lister"
    )
    assert (done.code, "span_coef=0.5: r 1.00 [1.00, 1.00]" in done.out) == (0, True), (
        done.out + done.err
    )


LISTER = """
import json
from spanreward import Judge
class Lister(Judge):
    name = "lister"
    def rate(self, questions, scale=()):
        raise AssertionError
    def write(self, questions, max_tokens):
        texts = [question.messages[0]["content"].split("[Text begins]")[1] for question in questions]
        found = [{"text": "red", "reference": "blue", "type": "color", "severity": 2}]
        return [json.dumps(found if "red" in text.split("[Text ends]")[0] else []) for text in texts]
"""
