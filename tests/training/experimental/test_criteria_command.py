"""`spanreward criteria write`: rows with criteria, resumed with a user's edits, and a page."""

import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from PIL import Image

from tests.support.command import spanreward
from tests.support.files import read_lines, write_lines

JUDGE = """
import json
from spanreward import Judge, Rating
class Writer(Judge):
    name = "writer"
    def write(self, questions, max_tokens):
        said = [question.messages[0]["content"] for question in questions]
        listed = json.dumps(["Says red.", "Says <b>blue</b>.", "says red", "Says a."])
        return ["no" if "broken" in text else listed for text in said]
    def rate(self, questions, scale=()):
        probes = [question.probe for question in questions]
        met = [probe.criterion.split()[1].strip(".<b>/").lower() in probe.text for probe in probes]
        return [Rating({entry: float(entry == ("5" if one else "1")) for entry in "12345"}) for one in met]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(JUDGE)
    Image.new("RGB", (40, 30), "red").save(tmp_path / "a.png")
    return tmp_path


def write(folder: Path, *rows: dict[str, Any]) -> None:
    write_lines(folder / "rows.jsonl", rows)


def lines(folder: Path) -> list[dict[str, Any]]:
    return read_lines(folder / "out.jsonl")


def run(*more: str) -> Any:
    words = "criteria write rows.jsonl --judge own.py:Writer --output out.jsonl --json n.json"
    return spanreward(*words.split(), *more)


RED = {"id": 1, "image": "a.png", "caption": "A red car.", "prompt": "Describe.", "mine": [1]}
BLUE = {"id": 2, "context": "<script>alert(1)</script>", "caption": "A blue car."}
BLUE["question"] = "Which & what?"
BROKEN = {"id": 3, "context": "A broken car.", "caption": "A green car."}
COLUMN = ("--columns", "reference=caption")
NAMED = (*COLUMN, "--html", "page.html")


def refused(done: Any, words: str) -> None:
    assert (done.code, words in done.err) == (1, True), done.err


def test_criteria_of_rows_and_a_page(folder: Path) -> None:
    write(folder, RED, BLUE, BROKEN, RED | {"id": 4})
    done = run(*NAMED)
    assert done.code == 0, done.err
    made = lines(folder)
    assert [line["id"] for line in made] == [1, 2, 4]
    kept = [["Says red."], ["Says <b>blue</b>."], ["Says red."]]
    assert [line["criteria"] for line in made] == kept
    reasons = made[0]["refused"]
    assert list(reasons) == ["says red", "Says <b>blue</b>.", "Says a."]
    for reason, words in zip(reasons.values(), ("already", "no reference", "every"), strict=True):
        assert words in reason
    assert made[0]["mine"] == [1]
    numbers = json.loads((folder / "n.json").read_text())
    assert numbers == {"rows": 4, "criteria": 3, "refused": 9, "rows without criteria": 1}
    page = (folder / "page.html").read_text()
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert "Says &lt;b&gt;blue&lt;/b&gt;." in page
    assert page.count("data:image/png") == 2
    assert "Which &amp; what?" in page
    settings = json.loads((folder / "out.jsonl.settings.json").read_text())
    assert settings["judge"] == "writer"
    assert "criteria" in settings["writing"]["ask"]
    write_lines(folder / "out.jsonl", [line | {"completion": "A red car."} for line in made])
    words = "score criteria --judge own.py:Writer --input out.jsonl --output verdicts.jsonl"
    assert spanreward(*words.split()).code == 0


def test_it_goes_on_and_keeps_what_was_edited(folder: Path) -> None:
    write(folder, RED, BLUE)
    run(*NAMED)
    edited = lines(folder)
    edited[0]["criteria"] = ["Says mine."]
    output = write_lines(folder / "out.jsonl", edited)
    output.write_text(output.read_text()[:-30])  # killed while it wrote the second
    write(folder, RED, BLUE, BROKEN | {"context": "A car."})
    assert run(*NAMED).code == 0
    assert next(line["criteria"] for line in lines(folder)) == ["Says mine."]
    assert [line["id"] for line in lines(folder)] == [1, 2, 3]
    assert "Says mine." in (folder / "page.html").read_text()


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"id": 1, "caption": 5}], "rows.jsonl line 1: the column 'reference'"),
        ([{"id": 1}], "line 1 has no 'caption', only ['id']"),
        ([], "rows.jsonl holds no rows"),
        ([BROKEN], "no row got criteria: the judge"),
        ([{"id": 1, "caption": "A car."}], "no row got criteria: this row"),
    ],
)
def test_rows_that_cannot_be_used_or_get_no_criteria(
    rows: list[dict[str, Any]], words: str, folder: Path
) -> None:
    write(folder, *rows)
    refused(run(*COLUMN), words)
    assert not (folder / "out.jsonl").exists() or not lines(folder)


def test_pictures_that_are_no_files_are_refused_before_the_judge_is_asked(folder: Path) -> None:
    rows = [{"image": {"bytes": (folder / "a.png").read_bytes()}, "caption": "A red car."}]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), folder / "rows.parquet")
    words = "criteria write rows.parquet --judge own.py:Writer --output out.jsonl"
    done = spanreward(*words.split(), *COLUMN)
    refused(done, "are no JSON (")
    assert "give pictures as paths" in done.err
    assert not (folder / "out.jsonl").exists()


def test_a_page_is_no_other_file(folder: Path) -> None:
    write(folder, RED)
    assert run(*COLUMN, "--html", "new/page.html", "--limit", "1").code == 0
    assert (folder / "new/page.html").is_file()
    for page in ("rows.jsonl", "out.jsonl", "n.json"):
        refused(run(*COLUMN, "--html", page), "choose another output")
