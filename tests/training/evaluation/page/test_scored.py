"""The page of a file's scores: every row is there, and only its own script may run."""

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from spanreward.rewards import Sample, Span, Status, Verdict
from spanreward.rewards.base.verdict import Unread
from spanreward.rewards.rows.lines import InputRow
from spanreward.training.evaluation.page import scored
from spanreward.training.evaluation.page.render import check_page
from spanreward.training.evaluation.page.scored import first_and_last, write_scored
from tests.support.command import spanreward
from tests.support.files import write_lines
from tests.support.hostile_row import HOSTILE, hostile_row


def rows_in(page: Path) -> list[Any]:
    """What the page's script draws of each row, the worst first."""
    found = re.search(r'id="rows">(.*?)</script>', page.read_text(), re.DOTALL)
    rows: list[Any] = json.loads(found[1])
    return rows


def without_surrogates(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def test_the_worst_come_first_and_what_has_no_score_last(tmp_path: Path) -> None:
    rows = [InputRow(n, f"id{n}", {}, Sample("", f"text {n}")) for n in range(4)]
    late = Verdict(None, Status.TIMEOUT, note="late")
    page = tmp_path / "new" / "page.html"
    write_scored(page, "posh: rows.jsonl", rows, [Verdict(0.5), late, Verdict(0.1), Verdict(1.0)])
    found = rows_in(page)
    assert [row["told"][0] for row in found] == [["Row", [f"id{n}"]] for n in (2, 0, 3, 1)]
    assert [row["score"] for row in found] == [0.1, 0.5, 1.0, None]
    last = found[3]
    assert (last["status"], last["note"], last["text"]) == ("timeout", "late", [["text 1"]])
    assert "Mean score 0.533 over 3 rows; 1 " in page.read_text()
    assert list(tmp_path.rglob("*.tmp")) == []


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_hostile_gets_through(text: str, tmp_path: Path) -> None:
    row = hostile_row(text)
    rows = [InputRow(1, text, {}, row.sample)]
    write_scored(tmp_path / "p.html", text, rows, [row.verdicts["posh"]])
    (found,) = rows_in(tmp_path / "p.html")
    assert "".join(piece[0] for piece in found["text"]) == without_surrogates(text)
    assert found["told"][2] == ["Prompt", [without_surrogates(text)]]
    whole = (tmp_path / "p.html").read_text()
    assert whole.count("<script") == whole.count("</script") == 2
    (script,) = re.findall(r"<script>(.*?)</script>", whole, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in whole


def test_what_was_not_read_is_marked(tmp_path: Path) -> None:
    text = "A <b>red</b> dog."
    unread = (Unread(2, 5, "HTML"), Unread(8, 12, "HTML"))
    spans = (Span(2, 16, 0.0, 0.0, "entity", "no dog", 0),)
    rows = [InputRow(n, str(n), {}, Sample("", text)) for n in range(2)]
    verdicts = [Verdict(0.0, spans=spans, unread=unread), Verdict(1.0, unread=unread)]
    write_scored(tmp_path / "p.html", "t", rows, verdicts)
    judged, plain = rows_in(tmp_path / "p.html")
    said = (0, 0.0, ["no dog"])
    tagged = [["<b>", *said, "HTML"], ["red", *said], ["</b>", *said, "HTML"], [" dog", *said]]
    assert judged["text"] == [["A "], *tagged, ["."]]
    assert plain["text"][:3] == [["A "], ["<b>", None, None, [], "HTML"], ["red"]]
    page = (tmp_path / "p.html").read_text()
    assert "14 of 34 characters: HTML 14." in page
    assert '<li><s class="unread">not read</s></li>' in page
    write_scored(tmp_path / "p.html", "t", rows[:1], [Verdict(1.0)])
    assert "Not read:" not in (tmp_path / "p.html").read_text()


def test_of_many_rows_both_ends_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert first_and_last(list(range(10)), 4) == [0, 1, 8, 9]
    assert first_and_last([1, 2], 4) == [1, 2]
    monkeypatch.setattr(scored, "MAX_PAGE_ROWS", 4)
    monkeypatch.setattr(scored, "MAX_PAGE_PICTURES", 2)
    sample = Sample("", "A dog.", (Image.new("RGB", (8, 8)),))
    rows = [InputRow(n, "", {}, sample) for n in range(9)]
    write_scored(tmp_path / "p.html", "t", rows, [Verdict(n / 9) for n in range(9)])
    pictured = [row["picture"] is not None for row in rows_in(tmp_path / "p.html")]
    assert pictured == [True, False, False, True]
    assert "4 of 9 rows are here" in (tmp_path / "p.html").read_text()


def test_the_command_s_page_has_what_an_earlier_run_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    completions = ("A red dog.", 3)
    write_lines("rows.jsonl", [{"completion": c, "reference": "A dog."} for c in completions])
    command = "score posh --judge match --input rows.jsonl --output v.jsonl --html page.html"
    for _ in range(2):
        done = spanreward(*command.split())
        assert (done.code, len(rows_in(Path("page.html")))) == (0, 2), done.err
    check_page(Path("page.html"), False, "score")
    with pytest.raises(ValueError, match=r"page.html exists"):
        check_page(Path("page.html"), False, "criteria")
    assert "is another output of" in spanreward(*command.split(), "--json", "page.html").err
