"""`spanreward labels spans`: r of a metric's credit with people's labels, advice, and mistakes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import spanreward
from tests.support.files import a_file


def test_a_labelled_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    said = {"reference": "A red circle. A blue star.", "completion": "A green circle. A blue star."}
    rows = [{"id": n, **said, "mistakes": [["green"], [[2, 7]]][n % 2]} for n in range(24)]
    sample = a_file(tmp_path, *rows)
    done = spanreward("labels", "spans", sample, "--json", tmp_path / "found.json")
    assert done.code == 0, done.err
    found = json.loads((tmp_path / "found.json").read_text())
    whole = dict.fromkeys(("r", "low", "high"), 1)
    counted = {"completions": 24, "phrases": 96, "wrong": 0.25, "blamed": 0.25}
    assert found["reliability"]["all"] | whole == whole | counted
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


STAR = {"id": 1, "completion": "A star.", "reference": "A star."}
GREEN = {"completion": "A green circle.", "reference": "A red circle.", "mistakes": ["green"]}


@pytest.mark.parametrize(
    ("rows", "code", "told"),
    [
        ([{**STAR, "mistakes": ["circle"]}], 1, "got 'circle'"),
        ([{**STAR, "mistakes": [], "reference": "!!"}], 1, "none of 1 completions"),
        # a repeated row counts once
        ([{**GREEN, "id": number % 3} for number in range(30)], 0, "No advice from 3 completions"),
    ],
)
def test_a_sample_that_tells_nothing(tmp_path: Path, rows: Any, code: int, told: str) -> None:
    done = spanreward("labels", "spans", a_file(tmp_path, *rows))
    assert (done.code, told in done.out + done.err) == (code, True)
    assert "Traceback" not in done.err


def test_an_honest_list_of_differences_agrees_with_the_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right words have spans too: without them credit could not follow any label."""
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(LISTER)
    rows = []
    for n in range(24):
        colour, wrong = ("red", ["red"]) if n % 2 else ("blue", [])
        row = {"id": n, "completion": f"A {colour} car {n}. A tree.", "mistakes": wrong}
        rows.append({**row, "reference": "A blue car. A tree."})
    words = (a_file(tmp_path, *rows), "--metric", "differences", "--judge", "own.py:Lister")
    done = spanreward("labels", "spans", *words)
    assert done.code == 0, done.err
    assert "span_coef=0.5: r 1.00 [1.00, 1.00]" in done.out


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
